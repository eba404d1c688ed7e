package engine

import (
	"context"
	"fmt"
	"path"

	"forklift/engine/plan"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

const verbPruneWorktrees = "worktree prune"

// PruneWorktreesOptions say which worktrees that are gone are removed.
type PruneWorktreesOptions struct {
	Ref  string // name or id of one; "" is all of the repository
	Yes  bool   // do it
	Plan string // the plan that was shown: refused when it would differ now
}

// PruneWorktreesResult says what is removed, or was.
type PruneWorktreesResult struct {
	Done        bool          `json:"done"` // false: only the plan
	Plan        string        `json:"plan_id"`
	Worktrees   []WorktreeRow `json:"worktrees"`
	Bytes       int64         `json:"bytes"`       // of their databases
	Checkpoints int           `json:"checkpoints"` // that stay in the store
}

// PruneWorktrees removes the databases of worktrees that are gone. Their
// checkpoints stay. Each is removed durably, one after the other: after an
// error the first ones are gone and the others untouched; killed within one,
// the next setup removes the rest of it.
func PruneWorktrees(ctx context.Context, host Host, dir string, opt PruneWorktreesOptions) (*PruneWorktreesResult, error) {
	p, err := openProject(ctx, host, dir, opt.Ref != "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	if err := p.refuseCopied(verbPruneWorktrees); err != nil {
		return nil, err
	}
	unlock, err := p.lockSetup(ctx, verbPruneWorktrees)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := p.sweep(ctx); err != nil {
		return nil, err
	}
	gone, res, err := p.planPrune(ctx, opt.Ref)
	if err != nil {
		return nil, err
	}
	if err := plan.Check(verbPruneWorktrees, opt.Plan, res.Plan); err != nil || !opt.Yes {
		return res, err
	}
	for _, rec := range gone {
		if err := p.pruneOrphan(ctx, rec); err != nil {
			return nil, err
		}
	}
	res.Done = true
	return res, nil
}

// refuseCopied refuses what counts as gone whatever is not at its place, in a
// repository that is a copy: the worktrees are the original's, which may be away.
func (p *project) refuseCopied(op string) error {
	if p.repo.CommonDir == "" {
		return nil
	}
	l, err := p.readLink(p.repo.CommonDir)
	if err != nil || l == nil {
		return err
	}
	rec, err := p.readRecord(l.Worktree)
	if err != nil || rec.GitDir == p.repo.CommonDir || p.isGitDirOf(&rec, p.repo.CommonDir) {
		return nil // without a record there is nothing to be a copy of
	}
	return &fault.Error{Op: op, Path: p.repo.Worktree, Kind: fault.Usage,
		Err:  fmt.Errorf("this repository carries the identity of %s, and may be a copy of it", rec.Path),
		Hint: "Run `forklift setup --new` here to give it one of its own, or `forklift adopt " + rec.Name + "` if the original will not come back."}
}

// planPrune finds what is to be removed.
func (p *project) planPrune(ctx context.Context, ref string) (gone []worktreeRecord, res *PruneWorktreesResult, err error) {
	res = &PruneWorktreesResult{Worktrees: []WorktreeRow{}}
	add := func(rec worktreeRecord, at whereabouts) error {
		row, err := p.row(ctx, rec, at)
		if err != nil {
			return err
		}
		gone = append(gone, rec)
		res.Worktrees, res.Bytes, res.Checkpoints = append(res.Worktrees, row), res.Bytes+row.Bytes, res.Checkpoints+row.Checkpoints
		return nil
	}
	if ref != "" {
		rec, at, err := p.findOrphan(ctx, verbPruneWorktrees, ref)
		if err == nil {
			err = add(rec, at)
		}
		if err != nil {
			return nil, nil, err
		}
	} else {
		claims, err := p.claims(ctx)
		if err != nil {
			return nil, nil, err
		}
		records, err := p.records(p.machine.Project)
		if err != nil {
			return nil, nil, err
		}
		for _, rec := range records {
			if at := p.locate(ctx, &rec, claims); at.state == StateOrphan {
				if err := add(rec, at); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	var actions []string
	for _, rec := range gone {
		actions = append(actions, rec.ID+" "+rec.Branch)
	}
	res.Plan = plan.ID(actions)
	return gone, res, nil
}

// pruneOrphan removes the database of one worktree that is gone. Its switch
// is the mark: behind it the next setup finishes. The caller holds setup.lock.
func (p *project) pruneOrphan(ctx context.Context, rec worktreeRecord) error {
	w, err := p.unlinked(ctx, rec)
	if err != nil {
		return err
	}
	unlock, err := w.lockOperation(ctx, verbPruneWorktrees, 0)
	if err != nil {
		return err
	}
	defer unlock()
	if err := w.inUse(verbPruneWorktrees); err != nil {
		return err
	}
	unlockServer, err := w.lockServer(ctx)
	if err != nil {
		return err
	}
	defer unlockServer()
	if _, err := w.ownState(ctx, verbPruneWorktrees); err != nil {
		return err
	}
	if err := w.db.Stop(ctx); err != nil {
		return err
	}
	// A git directory whose worktree was deleted still has the link.
	if p.linkedAt(rec) {
		if err := durable.Remove(w.fs, path.Join(rec.GitDir, linkFile)); err != nil {
			return err
		}
	}
	mark := unfinished{Verb: verbTeardown, GitDir: rec.GitDir, Branch: rec.Branch}
	if err := record.Write(w.fs, w.file(unfinishedFile), "unfinished", recordFormat, mark); err != nil {
		return err
	}
	if err := w.clearRecords(ctx); err != nil {
		return &fault.Error{Op: verbPruneWorktrees, Path: rec.Name, Err: err, Hint: "The next `forklift setup` of this repository removes the rest."}
	}
	return nil
}
