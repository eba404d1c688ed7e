// Package clock is the only place that asks what time it is, so that tests
// can say.
package clock

import (
	"context"
	"errors"
	"sync"
	"time"

	"forklift/storage/fault"
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

// ErrWaited is how [Until] says that its time is over.
var ErrWaited = errors.New("waited in vain")

// Until calls done, again whenever so much time has passed, until it is true
// or fails: its error is returned as it is. It ends with ErrWaited after limit,
// and with an error of kind Canceled and of the operation op when ctx ends.
func Until(ctx context.Context, op string, interval, limit time.Duration, done func() (bool, error)) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return &fault.Error{Op: op, Kind: fault.Canceled, Err: ctx.Err()}
		case <-timer.C:
			return ErrWaited
		case <-tick.C:
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
