package engine

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"forklift/storage/vfs"
)

// stopIdle stops the server if nobody needs it, when the last managed command
// leaves.
func (w *Worktree) stopIdle(ctx context.Context) error {
	_, err := w.stopUnused(ctx, serverLockWait)
	return err
}

// StopUnused stops the server if nobody uses it: it runs, `db start` did not
// pin it, no managed command lives and no client is connected. It reports
// whether that was so. With look it only looks. It waits for no lock, and gives
// way to whatever else is going on: then somebody needs the server.
func (w *Worktree) StopUnused(ctx context.Context, look bool) (unused bool, err error) {
	if _, pinned, err := w.readPin(); err != nil || pinned {
		return false, err
	}
	if look {
		_, unused, err = w.unused(ctx)
		return unused, err
	}
	return w.stopUnused(ctx, 0)
}

// stopUnused stops the server if nobody needs it. It gives way to an operation
// that is under way, and to whoever holds server.lock for longer than wait.
func (w *Worktree) stopUnused(ctx context.Context, wait time.Duration) (bool, error) {
	if _, pinned, err := w.readPin(); err != nil || pinned {
		return false, err
	}
	unlock, err := w.shareOperation(ctx, "run", 0)
	if err != nil {
		return false, nil
	}
	defer unlock()
	lock, err := lockWithin(ctx, w.fs, w.file(serverLock), true, wait)
	if errors.Is(err, vfs.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Unlock() }()
	// A command that registers now waits for server.lock and starts the
	// server again; one that registered before is seen here.
	slot, unused, err := w.unused(ctx)
	if err != nil || !unused {
		return false, err
	}
	return true, w.stopObserved(ctx, slot)
}

// unused reports that the server runs and that neither a managed command nor a
// client is there, and tells its slot.
func (w *Worktree) unused(ctx context.Context) (slot Slot, unused bool, err error) {
	holders, err := w.holders()
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil // the command has torn the worktree down
	}
	if err != nil || len(holders) > 0 {
		return "", false, err
	}
	if slot, err = w.selectedSlot(); err != nil {
		return "", false, err
	}
	st, err := w.db.State(ctx, slot)
	if err != nil || st.State != Running {
		return "", false, err
	}
	// One that cannot be asked may have clients: it stays.
	clients, err := w.db.Clients(ctx)
	return st.Slot, err == nil && len(clients) == 0, nil
}
