package worktree

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"forklift/storage"
)

// counted walks n entries and then fails with err, if it is one; read is how many
// were taken, ended whether the walk returned.
type counted struct {
	n     int
	err   error
	read  int
	ended bool
}

func (c *counted) walk(ctx context.Context) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		defer func() { c.ended = true }()
		for c.read < c.n {
			if err := ctx.Err(); err != nil {
				yield(storage.Entry{}, err)
				return
			}
			if !yield(storage.Entry{Path: fmt.Sprint(c.read)}, nil) {
				return
			}
			c.read++
		}
		if c.err != nil {
			yield(storage.Entry{}, c.err)
		}
	}
}

// drain reads a cursor to its end.
func drain(t *testing.T, c *cursor) (n int) {
	t.Helper()
	for ; c.at != nil; n++ {
		if c.at.Path != fmt.Sprint(n) {
			t.Fatalf("entry %d is %s", n, c.at.Path)
		}
		c.advance()
	}
	return n
}

func TestReadAhead(t *testing.T) {
	bad := errors.New("bad")
	for _, n := range []int{0, 1, aheadEntries - 1, aheadEntries, aheadEntries + 1, aheadEntries*aheadBatches*2 + 7} {
		for _, end := range []error{nil, bad} {
			w := &counted{n: n, err: end}
			c := readAhead(t.Context(), w.walk)
			if got := drain(t, c); got != n || c.err != end {
				t.Errorf("%d of %d entries, then %v, want %v", got, n, c.err, end)
			}
			c.stop()
			if !w.ended {
				t.Error("the walk goes on")
			}
		}
	}
}

// TestReadAheadStops: a reader that has seen enough ends the walk, and until then it
// is only so far ahead.
func TestReadAheadStops(t *testing.T) {
	w := &counted{n: 1 << 30}
	c := readAhead(t.Context(), w.walk)
	c.stop()
	if !w.ended || w.read > aheadEntries*(aheadBatches+2) {
		t.Errorf("ended %v, %d entries were read", w.ended, w.read)
	}
}

// TestReadAheadIsNoEndWhenItIsGivenUp: what a walk that was cancelled does not tell
// must not look as if it were not there.
func TestReadAheadIsNoEndWhenItIsGivenUp(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		w := &counted{n: 1 << 30}
		c := readAhead(ctx, w.walk)
		cancel()
		drain(t, c)
		if !errors.Is(c.err, context.Canceled) {
			t.Fatalf("it ends with %v", c.err)
		}
		c.stop()
	}
}
