package engine

import (
	"context"
	"fmt"
	"path"

	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

const verbTeardown = "teardown"

// Teardown takes the worktree's database away: its server is stopped, its
// files and records are removed. Source files and checkpoints stay. Without
// yes it only tells what it would do.
func (w *Worktree) Teardown(ctx context.Context, yes bool) (*TeardownResult, error) {
	names, err := w.store.Names(ctx, w.rec.Project, w.rec.ID)
	if err != nil {
		return nil, err
	}
	res := &TeardownResult{Worktree: w.Info()}
	for _, n := range names {
		if n.Kind == storage.Capture {
			res.Checkpoints++
		}
	}
	res.Removes = []string{
		"the database of this worktree as it is now (" + w.branch.Dir + ")",
		"its server, if it runs",
		"this worktree's link " + path.Join(w.rec.GitDir, linkFile),
	}
	if !yes {
		return res, nil
	}
	unlock, err := w.lockOperation(ctx, verbTeardown, enterWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := w.mayTearDown(ctx); err != nil {
		return nil, err
	}
	unlockServer, err := w.lockServer(ctx)
	if err != nil {
		return nil, err
	}
	defer unlockServer()
	if err := w.tearDown(ctx); err != nil {
		return nil, err
	}
	res.Done = true
	return res, nil
}

func (w *Worktree) mayTearDown(ctx context.Context) error {
	if err := w.refuseInterrupted(verbTeardown); err != nil {
		return err
	}
	if err := w.awaitHolders(ctx, verbTeardown, 0); err != nil {
		return err
	}
	slot, err := w.selectedSlot()
	if err != nil {
		return err
	}
	st, err := w.db.State(ctx, slot)
	if err != nil {
		return err
	}
	if st.State == Foreign {
		return w.foreign(verbTeardown, slot)
	}
	return nil
}

// tearDown removes the link first: killed behind that, the next setup ends it.
func (w *Worktree) tearDown(ctx context.Context) error {
	if err := w.db.Stop(ctx); err != nil {
		return err
	}
	mark := unfinished{Verb: verbTeardown, GitDir: w.rec.GitDir, Branch: w.rec.Branch}
	if err := record.Write(w.fs, w.file(unfinishedFile), "unfinished", recordFormat, mark); err != nil {
		return err
	}
	if err := durable.Remove(w.fs, path.Join(w.rec.GitDir, linkFile)); err != nil {
		return err
	}
	if err := w.clearRecords(ctx); err != nil {
		return &fault.Error{Op: verbTeardown, Path: w.rec.Path, Err: fmt.Errorf("the worktree is detached, but not everything was removed: %w", err),
			Hint: "The next `forklift setup` of this project removes the rest."}
	}
	return nil
}
