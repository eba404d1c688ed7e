package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// lockWait is how long a reader or writer waits for the shared lock. It is
// held exclusively only for the short end of a prune or forget.
const lockWait = 30 * time.Second

// Waiting for a lock asks again after lockPause, then twice that, and so on
// up to lockPauseMax.
const (
	lockPause    = time.Millisecond
	lockPauseMax = 50 * time.Millisecond
)

// locks is the store's lock as this Store holds it: any number of shared
// holders together have one flock.
type locks struct {
	fs    vfs.FS
	name  string
	taken func() error // looks, once the lock is held, whether others deleted something

	mu        sync.Mutex
	held      vfs.Lock // nil when free
	exclusive bool
	holders   int
}

// LockShared takes the store's lock shared: while it is held nothing that
// is stored is deleted. Reading methods and writers take it themselves; a
// caller needs it to keep what it learned from one call valid until the next.
// Fails with kind Busy after wait.
func (s *Store) LockShared(ctx context.Context, wait time.Duration) (unlock func(), err error) {
	return s.locks.take(ctx, wait, false)
}

// LockExclusive takes the store's lock alone: every other Store, in this and
// in other processes, waits. Until unlock the methods of this Store work under
// it, so its holder opens a Store of its own. Fails with kind Busy after wait.
func (s *Store) LockExclusive(ctx context.Context, wait time.Duration) (unlock func(), err error) {
	return s.locks.take(ctx, wait, true)
}

// hold takes the lock for one call.
func (s *Store) hold(ctx context.Context) (func(), error) { return s.locks.take(ctx, lockWait, false) }

func (l *locks) take(ctx context.Context, wait time.Duration, exclusive bool) (func(), error) {
	expired := time.NewTimer(wait)
	defer expired.Stop()
	for pause := lockPause; ; pause = min(2*pause, lockPauseMax) {
		ok, err := l.try(exclusive)
		if err != nil {
			return nil, failed("lock store", l.name, err)
		}
		if ok {
			return sync.OnceFunc(l.release), nil
		}
		select {
		case <-ctx.Done():
			return nil, failed("lock store", l.name, ctx.Err())
		case <-expired.C:
			return nil, &fault.Error{Op: "lock store", Path: l.name, Kind: fault.Busy,
				Err:  fmt.Errorf("another process has held it for %v", wait),
				Hint: "Wait for the other operation to end, then try again."}
		case <-time.After(pause):
		}
	}
}

// try takes the lock if it is free. A shared holder joins others of this
// Store, also one that has it exclusively.
func (l *locks) try(exclusive bool) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		if exclusive {
			return false, nil
		}
		l.holders++
		return true, nil
	}
	lock, err := l.fs.Lock(l.name, exclusive)
	if errors.Is(err, vfs.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := l.taken(); err != nil {
		_ = lock.Unlock()
		return false, err
	}
	l.held, l.exclusive, l.holders = lock, exclusive, 1
	return true, nil
}

func (l *locks) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders--; l.holders > 0 {
		return
	}
	// The lock ends when its descriptor closes, whatever Unlock says.
	_ = l.held.Unlock()
	l.held, l.exclusive = nil, false
}
