package engine

import (
	"context"
	"errors"
	"time"

	"forklift/storage"
	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

const (
	// prepareLook is how often a preparation looks whether an operation wants
	// to begin, which then has it end.
	prepareLook = 20 * time.Millisecond
	// maxPrepareBytes is how much a preparation writes at most into a slot that
	// does not have it yet. It holds the store's lock shared meanwhile, and
	// whoever wants that alone waits for 30 seconds.
	maxPrepareBytes = 8 << 30
)

// errGivesWay ends a preparation because somebody else's turn has come.
var errGivesWay = errors.New("an operation begins")

// PrepareIdle makes the idle slot, ahead of a restore, the database that the
// worktree rests on, so that the restore only has to write what differs. It
// reports whether it did. A slot that a restore, undo or redo left is not
// touched: it is what undo goes back to.
//
// It gives way: to an operation that is under way or was interrupted it does
// nothing, and one that begins meanwhile ends it within milliseconds. Nothing
// waits for it but who wants that slot. It does nothing either where the
// free space that forklift.toml wants would not be left.
//
// When it returns true the slot is durable and its record says what it holds. After
// false, an error or a crash the slot may hold anything, and its record says so:
// it is marked dirty, durably, before the first write, as by a restore.
func (w *Worktree) PrepareIdle(ctx context.Context) (done bool, err error) {
	slot, trees, unlock, err := w.claimIdle(ctx)
	if err != nil || trees == nil {
		return false, err
	}
	defer unlock()
	ctx, stop := w.untilOperation(ctx)
	defer stop()
	_, err = w.fillSlot(ctx, slot, trees, auditShare)
	if err != nil && context.Cause(ctx) != nil {
		return false, nil
	}
	return err == nil, err
}

// claimIdle takes the idle slot's lock if the slot is worth preparing, and
// tells what it is to hold; trees are nil if it is not. It gives operation.lock
// back: whoever wants the slot waits for its lock.
func (w *Worktree) claimIdle(ctx context.Context) (slot Slot, trees []storage.TreeState, unlock func(), err error) {
	share, err := w.shareOperation(ctx, "prepare", 0)
	switch fault.KindOf(err) {
	case fault.Busy, fault.Interrupted:
		return "", nil, nil, nil
	}
	if err != nil {
		return "", nil, nil, err
	}
	defer share()
	current, pair, err := w.currentPair(ctx)
	if err != nil || len(pair.Databases) != 1 || pair.Databases[0].State != storage.StateClean || pair.Databases[0].Kind != w.rec.Kind {
		return "", nil, nil, err
	}
	slot = current.Slot.Other()
	if ready, err := w.preparedFor(current, pair.Databases[0].Trees); err != nil || ready {
		return "", nil, nil, err
	}
	if room, err := w.roomToPrepare(slot, pair.Databases[0]); err != nil || !room {
		return "", nil, nil, err
	}
	lock, err := w.fs.Lock(w.file(slotLock(slot)), true)
	if errors.Is(err, vfs.ErrLocked) {
		return "", nil, nil, nil
	}
	if err != nil {
		return "", nil, nil, err
	}
	unlock = func() { _ = lock.Unlock() }
	// No server starts there any more; whether one runs is looked at last.
	st, err := w.db.State(ctx, current.Slot)
	if err != nil || st.State == Foreign || st.State == Running && st.Slot == slot {
		unlock()
		return "", nil, nil, err
	}
	return slot, pair.Databases[0].Trees, unlock, nil
}

// preparedFor reports that the idle slot is as good as it can be: it holds what
// the worktree rests on, or what its last restore, undo or redo left. What its
// record says is proven by whoever uses it.
func (w *Worktree) preparedFor(current selection, trees []storage.TreeState) (bool, error) {
	rec, err := w.readSlot(current.Slot.Other())
	if err != nil || !rec.Clean || rec.Boot == "" || rec.Boot != w.boot() {
		return false, err
	}
	if sameTrees(rec.Trees, trees) {
		return true, nil
	}
	last, err := w.lastMove()
	return err == nil && last != nil && last.Operation == current.Operation, err
}

// roomToPrepare reports that there is room for what the slot needs, also above
// the floor of forklift.toml, and that it is not more than one can be made to
// wait for.
func (w *Worktree) roomToPrepare(slot Slot, data storage.DatabaseState) (bool, error) {
	space, err := w.fs.Space(w.branch.Dir)
	if err != nil {
		return false, fault.Wrap("look at free space", w.branch.Dir, err)
	}
	missing := w.missingBytes(slot, data)
	_, floor := w.machine.Limits.Bytes()
	return missing <= maxPrepareBytes && space.FreeBytes >= missing+max(floor, spaceMarginOf(space)), nil
}

// untilOperation is ctx until an operation on the worktree wants to begin.
func (w *Worktree) untilOperation(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range clock.Every(ctx, prepareLook) {
			lock, err := w.fs.Lock(w.file(operationLock), false)
			if err != nil {
				cancel(errGivesWay)
				return
			}
			_ = lock.Unlock()
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}
