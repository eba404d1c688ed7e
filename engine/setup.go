package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"forklift/engine/config"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

const (
	// setupLock serialises the setups and teardowns of one store.
	setupLock = "setup.lock"
	// setupWait bounds the wait for it: a setup takes a second.
	setupWait = 2 * time.Minute
	// unfinishedFile marks a record directory whose setup or teardown has
	// not ended. See sweep.
	unfinishedFile = "unfinished.json"
)

// unfinished says what was being done to a record directory.
type unfinished struct {
	Verb   string `json:"verb"`    // setup or teardown
	GitDir string `json:"git_dir"` // as worktree.QuotePath writes it
	Branch string `json:"branch"`
}

// settingUp is a setup under way.
type settingUp struct {
	*project
	opt    SetupOptions
	birth  *birth // nil for a worktree that was there before
	made   string // text of the .forklift.json to make; "" when there is one
	fresh  bool   // forklift.toml is to be made
	anew   bool   // forklift.toml is a copy's, and is to be replaced
	model  string // with anew: the worktree that it was copied with
	seed   *storage.Pair
	rec    worktreeRecord
	again  bool // rec is of a worktree that was torn down here
	result SetupResult
}

// Setup gives the worktree that holds dir an identity and a database of its
// own. It is idempotent. When it returns nil everything is durable; killed
// before its last write, the link in the git directory, it has left nothing
// that counts, and the next setup removes it.
func Setup(ctx context.Context, host Host, dir string, opt SetupOptions) (*SetupResult, error) {
	return setup(ctx, host, dir, opt, nil)
}

// setup is Setup for a worktree that was there before, or with b for one that
// AddWorktree has just made.
func setup(ctx context.Context, host Host, dir string, opt SetupOptions, b *birth) (*SetupResult, error) {
	if err := opt.checkNetwork(); err != nil {
		return nil, err
	}
	p, err := findProject(ctx, host, dir)
	if err != nil {
		return nil, err
	}
	s := &settingUp{project: p, opt: opt, birth: b}
	cfg, err := s.configure(ctx)
	if err != nil {
		return nil, err
	}
	if p.machine.Project != "" {
		err = p.openStore(ctx, p.machine.Store)
	} else {
		p.store, err = storage.Create(ctx, p.fs, p.machine.Store)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	unlock, err := p.lockSetup(ctx, verbSetup)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := p.sweep(ctx); err != nil {
		return nil, err
	}
	p.stopOrphans(ctx)
	if err := s.sweepTemps(cfg); err != nil {
		return nil, err
	}
	if done, err := s.already(ctx); err != nil || done {
		return &s.result, err
	}
	if err := s.create(ctx, cfg); err != nil {
		return nil, err
	}
	return &s.result, nil
}

// configure reads .forklift.json, or makes the text of a default one and has
// it reviewed. It changes nothing.
func (s *settingUp) configure(ctx context.Context) (*config.File, error) {
	name := path.Join(s.repo.Worktree, config.Name)
	s.result.ConfigPath = name
	cfg, err := config.Load(s.fs, name)
	if fault.KindOf(err) != fault.NotFound {
		if err == nil && s.opt.Source != nil {
			err = &fault.Error{Op: "setup", Path: name, Kind: fault.Usage, Err: errors.New("the file is there already, so --source has no use"),
				Hint: "Change `source` in the file."}
		}
		if err == nil {
			err = s.checkSources(cfg.Source)
		}
		return cfg, err
	}
	source, text := s.opt.Source, s.birthConfig()
	if source == nil && text == nil {
		if source, err = s.host.Git.Tracked(ctx, s.repo); err != nil {
			return nil, err
		}
		source = config.Guess(source)
	}
	if text == nil {
		var found *config.Detected
		if s.host.Detect != nil {
			if found, err = s.host.Detect(ctx, s.repo.Worktree); err != nil {
				return nil, err
			}
		}
		text = config.Default(source, found)
	}
	if cfg, err = config.Parse(name, text); err != nil {
		return nil, err
	}
	if err := s.checkSources(cfg.Source); err != nil {
		return nil, err
	}
	s.made = string(text)
	s.warnAbsent()
	if !s.opt.Yes && s.opt.Review != nil {
		err = s.opt.Review(ctx, name, s.made)
	}
	return cfg, err
}

// warnAbsent tells of asked for sources that are not there: that is allowed,
// and is a misspelling more often.
func (s *settingUp) warnAbsent() {
	for _, source := range s.opt.Source {
		if _, err := s.fs.Lstat(path.Join(s.repo.Worktree, source)); errors.Is(err, fs.ErrNotExist) {
			s.result.Warnings = append(s.result.Warnings, fmt.Sprintf("there is no %q in this worktree: checkpoints hold nothing of it until there is", source))
		}
	}
}

// sweepTemps removes the unfinished files of setups that were killed while
// they wrote to the user's directories: in git's all that have such a name, in
// the worktree only what begins as the configuration does. setup.lock is
// held, so nobody is writing them.
func (s *settingUp) sweepTemps(cfg *config.File) error {
	text := []byte(s.made)
	if s.made == "" {
		text = cfg.Content
	}
	for _, dir := range []string{s.repo.Worktree, s.repo.GitDir, s.repo.CommonDir} {
		entries, err := s.fs.ReadDir(dir)
		if err != nil {
			return fault.Wrap("setup", dir, err)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name)
			if !durable.IsTemp(e.Name) || !e.Type.IsRegular() {
				continue
			}
			if data, err := durable.ReadFile(s.fs, name, config.MaxBytes); dir == s.repo.Worktree && (err != nil || !bytes.HasPrefix(text, data)) {
				continue
			}
			if err := durable.Remove(s.fs, name); err != nil {
				return fault.Wrap("setup", name, err)
			}
		}
	}
	return nil
}

// already reports whether the worktree is set up; then only a missing
// .forklift.json is made.
func (s *settingUp) already(ctx context.Context) (bool, error) {
	l, err := s.readLink(s.repo.GitDir)
	if err != nil || l == nil || s.opt.New {
		return false, err
	}
	w, err := Open(ctx, s.host, s.repo.Worktree)
	if err != nil {
		return false, err
	}
	defer func() { _ = w.Close() }()
	if w.rec.TornDown {
		return false, nil
	}
	s.result.Worktree, s.result.Seed = w.Info(), w.rec.Seed
	if s.opt.Seed != "" && s.opt.Seed != w.rec.Seed {
		return false, &fault.Error{Op: "setup", Path: s.repo.Worktree, Kind: fault.Usage, Err: errors.New("this worktree has a database already"),
			Hint: "`forklift teardown`, then `forklift setup --seed " + s.opt.Seed + "` starts over."}
	}
	if s.result.TCP, err = w.changeNetwork(ctx, s.opt); err != nil {
		return false, err
	}
	return true, s.writeConfig()
}

// create makes identity and database, in the order of design section 6: the
// record and the slot first, the link last.
func (s *settingUp) create(ctx context.Context, cfg *config.File) error {
	if err := s.choose(ctx, cfg); err != nil {
		return err
	}
	w := &Worktree{project: s.project, rec: s.rec, dir: s.recordDir(s.rec.ID)}
	w.branch = s.branchAt(s.rec.Branch, w.dir)
	w.branch.Worktree = s.repo.Worktree
	if err := durable.MkdirAll(s.fs, path.Join(w.dir, holdersDir), 0o700); err != nil {
		return err
	}
	unlock, err := w.lockOperation(ctx, verbSetup, 0)
	if err != nil {
		return err
	}
	defer unlock()
	mark := unfinished{Verb: verbSetup, GitDir: worktree.QuotePath(s.repo.GitDir), Branch: s.rec.Branch}
	if s.again {
		mark.Verb = verbTeardown // unless it gets its link, it is torn down as before
	}
	if err := record.Write(s.fs, w.file(unfinishedFile), "unfinished", recordFormat, mark); err != nil {
		return err
	}
	if err := s.fill(ctx, w, cfg); err != nil {
		return s.takeBack(ctx, w, err)
	}
	if err := s.publish(w); err != nil {
		return s.takeBack(ctx, w, err)
	}
	s.result.Worktree, s.result.Created = w.Info(), true
	s.tellOfModel(w)
	return w.removeRecord(unfinishedFile)
}

// tellOfModel says of a copy that began empty how to begin with the data of
// what it was copied from: its checkpoints are another project's.
func (s *settingUp) tellOfModel(w *Worktree) {
	if _, ok := w.db.(Copier); !ok || !s.anew || s.rec.Seed != "" {
		return
	}
	at := worktree.QuotePath(s.model)
	s.result.Warnings = append(s.result.Warnings, fmt.Sprintf("this database is empty, the checkpoints stay those of %s. To begin with one of them, restore it there and run `forklift db start` there; "+
		"then here `forklift seed create NAME --url \"$(forklift -C %s db url)\"`, `forklift teardown` and `forklift setup --seed NAME`", at, at))
}

// choose settles the new worktree's names, seed and kind.
func (s *settingUp) choose(ctx context.Context, cfg *config.File) error {
	now := s.host.Clock.Now()
	s.fresh = s.machine.Project == ""
	if err := s.refuseCopy(ctx); err != nil {
		return err
	}
	if s.fresh || s.anew {
		s.machine.Format, s.machine.Project = 1, string(storage.NewPairID(now))
	}
	kind := cfg.Database.Kind
	if kind == "" {
		kind = s.host.DefaultKind
	}
	info, err := s.fs.Lstat(s.repo.GitDir)
	if err != nil {
		return fault.Wrap("setup", s.repo.GitDir, err)
	}
	id, name, err := s.identity(kind)
	if err != nil {
		return err
	}
	s.rec = worktreeRecord{ID: id, Name: name, Project: s.machine.Project,
		Path: s.repo.Worktree, GitDir: s.repo.GitDir, CommonDir: s.repo.CommonDir, GitDev: info.Dev, GitIno: info.Ino,
		Created: now, Kind: kind}
	s.rec.Branch = s.rec.ID
	seed := s.opt.Seed
	if seed == "" {
		seed = s.machine.Seed
	}
	s.rec.Seed, s.result.Seed = seed, seed
	switch {
	case s.birth != nil && s.birth.from != nil && len(s.birth.from.Databases) > 0:
		s.seed, s.rec.Seed, s.result.Seed = s.birth.from, "", ""
	case seed == "":
		s.seed, err = s.template(ctx, kind, cfg)
	default:
		s.seed, err = s.findSeed(ctx, seed)
	}
	return err
}

// refuseCopy tells a repository that was copied (`cp -r`), with the identity
// of the original. With --new it gets one of its own.
func (s *settingUp) refuseCopy(ctx context.Context) error {
	if s.fresh {
		return nil
	}
	records, err := s.records(s.machine.Project)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.CommonDir == s.repo.CommonDir || s.samePlace(rec.CommonDir, s.repo.CommonDir) {
			continue
		}
		other := &project{host: s.host, fs: s.fs, repo: Repo{CommonDir: rec.CommonDir}}
		if s.opt.New && s.carries(&rec) {
			s.anew, s.model = true, rec.Path // the original is away, and may come back
			return nil
		}
		if at := s.locate(ctx, &rec, nil); at.state == StateOrphan || other.readMachine() != nil || other.machine.Project != s.machine.Project {
			continue
		}
		if s.opt.New {
			s.anew, s.model = true, rec.Path
			return nil
		}
		return &fault.Error{Op: "setup", Path: s.repo.Worktree, Kind: fault.Usage,
			Err:  fmt.Errorf("this repository is a copy of %s, and both have one identity", rec.CommonDir),
			Hint: "Run `forklift setup --new` here to give the copy one of its own."}
	}
	return nil
}

// carries reports that the repository has the link of a worktree whose git
// directory it is not.
func (s *settingUp) carries(rec *worktreeRecord) bool {
	l, err := s.readLink(s.repo.CommonDir)
	return err == nil && l != nil && l.Worktree == rec.ID && !s.isGitDirOf(rec, s.repo.CommonDir)
}

// identity gives the new worktree its id and name: those of the worktree that
// was torn down in this place last, so that its checkpoints and its log are
// its own again; with --new, or where none was, new ones.
func (s *settingUp) identity(kind string) (id, name string, err error) {
	records, err := s.records(s.machine.Project)
	if err != nil {
		return "", "", err
	}
	for _, r := range records {
		if r.TornDown && !s.opt.New && r.Kind == kind && r.Path == s.repo.Worktree && r.GitDir == s.repo.GitDir && r.ID > id {
			id, name, s.again = r.ID, r.Name, true
		}
	}
	if s.again {
		return id, name, nil
	}
	return string(storage.NewPairID(s.host.Clock.Now())), s.freeName(path.Base(s.repo.Worktree), records), nil
}

// freeName makes a worktree's name unique in the project.
func (s *settingUp) freeName(base string, records []worktreeRecord) string {
	if base = plainName(base); base == "" {
		base = "worktree"
	}
	taken := make(map[string]bool)
	for _, r := range records {
		taken[r.Name] = true
	}
	name := base
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	return name
}

// fill makes the branch: its first slot holds the seed's database, flushed,
// and current.json says so.
func (s *settingUp) fill(ctx context.Context, w *Worktree, cfg *config.File) error {
	if err := durable.MkdirAll(s.fs, w.branch.RunDir(), 0o700); err != nil {
		return err
	}
	var err error
	if w.db, err = s.database(ctx, s.rec.Kind, w.branch, cfg); err != nil {
		return err
	}
	if s.result.TCP, err = w.network(ctx, s.opt); err != nil {
		return err
	}
	data, err := w.checkDatabase(ctx, s.seed)
	if err != nil {
		return err
	}
	if err := w.checkSpace(verbSetup, SlotA, data); err != nil {
		return err
	}
	if _, err := w.fillSlot(ctx, SlotA, data.Trees, auditShare); err != nil {
		return err
	}
	id := string(storage.NewPairID(s.host.Clock.Now()))
	row := logRow{Operation: id, Verb: verbSetup, Outcome: outcomeDone, Actor: s.host.Actor, After: s.seed.ID, AfterKind: s.seed.Kind, Name: s.rec.Seed}
	if err := w.appendLog(row); err != nil {
		return err
	}
	if s.birth != nil && s.birth.from != nil {
		if err := s.installBirth(ctx, w, cfg, id); err != nil {
			return err
		}
	}
	return w.writeSelection(selection{Project: s.seed.Project, Pair: s.seed.ID, Kind: s.seed.Kind, Slot: SlotA, Operation: id, At: s.host.Clock.Now()})
}

// publish writes the record, the two configuration files and, last, the link.
func (s *settingUp) publish(w *Worktree) error {
	if err := s.writeRecord(s.rec); err != nil {
		return err
	}
	if s.fresh {
		name := path.Join(s.repo.CommonDir, config.MachineName)
		if err := durable.CreateFile(s.fs, name, s.machine.Encode(), 0o600); err != nil {
			return fault.Wrap("create", name, err)
		}
	}
	if s.anew {
		name := path.Join(s.repo.CommonDir, config.MachineName)
		if err := durable.WriteFile(s.fs, name, s.machine.Encode(), 0o600); err != nil {
			return fault.Wrap("replace", name, err)
		}
	}
	if err := s.writeConfig(); err != nil {
		return err
	}
	return record.Write(s.fs, path.Join(s.repo.GitDir, linkFile), "link", recordFormat, link{Worktree: s.rec.ID, Store: s.store.Dir()})
}

// writeConfig makes .forklift.json unless it is there.
func (s *settingUp) writeConfig() error {
	if s.made == "" {
		return nil
	}
	if err := durable.CreateFile(s.fs, s.result.ConfigPath, []byte(s.made), 0o644); err != nil {
		return fault.Wrap("create", s.result.ConfigPath, err)
	}
	s.result.ConfigMade, s.result.Config = true, s.made
	return nil
}

// takeBack removes what a failed setup has made. The files of the user's
// that it created (.forklift.json, forklift.toml) are whole and stay.
func (s *settingUp) takeBack(ctx context.Context, w *Worktree, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if l, err := s.readLink(s.repo.GitDir); err == nil && l != nil && l.Worktree == s.rec.ID {
		if err := durable.Remove(s.fs, path.Join(s.repo.GitDir, linkFile)); err != nil {
			return errors.Join(cause, err)
		}
	}
	if s.again {
		return errors.Join(cause, w.clearRecords(ctx))
	}
	return errors.Join(cause, s.removeBranch(ctx, w.rec.Kind, w.branch), durable.RemoveAll(s.fs, w.dir))
}
