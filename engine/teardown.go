package engine

import (
	"context"
	"fmt"
	"path"

	"forklift/engine/plan"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

const verbTeardown = "teardown"

// Teardown takes the worktree's database away: its server is stopped, its
// files and records are removed, durably. Source files and checkpoints stay.
// Without Yes it only tells what it would do; with a plan's id it refuses when
// the worktree rests on another checkpoint than when that was shown.
func (w *Worktree) Teardown(ctx context.Context, opt TeardownOptions) (*TeardownResult, error) {
	if !opt.Yes {
		return w.planTeardown(ctx, opt)
	}
	unlock, err := w.lockOperation(ctx, verbTeardown, enterWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	res, err := w.planTeardown(ctx, opt)
	if err != nil {
		return nil, err
	}
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

// planTeardown tells what a teardown would remove now, and refuses when that
// is not the plan that was shown.
func (w *Worktree) planTeardown(ctx context.Context, opt TeardownOptions) (*TeardownResult, error) {
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
	current, err := w.readSelection()
	if err != nil {
		return nil, err
	}
	res.Plan = plan.ID([]string{verbTeardown, w.rec.ID, w.rec.Branch, string(current.Operation)})
	return res, plan.Check(verbTeardown, opt.Plan, res.Plan)
}

func (w *Worktree) mayTearDown(ctx context.Context) error {
	if err := w.refuseInterrupted(verbTeardown); err != nil {
		return err
	}
	none := newPatience(0)
	defer none.end()
	if err := w.awaitHolders(ctx, verbTeardown, none); err != nil {
		return err
	}
	_, err := w.ownState(ctx, verbTeardown)
	return err
}

// tearDown removes the link first: killed behind that, the next setup ends it.
func (w *Worktree) tearDown(ctx context.Context) error {
	if err := w.db.Stop(ctx); err != nil {
		return err
	}
	mark := unfinished{Verb: verbTeardown, GitDir: worktree.QuotePath(w.rec.GitDir), Branch: w.rec.Branch}
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
