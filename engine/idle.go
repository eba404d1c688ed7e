package engine

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"forklift/storage/vfs"
)

const (
	// partingTime is how long the sessions of a command that has ended may take
	// to end, too: the server sees the end of a connection a little later, and
	// much later on a busy machine.
	partingTime = 2 * time.Second
	partingPoll = 20 * time.Millisecond
)

// stopIdle stops the server if nobody needs it, when the last managed command
// leaves, which began at since. Sessions that are older are somebody else's;
// younger ones may be the command's own, and are waited for a little.
func (w *Worktree) stopIdle(ctx context.Context, since time.Time) error {
	over := time.NewTimer(partingTime)
	defer over.Stop()
	older := func(c Client) bool { return c.Since.Before(since) }
	for {
		_, clients, err := w.stopUnused(ctx, serverLockWait)
		if err != nil || len(clients) == 0 || slices.ContainsFunc(clients, older) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-over.C:
			return nil
		case <-time.After(partingPoll):
		}
	}
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
		slot, _, err := w.unused(ctx)
		return slot != "", err
	}
	unused, _, err = w.stopUnused(ctx, 0)
	return unused, err
}

// stopUnused stops the server if nobody needs it, or tells the clients that are
// all that keeps it. It gives way to an operation that is under way, and to
// whoever holds server.lock for longer than wait.
func (w *Worktree) stopUnused(ctx context.Context, wait time.Duration) (stopped bool, clients []Client, err error) {
	if _, pinned, err := w.readPin(); err != nil || pinned {
		return false, nil, err
	}
	unlock, err := w.shareOperation(ctx, "run", 0)
	if err != nil {
		return false, nil, nil
	}
	defer unlock()
	lock, err := lockWithin(ctx, w.fs, w.file(serverLock), true, wait)
	if errors.Is(err, vfs.ErrLocked) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	defer func() { _ = lock.Unlock() }()
	// A command that registers now waits for server.lock and starts the
	// server again; one that registered before is seen here.
	slot, clients, err := w.unused(ctx)
	if err != nil || slot == "" {
		return false, clients, err
	}
	return true, nil, w.stopObserved(ctx, slot)
}

// unused tells the slot of a server that runs while neither a managed command nor
// a client is there; or, without a slot, the clients where there are only these.
func (w *Worktree) unused(ctx context.Context) (slot Slot, clients []Client, err error) {
	holders, err := w.holders()
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil // the command has torn the worktree down
	}
	if err != nil || len(holders) > 0 {
		return "", nil, err
	}
	selected, err := w.selectedSlot()
	if err != nil {
		return "", nil, err
	}
	st, err := w.db.State(ctx, selected)
	if err != nil || st.State != Running {
		return "", nil, err
	}
	clients, err = w.db.Clients(ctx)
	if err != nil || len(clients) > 0 {
		return "", clients, nil // one that cannot be asked may have clients: it stays
	}
	return st.Slot, nil, nil
}
