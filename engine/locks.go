package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

const (
	// lockPoll is how often a lock that is held is tried again; flock has no
	// wait with a deadline.
	lockPoll = 20 * time.Millisecond
	// serverLockWait bounds the wait for server.lock and the slot locks:
	// whoever has one starts or stops a server, which has a deadline of its own.
	serverLockWait = 90 * time.Second
	// readersWait is how long an operation waits for those who only look.
	readersWait = 2 * time.Second
	// enterWait is how long a managed command that is about to start waits
	// for an operation that is under way.
	enterWait = 5 * time.Second
	// maxActingBytes bounds the note of who acts.
	maxActingBytes = 4 << 10
)

// lockWithin takes a lock, trying again until wait has passed. The error is
// vfs.ErrLocked when somebody else has it still.
func lockWithin(ctx context.Context, fs vfs.FS, name string, exclusive bool, wait time.Duration) (vfs.Lock, error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		lock, err := fs.Lock(name, exclusive)
		if err == nil || !errors.Is(err, vfs.ErrLocked) || wait <= 0 {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, canceled(ctx)
		case <-deadline.C:
			return fs.Lock(name, exclusive)
		case <-tick.C:
		}
	}
}

// canceled is the error of a context that ended.
func canceled(ctx context.Context) error {
	return &fault.Error{Kind: fault.Canceled, Err: context.Cause(ctx)}
}

// lockOperation takes operation.lock for a verb that changes the worktree,
// and notes who has it for the others' messages.
func (w *Worktree) lockOperation(ctx context.Context, verb string, wait time.Duration) (unlock func(), err error) {
	lock, err := w.lockPastReaders(ctx, wait)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, w.busyOperation(verb)
	}
	if err != nil {
		return nil, fault.Wrap("lock worktree", w.file(operationLock), err)
	}
	w.noteActing(acting{Verb: verb, PID: os.Getpid(), Since: w.host.Clock.Now()})
	return func() { _ = lock.Unlock() }, nil
}

// lockPastReaders takes operation.lock exclusively. Those who hold it shared
// hold it briefly (a status, a command that registers) and are waited for in
// any case, so that looking at a worktree never makes a verb fail.
func (w *Worktree) lockPastReaders(ctx context.Context, wait time.Duration) (vfs.Lock, error) {
	name := w.file(operationLock)
	lock, err := w.fs.Lock(name, true)
	if !errors.Is(err, vfs.ErrLocked) {
		return lock, err
	}
	if shared, err := w.fs.Lock(name, false); err == nil {
		_ = shared.Unlock()
		wait = max(wait, readersWait)
	}
	return lockWithin(ctx, w.fs, name, true, wait)
}

// shareOperation takes operation.lock shared: no operation is under way
// while it is held. It fails when one is, or when one was interrupted.
func (w *Worktree) shareOperation(ctx context.Context, verb string, wait time.Duration) (unlock func(), err error) {
	lock, err := lockWithin(ctx, w.fs, w.file(operationLock), false, wait)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, w.busyOperation(verb)
	}
	if err != nil {
		return nil, fault.Wrap("lock worktree", w.file(operationLock), err)
	}
	if err := w.refuseInterrupted(verb); err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil
}

// noteActing leaves a note for people. It is not a record: it may be stale,
// torn or missing, and nothing but messages depends on it.
func (w *Worktree) noteActing(a acting) {
	f, err := w.fs.OpenFile(w.file(actingFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	if data, err := json.Marshal(a); err == nil {
		_, _ = f.Write(data)
	}
	_ = f.Close()
}

func (w *Worktree) readActing() (acting, bool) {
	f, err := w.fs.OpenFile(w.file(actingFile), os.O_RDONLY, 0)
	if err != nil {
		return acting{}, false
	}
	defer func() { _ = f.Close() }()
	var a acting
	data, err := io.ReadAll(io.LimitReader(f, maxActingBytes))
	if err != nil || json.Unmarshal(data, &a) != nil {
		return acting{}, false
	}
	return a, true
}

// busyOperation says who has operation.lock.
func (w *Worktree) busyOperation(verb string) error {
	e := &fault.Error{Op: verb, Path: w.rec.Path, Kind: fault.Busy,
		Err:  errors.New("another operation on this worktree is under way"),
		Hint: "Wait for it to end, or give --wait."}
	if a, ok := w.readActing(); ok {
		e.Err = fmt.Errorf("a %s of this worktree is under way", a.Verb)
		e.Items = []string{fmt.Sprintf("pid %d: forklift %s, %s", a.PID, a.Verb, clock.Since(w.host.Clock.Now(), a.Since))}
	}
	return e
}

// lockServer takes server.lock: nobody else starts or stops the worktree's server.
func (w *Worktree) lockServer(ctx context.Context) (unlock func(), err error) {
	return w.lockInner(ctx, serverLock)
}

// lockSlot takes a slot's lock: nobody else writes to the slot or its record.
func (w *Worktree) lockSlot(ctx context.Context, s Slot) (unlock func(), err error) {
	return w.lockInner(ctx, slotLock(s))
}

func slotLock(s Slot) string { return "slot-" + string(s) + ".lock" }

func (w *Worktree) lockInner(ctx context.Context, name string) (func(), error) {
	lock, err := lockWithin(ctx, w.fs, w.file(name), true, serverLockWait)
	if err != nil {
		if errors.Is(err, vfs.ErrLocked) {
			return nil, &fault.Error{Op: "lock " + name, Path: w.file(name), Kind: fault.Busy,
				Err:  fmt.Errorf("held by another process for more than %s", serverLockWait),
				Hint: "Another forklift command is starting or stopping this worktree's database; try again."}
		}
		return nil, fault.Wrap("lock "+name, w.file(name), err)
	}
	return func() { _ = lock.Unlock() }, nil
}
