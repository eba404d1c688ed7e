package engine

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"forklift/engine/worktree"
	"forklift/storage/durable"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// sweep finishes what killed setups, teardowns and seed creations left in the
// store. The caller holds setup.lock. A record directory that nobody was
// working on when he was killed is never touched: an orphan, whose git
// worktree is gone, keeps its database until the user prunes it.
func (p *project) sweep(ctx context.Context) error {
	if err := p.sweepScratch(ctx); err != nil {
		return err
	}
	dir := path.Join(p.store.Dir(), worktreesDir)
	entries, err := p.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := p.sweepRecord(ctx, e.Name); err != nil {
			return err
		}
	}
	return nil
}

// sweepRecord ends an unfinished setup or teardown of one record directory:
// the link in the git directory says which way.
func (p *project) sweepRecord(ctx context.Context, id string) error {
	w := &Worktree{project: p, dir: p.recordDir(id)}
	lock, err := p.fs.Lock(w.file(operationLock), true)
	if err != nil {
		if errors.Is(err, vfs.ErrLocked) {
			return nil // at work
		}
		return err
	}
	defer func() { _ = lock.Unlock() }()
	var mark unfinished
	there, err := w.readOptional(unfinishedFile, "unfinished", &mark)
	if err != nil {
		return err
	}
	rec, recErr := p.readRecord(id)
	if !there {
		if errors.Is(recErr, fs.ErrNotExist) {
			return durable.RemoveAll(p.fs, w.dir) // killed before it had written anything
		}
		return nil
	}
	gitDir, err := worktree.UnquotePath(mark.GitDir)
	if err != nil {
		return err
	}
	linked := false
	if l, err := p.readLink(gitDir); err != nil {
		return err
	} else if l != nil {
		linked = l.Worktree == id
	}
	switch {
	case linked:
		return w.removeRecord(unfinishedFile) // setup was complete, or teardown had not begun
	case mark.Verb == verbTeardown && recErr == nil:
		w.rec, w.branch = rec, p.branchAt(rec.Branch, w.dir)
		return w.clearRecords(ctx)
	}
	kind := rec.Kind
	if kind == "" {
		kind = p.host.DefaultKind
	}
	if err := p.removeBranch(ctx, kind, p.branchAt(mark.Branch, w.dir)); err != nil {
		return err
	}
	return durable.RemoveAll(p.fs, w.dir)
}

// removeBranch stops the branch's server and removes its files.
func (p *project) removeBranch(ctx context.Context, kind string, b Branch) error {
	if _, err := p.fs.Lstat(b.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := p.fs.Lstat(b.RunDir()); err == nil {
		db, err := p.database(ctx, kind, b, nil)
		if err != nil {
			return err
		}
		if err := db.Stop(ctx); err != nil {
			return err
		}
		if err := db.Remove(ctx); err != nil {
			return err
		}
	}
	return durable.RemoveAll(p.fs, b.Dir)
}

// clearRecords ends a teardown behind the removal of the link: the database
// goes, and of the records only who the worktree was, for its checkpoints.
func (w *Worktree) clearRecords(ctx context.Context) error {
	for _, slot := range [...]Slot{SlotA, SlotB} {
		unlock, err := w.lockSlot(ctx, slot) // somebody may be preparing the idle one
		if err != nil {
			return err
		}
		defer unlock()
	}
	if err := w.removeBranch(ctx, w.rec.Kind, w.branch); err != nil {
		return err
	}
	entries, err := w.fs.ReadDir(w.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name {
		case worktreeFile, logFile, operationLock, unfinishedFile:
			continue
		}
		if err := durable.RemoveAll(w.fs, w.file(e.Name)); err != nil {
			return err
		}
	}
	w.rec.TornDown = true
	if err := record.Write(w.fs, w.file(worktreeFile), "worktree", recordFormat, w.rec); err != nil {
		return err
	}
	return w.removeRecord(unfinishedFile)
}
