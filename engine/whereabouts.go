package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"forklift/engine/gitdir"
	"forklift/storage"
	"forklift/storage/fault"
)

// WorktreeGit is what the engine asks about the other worktrees of a
// repository, and about those that are gone.
type WorktreeGit interface {
	// GitDirs lists the git directories of a repository, the common one first.
	GitDirs(ctx context.Context, r Repo) ([]string, error)
	// Look tells what has become of a git directory; one that is gone is an
	// answer, not an error.
	Look(ctx context.Context, gitDir string) (Place, error)
	AddWorktreeGit
}

// Place is a git directory and the worktree that it is of.
type Place = gitdir.Place

// WorktreeState says what has become of a worktree that the store knows, or
// that only git knows.
type WorktreeState string

// The states of worktrees.
const (
	StateOK       WorktreeState = "ok"
	StateMoved    WorktreeState = "moved"     // it lives, at another place than recorded; its next command records that
	StateAway     WorktreeState = "away"      // its directory is not there, and git has it locked
	StateOrphan   WorktreeState = "orphan"    // it is gone; its database and checkpoints are left
	StateTornDown WorktreeState = "torn down" // only its checkpoints are left
	StateCopy     WorktreeState = "copy"      // has the identity of another worktree: `setup --new` gives it its own
	StateNone     WorktreeState = "none"      // git's, without a database
	StateUnknown  WorktreeState = "unknown"   // cannot be told; Why says what is in the way
)

// whereabouts is where a worktree is now.
type whereabouts struct {
	state WorktreeState
	path  string // where it is, or was
	why   string // in words, for every state but ok
	place Place  // of its git directory, if that was looked at
	heir  string // git directory that carries its identity, but is not the recorded one; state is unknown then
}

// claims tells which worktree each git directory of the repository says it
// is: a worktree whose repository was moved is found by that.
func (p *project) claims(ctx context.Context) (map[string][]Place, error) {
	if p.repo.CommonDir == "" {
		return nil, nil
	}
	dirs, err := p.host.Git.GitDirs(ctx, p.repo)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]Place)
	for _, dir := range dirs {
		place, err := p.host.Git.Look(ctx, dir)
		if err != nil {
			return nil, err
		}
		if l, err := p.readLink(dir); err == nil && l != nil {
			found[l.Worktree] = append(found[l.Worktree], place)
		} else if err == nil && place.Alive {
			found[""] = append(found[""], place)
		}
	}
	return found, nil
}

// locate tells where the worktree of a record is. claims may be nil.
func (p *project) locate(ctx context.Context, rec *worktreeRecord, claims map[string][]Place) whereabouts {
	if rec.TornDown {
		return whereabouts{state: StateTornDown, path: rec.Path, why: "only its checkpoints are left"}
	}
	at := p.locateRecorded(ctx, rec)
	if at.state != StateOrphan {
		return at
	}
	for _, place := range claims[rec.ID] {
		if place.Alive && !p.isGitDirOf(rec, place.GitDir) {
			at = whereabouts{state: StateUnknown, path: rec.Path, place: place, heir: place.GitDir,
				why: fmt.Sprintf("it is gone, and %s carries its identity: `forklift adopt %s` there takes its database over, `forklift setup --new` there gives it one of its own",
					place.Worktree, rec.Name)}
			continue
		}
		if place.Alive {
			return whereabouts{state: StateMoved, path: place.Worktree, why: p.movedFrom(rec, place), place: place}
		}
		// After a move of the repository its worktrees lead nowhere until git
		// is told: they are as alive as before, and nothing of them is an orphan.
		if place.Worktree == "" {
			continue
		}
		if _, err := p.fs.Lstat(path.Join(place.Worktree, ".git")); err == nil {
			return whereabouts{state: StateUnknown, path: place.Worktree, place: place,
				why: "its directory is there, but git has lost it: run `git worktree repair` with that path"}
		}
	}
	return at
}

// locateRecorded looks only where the record says.
func (p *project) locateRecorded(ctx context.Context, rec *worktreeRecord) whereabouts {
	at := whereabouts{state: StateOrphan, path: rec.Path}
	unknown := func(err error) whereabouts {
		at.state, at.why = StateUnknown, err.Error()
		return at
	}
	l, err := p.readLink(rec.GitDir)
	if err != nil {
		return unknown(err)
	}
	if at.place, err = p.host.Git.Look(ctx, rec.GitDir); err != nil {
		return unknown(err)
	}
	switch {
	case !at.place.Exists:
		at.why = "its git directory is gone"
	case l == nil:
		at.why = "its git directory was made anew"
	case l.Worktree != rec.ID:
		at.why = "its git directory is another worktree's now"
	case at.place.Alive && p.samePlace(at.place.Worktree, rec.Path):
		at.state = StateOK
	case at.place.Alive:
		at.state, at.path, at.why = StateMoved, at.place.Worktree, p.movedFrom(rec, at.place)
	case at.place.Locked:
		at.state, at.path, at.why = StateAway, at.place.Worktree, "its directory is not there, but git has it locked"
	default:
		at.why = "its directory is gone"
		if at.place.Worktree != "" {
			at.path = at.place.Worktree
		}
	}
	return at
}

// isGitDirOf reports that a git directory is the recorded one, wherever it is
// now: a rename keeps the inode, and a copy has another one. The device is not
// compared, because some file systems get another number with each boot.
func (p *project) isGitDirOf(rec *worktreeRecord, gitDir string) bool {
	info, err := p.fs.Lstat(gitDir)
	return err == nil && info.Ino == rec.GitIno
}

// movedFrom tells what has moved: the worktree, or only the repository that
// its git directory is in.
func (p *project) movedFrom(rec *worktreeRecord, place Place) string {
	if p.samePlace(place.Worktree, rec.Path) {
		return "its git directory was " + rec.GitDir + "; its next command records that"
	}
	return "it was at " + rec.Path
}

// samePlace reports that two names are of one directory.
func (p *project) samePlace(a, b string) bool {
	if a == b {
		return true
	}
	x, err := p.fs.Lstat(a + "/.")
	if err != nil {
		return false
	}
	y, err := p.fs.Lstat(b + "/.")
	return err == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

// unlinked is a record without a git worktree, opened for what can still be
// done with it.
func (p *project) unlinked(ctx context.Context, rec worktreeRecord) (*Worktree, error) {
	w := &Worktree{project: p, rec: rec, dir: p.recordDir(rec.ID)}
	w.branch = p.branchAt(rec.Branch, w.dir)
	var err error
	w.db, err = p.database(ctx, rec.Kind, w.branch, nil)
	return w, err
}

// inUse says who keeps an orphan from being taken or removed: an operation, or
// managed commands that outlived their directory. The caller holds
// operation.lock.
func (w *Worktree) inUse(op string) error {
	holders, err := w.holders()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(holders) == 0 {
		return nil
	}
	return w.busyHolders(op, holders)
}

// stopOrphan stops the server of a worktree that is gone, unless an operation,
// a managed command or a client still uses it. It reports whether it did.
func (p *project) stopOrphan(ctx context.Context, rec worktreeRecord) (bool, error) {
	w, err := p.unlinked(ctx, rec)
	if err != nil {
		return false, err
	}
	lock, err := p.fs.Lock(w.file(operationLock), false)
	if err != nil {
		return false, nil // at work: it will be noticed again
	}
	defer func() { _ = lock.Unlock() }()
	if w.inUse("stop server") != nil {
		return false, nil
	}
	unlock, err := w.lockServer(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	slot, err := w.selectedSlot()
	if err != nil {
		return false, err
	}
	st, err := w.db.State(ctx, slot)
	if err != nil || st.State != Running {
		return false, err
	}
	if clients, err := w.db.Clients(ctx); err != nil || len(clients) > 0 {
		return false, err
	}
	return true, w.stopObserved(ctx, st.Slot)
}

// stopOrphans stops the servers of all worktrees of the project that are
// gone. It is a tidying on the way: what fails is left for the next time.
func (p *project) stopOrphans(ctx context.Context) {
	claims, err := p.claims(ctx)
	if err != nil {
		return
	}
	records, err := p.records(p.machine.Project)
	if err != nil {
		return
	}
	for _, rec := range records {
		if p.locate(ctx, &rec, claims).state == StateOrphan {
			_, _ = p.stopOrphan(ctx, rec)
		}
	}
}

// orphanNames names the worktrees of the project that are gone.
func (w *Worktree) orphanNames(ctx context.Context) ([]string, error) {
	claims, err := w.claims(ctx)
	if err != nil {
		return nil, err
	}
	records, err := w.records(w.rec.Project)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, rec := range records {
		if rec.ID != w.rec.ID && w.locate(ctx, &rec, claims).state == StateOrphan {
			names = append(names, rec.Name)
		}
	}
	return names, nil
}

// openStore opens the store that is recorded for the project. One that is not
// there is never made again: its disk may be away, or somebody has moved it.
func (p *project) openStore(ctx context.Context, dir string) error {
	var err error
	if p.store, err = storage.Open(ctx, p.fs, dir); fault.KindOf(err) != fault.NotFound {
		return err
	}
	toml := path.Join(p.repo.CommonDir, "forklift.toml")
	return &fault.Error{Op: "open store", Path: dir, Kind: fault.NotFound,
		Err:  fmt.Errorf("there is no store at %s, where this repository's checkpoints are recorded to be", dir),
		Hint: "If its disk is not mounted, mount it. If the store was moved, write its new place as `store` into " + toml + "; nothing else has to be changed."}
}
