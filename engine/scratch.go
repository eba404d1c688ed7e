package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

const (
	// scratchPrefix begins the id of a branch that lives only while a seed
	// or a template is made. The kind and a dash follow, unless it is the
	// default one.
	scratchPrefix = "scratch-"
	// scratchLock is held by who uses a scratch branch: it may be removed by
	// one who can take it.
	scratchLock = "scratch.lock"
)

// scratch is a database that lives only while a seed or template is made.
type scratch struct {
	p      *project
	branch Branch
	db     Database
	kind   string
	cfg    *config.File // what it is made for; nil for no worktree's
	lock   vfs.Lock
}

// newScratch makes an empty branch.
func (p *project) newScratch(ctx context.Context, kind string, cfg *config.File) (*scratch, error) {
	id := p.scratchID(kind)
	dir := path.Join(p.store.Dir(), branchesDir, id)
	s := &scratch{p: p, kind: kind, cfg: cfg, branch: p.branchAt(id, dir)}
	s.branch.Worktree = p.repo.Worktree
	if err := durable.MkdirAll(p.fs, dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if s.lock, err = p.fs.Lock(path.Join(dir, scratchLock), true); err != nil {
		return nil, err
	}
	for _, d := range []string{s.branch.SlotDir(SlotA), s.branch.RunDir()} {
		if err := durable.MkdirAll(p.fs, d, 0o700); err != nil {
			return nil, errors.Join(err, s.remove(ctx))
		}
	}
	if s.db, err = p.database(ctx, kind, s.branch, cfg); err != nil {
		return nil, errors.Join(err, s.remove(ctx))
	}
	return s, nil
}

// scratchID is the id of a new scratch branch: it tells the kind, so that
// whoever finds it left behind knows how to stop its server.
func (p *project) scratchID(kind string) string {
	id := string(storage.NewPairID(p.host.Clock.Now()))
	if kind == p.host.DefaultKind {
		return scratchPrefix + id
	}
	return scratchPrefix + kind + "-" + id
}

// scratchKind is the kind that a scratch branch's id tells.
func (p *project) scratchKind(id string) string {
	if kind, _, ok := strings.Cut(strings.TrimPrefix(id, scratchPrefix), "-"); ok {
		return kind
	}
	return p.host.DefaultKind
}

// kindHere is the kind of database that the worktree's .forklift.json names,
// with the file; without a worktree or a file it is the default one.
func (p *project) kindHere() (string, *config.File, error) {
	if p.repo.Worktree == "" {
		return p.host.DefaultKind, nil, nil
	}
	cfg, err := config.Load(p.fs, path.Join(p.repo.Worktree, config.Name))
	if fault.KindOf(err) == fault.NotFound {
		return p.host.DefaultKind, nil, nil
	}
	if err != nil || cfg.Database.Kind == "" {
		return p.host.DefaultKind, cfg, err
	}
	return cfg.Database.Kind, cfg, nil
}

// configFor is the worktree's .forklift.json if its database is of a kind, else nil.
func (p *project) configFor(kind string) (*config.File, error) {
	here, cfg, err := p.kindHere()
	if err != nil || here != kind {
		return nil, err
	}
	return cfg, nil
}

// remove stops the scratch server and removes its files.
func (s *scratch) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	err := s.p.removeBranch(ctx, s.kind, s.branch)
	return errors.Join(err, s.lock.Unlock())
}

// sweepScratch removes the scratch branches of killed processes.
func (p *project) sweepScratch(ctx context.Context) error {
	dir := path.Join(p.store.Dir(), branchesDir)
	entries, err := p.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name, scratchPrefix) {
			continue
		}
		lock, err := p.fs.Lock(path.Join(dir, e.Name, scratchLock), true)
		if errors.Is(err, vfs.ErrLocked) {
			continue
		}
		if err != nil {
			return err
		}
		err = p.removeBranch(ctx, p.scratchKind(e.Name), p.branchAt(e.Name, path.Join(dir, e.Name)))
		if err := errors.Join(err, lock.Unlock()); err != nil {
			return err
		}
	}
	return nil
}

// publish captures the scratch database, which is at rest, under a name.
func (s *scratch) publish(ctx context.Context, kind storage.PairKind, name string) (*storage.Pair, error) {
	pair, err := s.save(ctx, kind, name)
	if err != nil {
		return nil, err
	}
	return pair, s.p.store.SetName(ctx, "", "", kind, name, pair.ID)
}

// save stores the scratch database, which is at rest, as a pair that no name
// leads to yet.
func (s *scratch) save(ctx context.Context, kind storage.PairKind, name string) (*storage.Pair, error) {
	writer, err := s.p.store.NewWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer writer.Abort()
	now := s.p.host.Clock.Now()
	pair := &storage.Pair{ID: storage.NewPairID(now), Name: name, Kind: kind, Created: now, Actor: s.p.host.Actor}
	db := storage.DatabaseState{Kind: s.kind, State: storage.StateClean}
	trees, err := s.db.Trees(ctx, SlotA, false)
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		saved, err := scanTree(ctx, s.p.fs, writer, t)
		if err != nil {
			return nil, err
		}
		db.Trees = append(db.Trees, storage.TreeState{Name: t.Name, Manifest: saved.Manifest, Files: saved.Stats.Files, Bytes: saved.Stats.Bytes})
		pair.LogicalBytes += saved.Stats.Bytes
	}
	if db.Facts, err = s.db.Facts(ctx, SlotA); err != nil {
		return nil, err
	}
	if err := writer.Commit(ctx); err != nil {
		return nil, err
	}
	pair.Databases, pair.AddedBytes = []storage.DatabaseState{db}, writer.AddedBytes()
	return pair, s.p.store.PutPair(ctx, pair)
}

func scanTree(ctx context.Context, fsys vfs.FS, writer *storage.Writer, t DatabaseTree) (*storage.Tree, error) {
	root, err := fsys.OpenRoot(t.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return writer.Scan(ctx, root, t.Rules, nil)
}

// template gives the pair of the empty database of a kind, which it makes
// when this version and these options are new to the store.
func (p *project) template(ctx context.Context, kind string, cfg *config.File) (*storage.Pair, error) {
	s, err := p.newScratch(ctx, kind, cfg)
	if err != nil {
		return nil, err
	}
	pair, err := s.template(ctx)
	return pair, errors.Join(err, s.remove(ctx))
}

func (s *scratch) template(ctx context.Context) (*storage.Pair, error) {
	name, err := s.db.Template(ctx)
	if err != nil {
		return nil, err
	}
	id, err := s.p.store.Name(ctx, "", "", storage.Template, name)
	if err == nil {
		return s.p.store.Pair(ctx, "", id)
	}
	if fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	if err := s.db.Init(ctx, SlotA); err != nil {
		return nil, fmt.Errorf("make an empty database: %w", err)
	}
	return s.publish(ctx, storage.Template, name)
}
