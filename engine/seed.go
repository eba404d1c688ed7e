package engine

import (
	"context"
	"errors"
	"fmt"
	"path"

	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

// seeds opens the store that the seeds of dir are in: its project's, and
// outside of a project the host's.
func seeds(ctx context.Context, host Host, dir string, create bool) (*project, error) {
	p, err := findProject(ctx, host, dir)
	if fault.KindOf(err) == fault.NotFound {
		p = &project{host: host, fs: host.FS}
		err = p.placeStore()
	}
	if err != nil {
		return nil, err
	}
	if p.machine.Project != "" {
		return p, p.openStore(ctx, p.machine.Store)
	}
	open := storage.Open
	if create {
		open = storage.Create
	}
	p.store, err = open(ctx, host.FS, p.machine.Store)
	return p, err
}

// SeedCreate makes a starting database: an empty one, into which plain SQL
// files were loaded. It is durable, under its name, when the error is nil.
func SeedCreate(ctx context.Context, host Host, dir string, opt SeedOptions) (*SeedInfo, error) {
	if err := storage.ValidName(opt.Name); err != nil {
		return nil, err
	}
	for _, f := range opt.SQL {
		if info, err := host.FS.Lstat(f); err != nil {
			return nil, &fault.Error{Op: "seed create", Path: f, Kind: fault.NotFound, Err: err, Hint: "Name plain SQL files that can be read."}
		} else if info.IsDir() {
			return nil, &fault.Error{Op: "seed create", Path: f, Kind: fault.Usage, Err: errors.New("is a directory"), Hint: "Name plain SQL files."}
		}
	}
	p, err := seeds(ctx, host, dir, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	if err := p.newSeedName(ctx, opt.Name); err != nil {
		return nil, err
	}
	if err := p.sweepScratch(ctx); err != nil {
		return nil, err
	}
	kind := opt.Kind
	if kind == "" {
		kind = host.DefaultKind
	}
	empty, err := p.template(ctx, kind)
	if err != nil {
		return nil, err
	}
	s, err := p.newScratch(ctx, kind)
	if err != nil {
		return nil, err
	}
	pair, err := s.seed(ctx, empty, opt)
	if err := errors.Join(err, s.remove(ctx)); err != nil {
		return nil, err
	}
	info := seedInfo(pair)
	return &info, nil
}

// seed fills the scratch branch from the template, loads the files and
// captures the result.
func (s *scratch) seed(ctx context.Context, empty *storage.Pair, opt SeedOptions) (*storage.Pair, error) {
	unlock, err := s.p.store.LockShared(ctx, serverLockWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, t := range empty.Databases[0].Trees {
		place := s.db.Place(SlotA, t.Name)
		if err := durable.MkdirAll(s.p.fs, place, 0o700); err != nil {
			return nil, err
		}
		if _, err := s.p.store.Patch(ctx, s.p.fs, place, t.Manifest, storage.PatchOptions{}); err != nil {
			return nil, err
		}
	}
	if len(opt.SQL) > 0 || opt.Database != "" {
		if err := s.db.Start(ctx, SlotA); err != nil {
			return nil, err
		}
		progress.Report(ctx, progress.Event{Phase: "load"})
		if err := s.db.Load(ctx, opt.SQL, opt.Database); err != nil {
			return nil, err
		}
		if err := s.db.Stop(ctx); err != nil {
			return nil, err
		}
	}
	return s.publish(ctx, storage.Seed, opt.Name)
}

func (p *project) newSeedName(ctx context.Context, name string) error {
	_, err := p.store.Name(ctx, "", "", storage.Seed, name)
	switch {
	case err == nil:
		return &fault.Error{Op: "seed create", Path: name, Kind: fault.Usage, Err: fmt.Errorf("there is a seed %q already", name),
			Hint: "Choose another name, or `forklift seed remove " + name + "` first."}
	case fault.KindOf(err) == fault.NotFound:
		return nil
	}
	return err
}

// findSeed gives the pair of a seed.
func (p *project) findSeed(ctx context.Context, name string) (*storage.Pair, error) {
	id, err := p.store.Name(ctx, "", "", storage.Seed, name)
	if fault.KindOf(err) == fault.NotFound {
		names, listErr := p.store.Names(ctx, "", "")
		if listErr != nil {
			return nil, listErr
		}
		var known []string
		for _, n := range names {
			if n.Kind == storage.Seed {
				known = append(known, n.Name)
			}
		}
		return nil, unknown("seed", name, known)
	}
	if err != nil {
		return nil, err
	}
	return p.store.Pair(ctx, "", id)
}

// SeedList lists the seeds, by name.
func SeedList(ctx context.Context, host Host, dir string) ([]SeedInfo, error) {
	p, err := seeds(ctx, host, dir, false)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil // no store, so no seeds
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	names, err := p.store.Names(ctx, "", "")
	if err != nil {
		return nil, err
	}
	users, err := p.seedUsers()
	if err != nil {
		return nil, err
	}
	var list []SeedInfo
	for _, n := range names {
		if n.Kind != storage.Seed {
			continue
		}
		pair, err := p.store.Pair(ctx, "", n.ID)
		if err != nil {
			return nil, err
		}
		info := seedInfo(pair)
		info.UsedBy = users[n.Name]
		list = append(list, info)
	}
	return list, nil
}

// seedUsers tells the worktrees that began with each seed and still are.
func (p *project) seedUsers() (map[string][]string, error) {
	records, err := p.records("")
	users := make(map[string][]string)
	for _, r := range records {
		if r.Seed != "" && !r.TornDown {
			users[r.Seed] = append(users[r.Seed], r.Name)
		}
	}
	return users, err
}

func seedInfo(p *storage.Pair) SeedInfo {
	info := SeedInfo{Name: p.Name, ID: p.ID, Created: p.Created, LogicalBytes: p.LogicalBytes, AddedBytes: p.AddedBytes}
	if len(p.Databases) > 0 {
		info.Facts = p.Databases[0].Facts
	}
	return info
}

// SeedRemove removes a seed's name. It refuses while a worktree rests on it.
func SeedRemove(ctx context.Context, host Host, dir, name string) error {
	p, err := seeds(ctx, host, dir, false)
	if err != nil {
		return err
	}
	defer func() { _ = p.store.Close() }()
	pair, err := p.findSeed(ctx, name)
	if err != nil {
		return err
	}
	records, err := p.records("")
	if err != nil {
		return err
	}
	e := &fault.Error{Op: "seed remove", Path: name, Kind: fault.Busy, Err: errors.New("worktrees rest on this seed"),
		Hint: "Capture a checkpoint in each of them first, or tear them down."}
	for _, r := range records {
		w := &Worktree{project: p, rec: r, dir: path.Join(p.store.Dir(), worktreesDir, r.ID)}
		if sel, err := w.readSelection(); err == nil && sel.Pair == pair.ID && !r.TornDown {
			e.Items = append(e.Items, r.Name+" "+r.Path)
		}
	}
	if len(e.Items) > 0 {
		return e
	}
	if err := p.store.RemoveName(ctx, "", "", storage.Seed, name); err != nil {
		return err
	}
	return p.store.DeletePair(ctx, "", pair.ID)
}
