package engine

import (
	"context"
	"errors"
	"fmt"

	"forklift/engine/plan"
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

// SeedCreate makes a starting database: an empty one into which SQL files and
// a dump were loaded, or a copy of a running server. It is durable, under its
// name, when the error is nil; otherwise nothing is left of it.
func SeedCreate(ctx context.Context, host Host, dir string, opt SeedOptions) (*SeedInfo, error) {
	if err := checkSeedOptions(host, opt); err != nil {
		return nil, err
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
	kind, cfg, err := p.kindHere()
	if err == nil && opt.Kind != "" && opt.Kind != kind {
		kind = opt.Kind
		cfg, err = p.configFor(kind)
	}
	if err != nil {
		return nil, err
	}
	s, err := p.newScratch(ctx, kind, cfg)
	if err != nil {
		return nil, err
	}
	pair, copied, err := s.makeSeed(ctx, opt)
	if err := errors.Join(err, s.remove(ctx)); err != nil {
		return nil, err
	}
	info := seedInfo(pair)
	info.Copied = copied
	return &info, nil
}

// checkSeedOptions refuses wishes that cannot be met, before anything is made.
func checkSeedOptions(host Host, opt SeedOptions) error {
	if err := storage.ValidName(opt.Name); err != nil {
		return err
	}
	if opt.Source.URL != "" && (len(opt.SQL) > 0 || opt.Dump != "" || opt.Database != "") {
		return &fault.Error{Op: "seed create", Path: opt.Name, Kind: fault.Usage, Err: errors.New("a seed is made from a URL or from files, not from both"),
			Hint: "Make the seed from the URL, then change it with `forklift seed refresh`."}
	}
	for _, f := range opt.SQL {
		if info, err := host.FS.Lstat(f); err != nil {
			return &fault.Error{Op: "seed create", Path: f, Kind: fault.NotFound, Err: err, Hint: "Name plain SQL files that can be read."}
		} else if info.IsDir() {
			return &fault.Error{Op: "seed create", Path: f, Kind: fault.Usage, Err: errors.New("is a directory"), Hint: "Name plain SQL files."}
		}
	}
	if opt.Dump != "" {
		if _, err := host.FS.Lstat(opt.Dump); err != nil {
			return &fault.Error{Op: "seed create", Path: opt.Dump, Kind: fault.NotFound, Err: err, Hint: "Name a dump that can be read."}
		}
	}
	return nil
}

// makeSeed fills the scratch branch and captures the result.
func (s *scratch) makeSeed(ctx context.Context, opt SeedOptions) (*storage.Pair, *Copied, error) {
	var copied *Copied
	var err error
	if opt.Source.URL != "" {
		copied, err = s.copyServer(ctx, opt.Source)
	} else {
		err = s.loadFiles(ctx, opt)
	}
	if err != nil {
		return nil, nil, err
	}
	pair, err := s.publish(ctx, storage.Seed, opt.Name)
	return pair, copied, err
}

// copyServer fills the scratch branch from a running server.
func (s *scratch) copyServer(ctx context.Context, src SourceServer) (*Copied, error) {
	db, ok := s.db.(Copier)
	if !ok {
		return nil, &fault.Error{Op: "seed create", Path: s.kind, Kind: fault.Unsupported, Err: fmt.Errorf("databases of kind %s cannot be copied from a server", s.kind)}
	}
	copied, err := db.CopyServer(ctx, SlotA, src)
	if err != nil || copied.Method != "" {
		return copied, err
	}
	refused := copied.Refused
	if err := s.startEmpty(ctx); err != nil {
		return nil, err
	}
	if copied, err = db.DumpServer(ctx, src); err != nil {
		if refused != "" {
			err = &fault.Error{Op: "seed create", Kind: fault.KindOf(err), Hint: seedRemedy,
				Err: fmt.Errorf("no physical copy (%s), and no dump: %w", refused, err), Items: fault.ItemsOf(err)}
		}
		return nil, err
	}
	copied.Refused = refused
	return copied, s.db.Stop(ctx)
}

// seedRemedy says what makes one of the two ways possible.
const seedRemedy = "Let the role replicate (ALTER ROLE ... REPLICATION, and a line for `replication` in the server's pg_hba.conf), " +
	"or install PostgreSQL's client programs."

// startEmpty fills the scratch branch from the template and starts it.
func (s *scratch) startEmpty(ctx context.Context) error {
	if err := s.fillEmpty(ctx); err != nil {
		return err
	}
	return s.db.Start(ctx, SlotA)
}

// fillEmpty fills the scratch branch from the template.
func (s *scratch) fillEmpty(ctx context.Context) error {
	empty, err := s.p.template(ctx, s.kind, s.cfg)
	if err != nil {
		return err
	}
	return s.fillFrom(ctx, empty)
}

// fill makes the scratch branch hold a pair's database.
func (s *scratch) fill(ctx context.Context, pair *storage.Pair) error {
	for _, t := range pair.Databases[0].Trees {
		place := s.db.Place(SlotA, t.Name)
		if err := durable.MkdirAll(s.p.fs, place, 0o700); err != nil {
			return err
		}
		if _, err := s.p.store.Patch(ctx, s.p.fs, place, t.Manifest, storage.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// loadFiles fills the scratch branch from files.
func (s *scratch) loadFiles(ctx context.Context, opt SeedOptions) error {
	if err := s.fillEmpty(ctx); err != nil {
		return err
	}
	if len(opt.SQL) == 0 && opt.Database == "" && opt.Dump == "" {
		return nil
	}
	if err := s.db.Start(ctx, SlotA); err != nil {
		return err
	}
	progress.Report(ctx, progress.Event{Phase: "load"})
	load := func() error { return s.db.Load(ctx, opt.SQL, opt.Database) }
	if opt.Dump != "" {
		db, ok := s.db.(Copier)
		if !ok {
			return &fault.Error{Op: "seed create", Path: s.kind, Kind: fault.Unsupported, Err: fmt.Errorf("databases of kind %s cannot load dumps", s.kind)}
		}
		load = func() error { return db.LoadDump(ctx, opt.SQL, opt.Dump, opt.Database) }
	}
	if err := load(); err != nil {
		return err
	}
	return s.db.Stop(ctx)
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

const verbSeedRemove = "seed remove"

// SeedRemove removes a seed, durably, or without Yes tells what it would
// remove. It refuses while a worktree rests on the seed, and when the seed is
// not the one of the plan that was shown.
func SeedRemove(ctx context.Context, host Host, dir string, opt SeedRemoveOptions) (*SeedRemoveResult, error) {
	p, err := seeds(ctx, host, dir, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	unlock, err := p.lockSetup(ctx, verbSeedRemove) // a setup may be about to rest on it
	if err != nil {
		return nil, err
	}
	defer unlock()
	pair, err := p.findSeed(ctx, opt.Name)
	if err != nil {
		return nil, err
	}
	resting, err := p.restingOn(pair.ID)
	if err != nil {
		return nil, err
	}
	if len(resting) > 0 {
		return nil, &fault.Error{Op: verbSeedRemove, Path: opt.Name, Kind: fault.Busy, Err: errors.New("worktrees rest on this seed"), Items: resting,
			Hint: "Capture a checkpoint in each of them first, or tear them down."}
	}
	users, err := p.seedUsers()
	if err != nil {
		return nil, err
	}
	res := &SeedRemoveResult{Seed: seedInfo(pair), Plan: plan.ID([]string{verbSeedRemove, opt.Name, string(pair.ID)})}
	res.Seed.UsedBy = users[opt.Name]
	if err := plan.Check(verbSeedRemove, opt.Plan, res.Plan); err != nil || !opt.Yes {
		return res, err
	}
	if err := p.store.RemoveName(ctx, "", "", storage.Seed, opt.Name); err != nil {
		return nil, err
	}
	if err := p.store.DeletePair(ctx, "", pair.ID); err != nil {
		return nil, err
	}
	res.Done = true
	return res, nil
}
