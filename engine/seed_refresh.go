package engine

import (
	"context"
	"errors"
	"os"
	"path"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/fault"
)

// Refresh is what a command is given that changes a copy of a seed.
type Refresh struct {
	Vars []EnvVar // that lead to the copy
	Dir  string   // where the command runs: the top of the worktree, else the caller's directory
	// File must be inherited by the command: while it is open nobody removes
	// the copy.
	File *os.File
}

// SeedRefresh runs work on a copy of a seed whose server runs. If work
// returns nil, the copy's database is the seed from then on, for worktrees that
// are set up later; its switch is the seed's name. After any error, and after a
// kill, the seed is what it was. Worktrees that exist keep what they have.
func SeedRefresh(ctx context.Context, host Host, dir, name string, work func(context.Context, Refresh) error) (*SeedInfo, error) {
	p, err := seeds(ctx, host, dir, false)
	if fault.KindOf(err) == fault.NotFound {
		return nil, unknown("seed", name, nil)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	old, err := p.findSeed(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := p.sweepScratch(ctx); err != nil {
		return nil, err
	}
	cfg, err := p.configFor(old.Databases[0].Kind)
	if err != nil {
		return nil, err
	}
	s, err := p.newScratch(ctx, old.Databases[0].Kind, cfg)
	if err != nil {
		return nil, err
	}
	pair, err := s.refresh(ctx, dir, old, work)
	if err := errors.Join(err, s.remove(ctx)); err != nil {
		return nil, err
	}
	info := seedInfo(pair)
	return &info, nil
}

// refresh fills the scratch branch with the seed, has it changed, and makes
// the result the seed.
func (s *scratch) refresh(ctx context.Context, dir string, old *storage.Pair, work func(context.Context, Refresh) error) (*storage.Pair, error) {
	if err := s.db.CheckFacts(ctx, old.Databases[0].Facts); err != nil {
		return nil, err
	}
	if err := s.fillFrom(ctx, old); err != nil {
		return nil, err
	}
	if err := s.db.Start(ctx, SlotA); err != nil {
		return nil, err
	}
	connectionEnv, top, err := s.p.connectionEnv()
	if err != nil {
		return nil, err
	}
	if top == "" {
		top = dir
	}
	vars, err := s.db.Env(ctx, connectionEnv)
	if err != nil {
		return nil, err
	}
	if err := work(ctx, Refresh{Vars: vars, Dir: top, File: s.lock.File()}); err != nil {
		return nil, err
	}
	if err := s.db.Stop(ctx); err != nil {
		return nil, err
	}
	return s.replace(ctx, old)
}

// fillFrom fills the scratch branch from a pair that is not removed meanwhile.
func (s *scratch) fillFrom(ctx context.Context, pair *storage.Pair) error {
	unlock, err := s.p.store.LockShared(ctx, serverLockWait)
	if err != nil {
		return err
	}
	defer unlock()
	return s.fill(ctx, pair)
}

// connectionEnv is the variable that commands of this repository get the URL
// in, and the top of the worktree; outside of a repository that is
// DATABASE_URL and "".
func (p *project) connectionEnv() (name, top string, err error) {
	if p.repo.Worktree == "" {
		return config.DefaultConnectionEnv, "", nil
	}
	_, cfg, err := p.kindHere()
	if err != nil {
		return "", "", err
	}
	if cfg == nil {
		return config.DefaultConnectionEnv, p.repo.Worktree, nil
	}
	return cfg.ConnectionEnv, p.repo.Worktree, nil
}

// replace makes the scratch database the seed in place of old. Setups are
// kept out meanwhile: one that began with the old seed has it whole. The old
// pair goes, unless a worktree still rests on it; then it goes with the last
// one's next checkpoint, when unneeded data is pruned.
func (s *scratch) replace(ctx context.Context, old *storage.Pair) (*storage.Pair, error) {
	unlock, err := s.p.lockSetup(ctx, "seed refresh")
	if err != nil {
		return nil, err
	}
	defer unlock()
	pair, err := s.save(ctx, storage.Seed, old.Name)
	if err != nil {
		return nil, err
	}
	if err := s.p.store.ReplaceName(ctx, "", "", storage.Seed, old.Name, old.ID, pair.ID); err != nil {
		if fault.KindOf(err) == fault.Busy {
			err = errors.Join(err, s.p.store.DeletePair(ctx, "", pair.ID))
		}
		return nil, err
	}
	users, err := s.p.restingOn(old.ID)
	if err != nil || len(users) > 0 {
		return pair, err
	}
	return pair, s.p.store.DeletePair(ctx, "", old.ID)
}

// restingOn tells the worktrees whose selection is a pair that belongs to no
// project: those that began with a seed and have no checkpoint since.
func (p *project) restingOn(id storage.PairID) ([]string, error) {
	records, err := p.records("")
	if err != nil {
		return nil, err
	}
	var items []string
	for _, r := range records {
		w := &Worktree{project: p, rec: r, dir: path.Join(p.store.Dir(), worktreesDir, r.ID)}
		if sel, err := w.readSelection(); err == nil && sel.Pair == id && !r.TornDown {
			items = append(items, r.Name+" "+r.Path)
		}
	}
	return items, nil
}
