package engine

import (
	"context"
	"path"
	"sort"

	"forklift/storage"
	"forklift/storage/fault"
)

// WorktreeListOptions choose the rows.
type WorktreeListOptions struct {
	Orphans bool // only those that are gone
	All     bool // of every repository that the store knows
}

// WorktreeRow is a worktree as `worktree list` shows it.
type WorktreeRow struct {
	WorktreeInfo
	State       WorktreeState `json:"state"`
	Why         string        `json:"why,omitempty"`    // in words, unless the state is ok
	Server      string        `json:"server,omitempty"` // stopped, running, unclean, foreign
	Stopped     bool          `json:"stopped"`          // its server was stopped now, because it is an orphan
	Interrupted string        `json:"interrupted,omitempty"`
	Checkpoints int           `json:"checkpoints"`
	Bytes       int64         `json:"bytes"`   // of its database's files on disk
	Current     bool          `json:"current"` // the one that was asked in
}

// WorktreeList lists the worktrees of the repository that holds dir: those
// that the store knows and those that only git knows. It stops the idle
// servers of orphans; else it changes nothing.
func WorktreeList(ctx context.Context, host Host, dir string, opt WorktreeListOptions) ([]WorktreeRow, error) {
	p, err := openProject(ctx, host, dir, opt.All)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	claims, err := p.claims(ctx)
	if err != nil {
		return nil, err
	}
	id := p.machine.Project
	if opt.All {
		id = ""
	}
	records, err := p.records(id)
	if err != nil {
		return nil, err
	}
	rows := []WorktreeRow{}
	for _, rec := range records {
		at := p.locate(ctx, &rec, claims)
		if opt.Orphans && at.state != StateOrphan {
			continue
		}
		row, err := p.row(ctx, rec, at)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if !opt.Orphans {
		rows = append(rows, p.gitOnly(ctx, records, claims)...)
	}
	sort.SliceStable(rows, func(i, k int) bool { return rows[i].Name < rows[k].Name })
	return rows, nil
}

// openProject opens the store of the repository that holds dir. With all it
// may be outside of a repository, or in one that was never set up: then it is
// the host's store.
func openProject(ctx context.Context, host Host, dir string, all bool) (*project, error) {
	p, err := findProject(ctx, host, dir)
	if all && fault.KindOf(err) == fault.NotFound {
		p = &project{host: host, fs: host.FS}
		err = p.placeStore()
	}
	if err != nil {
		return nil, err
	}
	if p.machine.Project != "" {
		return p, p.openStore(ctx, p.machine.Store)
	}
	if !all {
		return nil, &fault.Error{Op: "find worktrees", Path: p.repo.Worktree, Kind: fault.NotFound,
			Err: errNotSetUp, Hint: "Run `forklift setup`, or give --all to see what other repositories have."}
	}
	p.store, err = storage.Open(ctx, p.fs, p.machine.Store)
	return p, err
}

// row describes one worktree that the store knows.
func (p *project) row(ctx context.Context, rec worktreeRecord, at whereabouts) (WorktreeRow, error) {
	row := WorktreeRow{WorktreeInfo: rec.info(p.store.Dir()), State: at.state, Why: at.why}
	row.Path = at.path
	row.Current = at.state != StateTornDown && at.state != StateOrphan && p.repo.Worktree == at.path
	names, err := p.store.Names(ctx, rec.Project, rec.ID)
	if err != nil {
		return row, err
	}
	for _, n := range names {
		if n.Kind == storage.Capture {
			row.Checkpoints++
		}
	}
	if rec.TornDown {
		return row, nil
	}
	w, err := p.unlinked(ctx, rec)
	if err != nil {
		row.State, row.Why = StateUnknown, err.Error() // a database kind of another version
		return row, nil
	}
	if at.state == StateOrphan {
		if row.Stopped, err = p.stopOrphan(ctx, rec); err != nil {
			row.Why += "; its server: " + err.Error()
		}
	}
	if info, err := w.serverInfo(ctx); err == nil {
		row.Server = info.State
	}
	if j, err := w.leftJournal(); err == nil && j != nil {
		row.Interrupted = j.Verb
	}
	row.Bytes = w.occupied(w.branch.Dir, ".")
	return row, nil
}

// gitOnly describes the worktrees of the repository that have no record of
// their own: those without a database, and copies.
func (p *project) gitOnly(_ context.Context, records []worktreeRecord, claims map[string][]Place) []WorktreeRow {
	var rows []WorktreeRow
	add := func(place Place, state WorktreeState, why string) {
		rows = append(rows, WorktreeRow{State: state, Why: why, Current: place.Worktree == p.repo.Worktree,
			WorktreeInfo: WorktreeInfo{Name: path.Base(place.Worktree), Path: place.Worktree, Project: p.machine.Project, Store: p.store.Dir()}})
	}
	known := make(map[string]worktreeRecord)
	for _, rec := range records {
		known[rec.ID] = rec
	}
	for id, places := range claims {
		rec, ok := known[id]
		for _, place := range places {
			switch {
			case id == "":
				add(place, StateNone, "git's, without a database")
			case !ok && place.Alive:
				add(place, StateUnknown, "its record "+id+" is not in this store")
			case ok && place.Alive && place.GitDir != rec.GitDir && !p.isGitDirOf(&rec, place.GitDir):
				add(place, StateCopy, "a copy of "+rec.Path)
			}
		}
	}
	return rows
}

// linkedAt reports that the git directory of a record still says that it is
// of that worktree.
func (p *project) linkedAt(rec worktreeRecord) bool {
	l, err := p.readLink(rec.GitDir)
	return err == nil && l != nil && l.Worktree == rec.ID
}
