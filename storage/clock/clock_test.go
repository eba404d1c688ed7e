package clock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"forklift/storage/fault"
)

func TestFake(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := NewFake(start)
	if now := c.Now(); !now.Equal(start) {
		t.Errorf("begins at %v", now)
	}
	seen := map[time.Time]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				now := c.Now()
				mu.Lock()
				seen[now] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 80 || !seen[start.Add(80*time.Second)] {
		t.Errorf("80 readings gave %d times", len(seen))
	}
}

func TestEvery(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for range Every(ctx, time.Microsecond) {
		if n++; n == 3 {
			break // the context still lives
		}
	}
	for range Every(ctx, time.Microsecond) {
		if n++; n == 5 {
			cancel()
		}
		if n > 1000 {
			t.Fatal("it goes on behind the end of its context")
		}
	}
	if n < 5 {
		t.Errorf("%d turns", n)
	}
	for range Every(ctx, time.Hour) {
		t.Error("a turn after the end")
	}
}

func TestUntil(t *testing.T) {
	n := 0
	third := func() (bool, error) { n++; return n == 3, nil }
	if err := Until(t.Context(), "wait", time.Microsecond, time.Hour, third); err != nil || n != 3 {
		t.Errorf("%d calls, %v", n, err)
	}
	never := func() (bool, error) { return false, nil }
	if err := Until(t.Context(), "wait", time.Microsecond, time.Millisecond, never); !errors.Is(err, ErrWaited) {
		t.Errorf("behind the limit: %v", err)
	}
	broken := errors.New("it is broken")
	if err := Until(t.Context(), "wait", time.Hour, time.Hour, func() (bool, error) { return false, broken }); err != broken {
		t.Errorf("an error of what is waited for: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Until(ctx, "wait", time.Hour, time.Hour, never); fault.KindOf(err) != fault.Canceled || !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

func TestSystem(t *testing.T) {
	var c Clock = System{}
	a := c.Now()
	if b := c.Now(); b.Before(a) || a.Location() != time.UTC || a.Year() < 2026 {
		t.Errorf("%v, then %v", a, b)
	}
}
