package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

const verbAdopt = "adopt"

// errNotSetUp is what is wrong with a repository that Forklift does not know.
var errNotSetUp = errors.New("this repository was never set up")

// AdoptResult says what a worktree has taken over.
type AdoptResult struct {
	Worktree    WorktreeInfo `json:"worktree"`
	From        string       `json:"from"` // where it was
	Checkpoints int          `json:"checkpoints"`
	Interrupted string       `json:"interrupted,omitempty"` // verb of an operation that must be recovered first
	ConfigGone  bool         `json:"config_gone"`           // the worktree has no .forklift.json
	Warnings    []string     `json:"warnings,omitempty"`
}

// Adopt gives the worktree that holds dir the identity of one that is gone:
// its name, its database and its checkpoints. ref is its name or id. The
// worktree must have no database of its own; its files stay as they are.
//
// The link in the git directory, written last, is the one switch: killed
// before it the orphan is as it was, after it the worktree has taken it over.
func Adopt(ctx context.Context, host Host, dir, ref string) (*AdoptResult, error) {
	p, err := openProject(ctx, host, dir, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	if p.repo.Worktree == "" {
		_, err := host.Git.Find(ctx, dir)
		return nil, err
	}
	unlock, err := p.lockSetup(ctx, verbAdopt)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := p.sweep(ctx); err != nil {
		return nil, err
	}
	if err := p.mayAdopt(ctx); err != nil {
		return nil, err
	}
	rec, at, err := p.findOrphan(ctx, verbAdopt, ref)
	if err != nil {
		return nil, err
	}
	w, err := p.unlinked(ctx, rec)
	if err != nil {
		return nil, err
	}
	unlockOp, err := w.lockOperation(ctx, verbAdopt, 0)
	if err != nil {
		return nil, err
	}
	defer unlockOp()
	if err := w.inUse(verbAdopt); err != nil {
		return nil, err
	}
	return w.adopt(ctx, at.path)
}

// lockSetup takes the lock of those who make and remove identities, and of
// those who replace what these begin with.
func (p *project) lockSetup(ctx context.Context, verb string) (func(), error) {
	return p.lockSetupWithin(ctx, verb, setupWait)
}

func (p *project) lockSetupWithin(ctx context.Context, verb string, wait time.Duration) (func(), error) {
	lock, err := lockWithin(ctx, p.fs, path.Join(p.store.Dir(), setupLock), true, wait)
	if errors.Is(err, vfs.ErrLocked) {
		err = &fault.Error{Op: verb, Path: p.store.Dir(), Kind: fault.Busy, Err: errors.New("another setup is under way"), Hint: "Try again when it has ended; nothing was changed."}
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil
}

// mayAdopt refuses a worktree that has a database already. One whose link
// leads nowhere, and a copy of another, have none of their own.
func (p *project) mayAdopt(ctx context.Context) error {
	l, err := p.readLink(p.repo.GitDir)
	if err != nil || l == nil {
		return err
	}
	rec, err := p.readRecord(l.Worktree)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if rec.TornDown || rec.GitDir != p.repo.GitDir && (p.linkedAt(rec) || !p.isGitDirOf(&rec, p.repo.GitDir)) {
		return nil
	}
	return &fault.Error{Op: verbAdopt, Path: p.repo.Worktree, Kind: fault.Usage, Err: fmt.Errorf("this worktree has a database of its own, as %s", rec.Name),
		Hint: "Adopt in a worktree without one, or remove this one's with `forklift teardown` first."}
}

// findOrphan finds a worktree that is gone, by its name or id. In a
// repository that was never set up those of all repositories count.
func (p *project) findOrphan(ctx context.Context, op, ref string) (worktreeRecord, whereabouts, error) {
	records, err := p.records("")
	if err != nil {
		return worktreeRecord{}, whereabouts{}, err
	}
	claims, err := p.claims(ctx)
	if err != nil {
		return worktreeRecord{}, whereabouts{}, err
	}
	var found []worktreeRecord
	var known []string
	for _, rec := range records {
		ours := p.machine.Project == "" || rec.Project == p.machine.Project
		if ours {
			known = append(known, rec.Name)
		}
		if rec.ID == ref || ours && rec.Name == ref {
			found = append(found, rec)
		}
	}
	switch len(found) {
	case 0:
		err := unknown("worktree", ref, known)
		if e, ok := errors.AsType[*fault.Error](err); ok {
			e.Op = op
			if len(nearest(ref, known)) == 0 {
				e.Hint = "`forklift worktree list --orphans` shows the worktrees that are gone."
			}
		}
		return worktreeRecord{}, whereabouts{}, err
	case 1:
	default:
		e := &fault.Error{Op: op, Path: ref, Kind: fault.Usage, Err: fmt.Errorf("%d worktrees are named %q", len(found), ref), Hint: "Give its id."}
		for _, rec := range found {
			e.Items = append(e.Items, rec.ID+"  "+rec.Path)
		}
		return worktreeRecord{}, whereabouts{}, e
	}
	at := p.locate(ctx, &found[0], claims)
	if op == verbAdopt && at.heir != "" && at.heir == p.repo.GitDir {
		at.state = StateOrphan
	}
	if err := notAnOrphan(op, &found[0], at); err != nil {
		return worktreeRecord{}, whereabouts{}, err
	}
	return found[0], at, nil
}

// notAnOrphan refuses a worktree that is not gone.
func notAnOrphan(op string, rec *worktreeRecord, at whereabouts) error {
	e := &fault.Error{Op: op, Path: rec.Name, Kind: fault.Usage}
	switch at.state {
	case StateOrphan:
		return nil
	case StateTornDown:
		e.Kind, e.Err = fault.NotFound, fmt.Errorf("the worktree %s was torn down: it has no database any more", rec.Name)
		e.Hint = "Its checkpoints are there: `forklift list --project` shows them, `forklift restore " + rec.Name + ":NAME` takes one over."
	case StateUnknown:
		e.Kind, e.Err = fault.Failed, fmt.Errorf("it cannot be told whether the worktree %s is gone: %s", rec.Name, at.why)
		e.Hint = "Remove what is in the way, and try again."
	case StateAway:
		e.Err = fmt.Errorf("the worktree %s is only away: git has it locked", rec.Name)
		e.Hint = "If it will not come back, `git worktree unlock " + at.path + "`."
	default:
		e.Err = fmt.Errorf("the worktree %s is not gone: it is at %s", rec.Name, at.path)
		e.Hint = "Work there. Its checkpoints can be restored here as " + rec.Name + ":NAME."
		if op == verbPruneWorktrees {
			e.Hint = "To remove its database run `forklift teardown` in it."
		}
	}
	return e
}

// adopt takes the worktree that is gone over into p.repo. The caller holds
// setup.lock and operation.lock.
func (w *Worktree) adopt(ctx context.Context, from string) (*AdoptResult, error) {
	if err := w.joinProject(ctx); err != nil {
		return nil, err
	}
	info, err := w.fs.Lstat(w.repo.GitDir)
	if err != nil {
		return nil, fault.Wrap(verbAdopt, w.repo.GitDir, err)
	}
	// What was remembered of files is of another directory.
	if err := durable.Remove(w.fs, w.file(memoryOfSources)); err != nil {
		return nil, err
	}
	w.rec.Path, w.rec.GitDir, w.rec.CommonDir = w.repo.Worktree, w.repo.GitDir, w.repo.CommonDir
	w.rec.GitDev, w.rec.GitIno = info.Dev, info.Ino
	if err := w.writeRecord(w.rec); err != nil {
		return nil, err
	}
	err = record.Write(w.fs, path.Join(w.repo.GitDir, linkFile), "link", recordFormat, link{Worktree: w.rec.ID, Store: w.store.Dir()})
	if err != nil {
		return nil, err
	}
	res := &AdoptResult{Worktree: w.Info(), From: from}
	op := string(storage.NewPairID(w.host.Clock.Now()))
	if err := w.appendLog(logRow{Operation: op, Verb: verbAdopt, Outcome: outcomeDone, Actor: w.host.Actor, Name: from}); err != nil {
		res.Warnings = append(res.Warnings, "it is done, but the operation log could not be written: "+err.Error())
	}
	w.describeAdopted(ctx, res)
	return res, nil
}

// describeAdopted tells what the user has to know next; what cannot be read is
// told by the verbs that need it.
func (w *Worktree) describeAdopted(ctx context.Context, res *AdoptResult) {
	if j, err := w.readJournal(); err == nil && j != nil {
		res.Interrupted = j.Verb
	}
	if _, err := w.fs.Lstat(path.Join(w.rec.Path, config.Name)); errors.Is(err, fs.ErrNotExist) {
		res.ConfigGone = true
	}
	names, err := w.store.Names(ctx, w.rec.Project, w.rec.ID)
	if err != nil {
		res.Warnings = append(res.Warnings, problem(err))
	}
	for _, n := range names {
		if n.Kind == storage.Capture {
			res.Checkpoints++
		}
	}
}

// joinProject makes the repository the one that the orphan was of, if it
// has no identity yet and no other repository has that one: a repository that
// was deleted and cloned again.
func (w *Worktree) joinProject(ctx context.Context) error {
	if w.machine.Project == w.rec.Project {
		return nil
	}
	other := &fault.Error{Op: verbAdopt, Path: w.rec.Name, Kind: fault.Usage, Err: fmt.Errorf("the worktree %s is of another repository, %s", w.rec.Name, w.rec.CommonDir),
		Hint: "Adopt it in a worktree of that repository, or in a new clone that was never set up."}
	if w.machine.Project != "" {
		return other
	}
	records, err := w.records(w.rec.Project)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if at := w.locate(ctx, &rec, nil); at.state != StateOrphan && at.state != StateTornDown {
			return other
		}
	}
	w.machine.Format, w.machine.Project, w.machine.Store = 1, w.rec.Project, w.store.Dir()
	name := path.Join(w.repo.CommonDir, config.MachineName)
	return fault.Wrap("create", name, durable.CreateFile(w.fs, name, w.machine.Encode(), 0o600))
}
