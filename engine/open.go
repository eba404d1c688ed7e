package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"forklift/engine/config"
	"forklift/engine/trust"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// Worktree is a git worktree that was set up: its records, its database and
// its checkpoints. Its methods are the verbs; each takes the locks it needs.
type Worktree struct {
	*project
	rec    worktreeRecord
	dir    string // of its records
	branch Branch
	db     Database
}

// Open opens the worktree that holds dir. It fails with kind NotFound when it
// was never set up, and refuses a copy (`cp -r`) of one that was.
func Open(ctx context.Context, host Host, dir string) (*Worktree, error) {
	repo, err := host.Git.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &project{host: host, fs: host.FS, repo: repo}
	l, err := p.readLink(repo.GitDir)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, p.noDatabase(ctx)
	}
	if err := p.readMachine(); err != nil {
		return nil, err
	}
	if err := p.followStore(ctx, l); err != nil {
		return nil, err
	}
	w, err := p.open(ctx, l.Worktree)
	if err != nil {
		_ = p.store.Close()
		return nil, err
	}
	return w, nil
}

// noDatabase is the error of a worktree that was never set up. If one that
// was at its place is gone, that is what the user may be looking for.
func (p *project) noDatabase(ctx context.Context) error {
	e := &fault.Error{Op: "open worktree", Path: p.repo.Worktree, Kind: fault.NotFound,
		Err: errors.New("this worktree has no database of its own yet"), Hint: "Run `forklift setup`."}
	if p.readMachine() != nil || p.machine.Project == "" || p.openStore(ctx, p.machine.Store) != nil {
		return e
	}
	defer func() { _ = p.store.Close() }()
	records, err := p.records(p.machine.Project)
	if err != nil {
		return e
	}
	for _, rec := range records {
		if rec.Path == p.repo.Worktree && p.locate(ctx, &rec, nil).state == StateOrphan {
			e.Hint = "Run `forklift adopt " + rec.Name + "` to take over the database of the worktree that was here before, or `forklift setup` for a new one."
		}
	}
	return e
}

// followStore opens the store that the link names. Where that is gone, and
// forklift.toml names another one that has the worktree's record, the store
// was moved, and the link follows it.
func (p *project) followStore(ctx context.Context, l *link) error {
	missing := p.openStore(ctx, l.Store)
	if fault.KindOf(missing) != fault.NotFound || p.machine.Store == "" || p.machine.Store == l.Store {
		p.machine.Store = l.Store
		return missing
	}
	if err := p.openStore(ctx, p.machine.Store); err != nil {
		return err
	}
	_, err := p.readRecord(l.Worktree)
	if err == nil {
		err = record.Write(p.fs, path.Join(p.repo.GitDir, linkFile), "link", recordFormat, link{Worktree: l.Worktree, Store: p.store.Dir()})
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &fault.Error{Op: "open store", Path: p.machine.Store, Kind: fault.NotFound,
			Err:  fmt.Errorf("this worktree was set up with the store %s, which is gone, and %s does not know it", l.Store, p.machine.Store),
			Hint: "Correct `store` in " + path.Join(p.repo.CommonDir, config.MachineName) + ", or run `forklift setup --new`."}
	}
	if err != nil {
		_ = p.store.Close()
	}
	return err
}

// open reads the records of the worktree with an id and checks that it is
// the one in p.repo.
func (p *project) open(ctx context.Context, id string) (*Worktree, error) {
	rec, err := p.readRecord(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: "open worktree", Path: p.repo.Worktree, Kind: fault.NotFound,
			Err: fmt.Errorf("its record %s is not in the store %s", id, p.store.Dir()), Hint: "Run `forklift setup --new`."}
	}
	if err != nil {
		return nil, fault.Wrap("open worktree", p.repo.Worktree, err)
	}
	if err := p.checkIdentity(&rec); err != nil {
		return nil, err
	}
	w := &Worktree{project: p, rec: rec, dir: p.recordDir(id)}
	w.branch = p.branchAt(rec.Branch, w.dir)
	w.branch.Worktree = rec.Path
	// A broken configuration must not keep a user from recovering: only
	// the verbs that need it fail on it.
	cfg, err := w.Config(ctx)
	if err != nil {
		cfg = nil
	}
	w.db, err = p.database(ctx, rec.Kind, w.branch, cfg)
	return w, err
}

// checkIdentity tells a moved worktree, whose record it updates, from a copy.
// What is at the recorded place is the worktree, also where it was put back from
// an archive; elsewhere only the very git directory that was recorded is.
func (p *project) checkIdentity(rec *worktreeRecord) error {
	info, err := p.fs.Lstat(p.repo.GitDir)
	if err != nil {
		return fault.Wrap("open worktree", p.repo.GitDir, err)
	}
	same := p.isGitDirOf(rec, p.repo.GitDir)
	if same && info.Dev == rec.GitDev && rec.GitDir == p.repo.GitDir && rec.Path == p.repo.Worktree && rec.CommonDir == p.repo.CommonDir {
		return nil
	}
	if !same && rec.GitDir != p.repo.GitDir {
		if l, err := p.readLink(rec.GitDir); err == nil && l != nil && l.Worktree == rec.ID {
			return &fault.Error{Op: "open worktree", Path: p.repo.Worktree, Kind: fault.Usage,
				Err:  fmt.Errorf("it is a copy of %s, and both would use one database", rec.Path),
				Hint: "Run `forklift setup --new` here to give it a database of its own."}
		}
		// The original may only be away: who takes its database says so.
		return &fault.Error{Op: "open worktree", Path: p.repo.Worktree, Kind: fault.Usage,
			Err: fmt.Errorf("it carries the identity of %s, which is not there now, but is a copy of it or was moved from another file system", rec.Path),
			Hint: "Run `forklift setup --new` here to give it a database of its own. If the original will not come back, `forklift adopt " + rec.Name +
				"` takes its database over."}
	}
	rec.Path, rec.GitDir, rec.CommonDir = p.repo.Worktree, p.repo.GitDir, p.repo.CommonDir
	rec.GitDev, rec.GitIno = info.Dev, info.Ino
	return p.writeRecord(*rec)
}

// Close releases the store.
func (w *Worktree) Close() error { return w.store.Close() }

// Info identifies the worktree.
func (w *Worktree) Info() WorktreeInfo { return w.rec.info(w.store.Dir()) }

func (r worktreeRecord) info(store string) WorktreeInfo {
	return WorktreeInfo{ID: r.ID, Name: r.Name, Project: r.Project, Path: r.Path, Store: store,
		Branch: r.Branch, Kind: r.Kind, Created: r.Created}
}

// Config reads and checks .forklift.json.
func (w *Worktree) Config(_ context.Context) (*config.File, error) {
	cfg, err := config.Load(w.fs, path.Join(w.rec.Path, config.Name))
	if err != nil {
		return nil, err
	}
	if err := w.checkSources(cfg.Source); err != nil {
		return nil, err
	}
	return cfg, nil
}

// checkSources refuses to select a path that holds the store.
func (p *project) checkSources(sources []string) error {
	for _, s := range sources {
		dir := path.Join(p.repo.Worktree, s)
		if config.Within(p.machine.Store, dir) {
			return &fault.Error{Op: "read " + config.Name, Path: s, Kind: fault.Usage,
				Err:  fmt.Errorf("source %q holds the store %s", s, p.machine.Store),
				Hint: "Select other paths, or keep the store elsewhere."}
		}
	}
	return nil
}

// Trusted reports whether the user has approved what .forklift.json would
// run; a file that would run nothing needs no approval.
func (w *Worktree) Trusted(ctx context.Context) (bool, error) {
	cfg, err := w.Config(ctx)
	if err != nil || !cfg.Runs() {
		return err == nil, err
	}
	return trust.Approved(w.fs, w.host.StateDir, w.rec.ID, path.Join(w.rec.Path, config.Name), cfg.Content)
}

// TrustText is exactly what .forklift.json would run.
func (w *Worktree) TrustText(ctx context.Context) (string, error) {
	cfg, err := w.Config(ctx)
	if err != nil {
		return "", err
	}
	return trust.Text(cfg), nil
}

// Trust approves the present content of .forklift.json in this worktree, if
// it runs what was shown: the text that TrustText gave.
func (w *Worktree) Trust(ctx context.Context, shown string) error {
	cfg, err := w.Config(ctx)
	if err != nil {
		return err
	}
	file := path.Join(w.rec.Path, config.Name)
	if trust.Text(cfg) != shown {
		return &fault.Error{Op: "trust", Path: file, Kind: fault.Untrusted,
			Err: errors.New("the file was changed since it was shown"), Hint: "Read it again with `forklift trust --show`."}
	}
	return trust.Approve(w.fs, w.host.StateDir, w.rec.ID, file, cfg.Content)
}
