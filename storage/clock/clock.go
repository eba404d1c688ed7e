// Package clock is the only place that asks what time it is, so that tests
// can say.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time.
type Clock interface {
	Now() time.Time
}

// System is the machine's clock.
type System struct{}

// Now is the present time in UTC.
func (System) Now() time.Time { return time.Now().UTC() }

// Every yields whenever so much time has passed, until ctx ends. Who takes longer
// over one turn misses the next ones.
func Every(ctx context.Context, interval time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if ctx.Err() != nil || !yield() {
				return
			}
		}
	}
}

// Fake is a clock for tests: it starts at a time and moves on by one second
// at each reading. It is safe for concurrent use.
type Fake struct {
	mu sync.Mutex
	at time.Time
}

// NewFake makes a Fake that first tells start.
func NewFake(start time.Time) *Fake { return &Fake{at: start} }

// Now tells the time and moves the clock on by a second.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.at
	f.at = f.at.Add(time.Second)
	return now
}
