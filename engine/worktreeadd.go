package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"forklift/engine/config"
	"forklift/engine/gitdir"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
)

const opWorktreeAdd = "worktree add"

// AddWorktreeGit is what AddWorktree asks of git.
type AddWorktreeGit interface {
	// AddWorktree makes a linked worktree; after an error nothing is left.
	AddWorktree(ctx context.Context, r Repo, opt gitdir.AddOptions) (Repo, error)
	// RemoveWorktree removes a linked worktree with everything in it.
	RemoveWorktree(ctx context.Context, r Repo, path string) error
	// DeleteBranch deletes a git branch; one that is not there is no error.
	DeleteBranch(ctx context.Context, r Repo, name string) error
	// HasBranch and HasCommit report what is in the repository.
	HasBranch(ctx context.Context, r Repo, name string) (bool, error)
	HasCommit(ctx context.Context, r Repo, id string) (bool, error)
	// Version is the version of git.
	Version(ctx context.Context) (string, error)
	// Filters names the programs that git would run on files it checks out.
	Filters(ctx context.Context, r Repo) ([]string, error)
}

// AddWorktreeOptions are the wishes for a new worktree.
type AddWorktreeOptions struct {
	Path   string // absolute; nothing may be there
	Branch string // git branch to make; "" is the path's last name
	From   string // checkpoint to begin with: NAME or WORKTREE:NAME
	Seed   string // seed to begin with; "" is the project's
}

// AddWorktreeResult describes a new worktree.
type AddWorktreeResult struct {
	Worktree  WorktreeInfo `json:"worktree"`
	GitBranch string       `json:"git_branch"` // "" when detached
	Head      string       `json:"head"`
	From      string       `json:"from,omitempty"` // WORKTREE:NAME of the checkpoint it begins with
	Changed   int          `json:"changed"`        // source files of the checkpoint that differ from its commit
	Removed   int          `json:"removed"`        // source files of the commit that the checkpoint does not have
	Seed      string       `json:"seed,omitempty"`
	Config    string       `json:"config,omitempty"` // path of a .forklift.json that git does not have, and that was written
	Warnings  []string     `json:"warnings,omitempty"`
}

// birth is what a setup begins with beside its options: AddWorktree's part.
type birth struct {
	from    *storage.Pair // nil is a seed
	config  []byte        // of a .forklift.json that git does not have; nil guesses
	changed int
	removed int
	// warnings are those of the install.
	warnings []string
}

// AddWorktree makes a git worktree with a database of its own, beside the
// one that holds dir: from a seed, or with both halves of a checkpoint over a
// checkout of the commit that it was made at. It is durable when it returns
// nil. After an error, or when ctx ends, neither the worktree nor its git branch is
// left; killed before its switch, which is the link as in Setup, an ordinary git
// worktree without a database may be.
func AddWorktree(ctx context.Context, host Host, dir string, opt AddWorktreeOptions) (*AddWorktreeResult, error) {
	p, err := findProject(ctx, host, dir)
	if err != nil {
		return nil, err
	}
	res := &AddWorktreeResult{Seed: opt.Seed}
	b := &birth{}
	if opt.From != "" {
		if b.from, err = p.birthPair(ctx, opt, res); err != nil {
			return nil, err
		}
	}
	add, made, err := p.planAdd(ctx, opt, b.from, res)
	if err != nil {
		return nil, err
	}
	if b.config, err = p.ownConfig(); err != nil {
		return nil, err
	}
	repo, err := host.Git.AddWorktree(ctx, p.repo, add)
	if err != nil {
		return nil, err
	}
	set, err := setup(ctx, host, repo.Worktree, SetupOptions{Seed: opt.Seed, Yes: true}, b)
	if err == nil {
		res.Head, res.GitBranch, err = host.Git.Head(ctx, repo)
	}
	if err != nil {
		return nil, p.takeBackAdd(ctx, repo, made, err)
	}
	res.Worktree, res.Seed, res.Changed, res.Removed = set.Worktree, set.Seed, b.changed, b.removed
	res.Warnings = append(res.Warnings, b.warnings...)
	if set.ConfigMade {
		res.Config = set.ConfigPath
	}
	return res, nil
}

// birthPair finds the checkpoint that a worktree is to begin with.
func (p *project) birthPair(ctx context.Context, opt AddWorktreeOptions, res *AddWorktreeResult) (*storage.Pair, error) {
	if opt.Seed != "" {
		return nil, &fault.Error{Op: opWorktreeAdd, Kind: fault.Usage, Err: errors.New("--from and --seed both say what the database begins with"), Hint: "Give one of them."}
	}
	if p.machine.Project == "" {
		return nil, &fault.Error{Op: opWorktreeAdd, Path: p.repo.Worktree, Kind: fault.NotFound, Err: errNotSetUp, Hint: "Without --from a new worktree gets an empty database."}
	}
	if err := p.openStore(ctx, p.machine.Store); err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	// A worktree without an identity has no checkpoints of its own.
	w := &Worktree{project: p, rec: worktreeRecord{Project: p.machine.Project}}
	if l, err := p.readLink(p.repo.GitDir); err == nil && l != nil {
		w.rec.ID = l.Worktree
	}
	pair, err := w.resolve(ctx, opt.From)
	if err != nil {
		return nil, err
	}
	if pair.Source.Manifest.IsZero() {
		return nil, fmt.Errorf("checkpoint %s holds no source files", pair.Name)
	}
	if isKept(pair) {
		return nil, keptElsewhere(pair)
	}
	names, err := w.worktreeNames()
	res.From = names[pair.Worktree] + ":" + pair.Name
	return pair, err
}

// planAdd settles what git is asked for, and which branch that makes.
func (p *project) planAdd(ctx context.Context, opt AddWorktreeOptions, from *storage.Pair, res *AddWorktreeResult) (add gitdir.AddOptions, made string, err error) {
	git := p.host.Git
	add = gitdir.AddOptions{Path: opt.Path, Branch: opt.Branch}
	if _, err := p.fs.Lstat(opt.Path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.New("it exists already")
		}
		return add, "", &fault.Error{Op: opWorktreeAdd, Path: opt.Path, Kind: fault.Usage, Err: err, Hint: "Name a path where nothing is."}
	}
	if from != nil {
		if from.Head != "" {
			has, err := git.HasCommit(ctx, p.repo, from.Head)
			if err != nil {
				return add, "", err
			}
			if has {
				add.Commit = from.Head
			} else {
				res.Warnings = append(res.Warnings, "the commit "+from.Head+", which the checkpoint was made at, is not in the repository any more: the worktree is at HEAD, with the checkpoint's files")
			}
		}
		if add.Branch == "" {
			add.Branch = path.Base(opt.Path) // git would detach
		}
	}
	made = add.Branch
	if made == "" {
		made = path.Base(opt.Path)
	}
	has, err := git.HasBranch(ctx, p.repo, made)
	if err != nil {
		return add, "", err
	}
	if has && add.Branch != "" {
		return add, "", &fault.Error{Op: opWorktreeAdd, Path: add.Branch, Kind: fault.Usage, Err: fmt.Errorf("there is a git branch %s already", add.Branch),
			Hint: "Name a new one with -b."}
	}
	if has {
		made = ""
	}
	filters, err := git.Filters(ctx, p.repo)
	for _, name := range filters {
		res.Warnings = append(res.Warnings, "the filter "+name+" of git's configuration was not run: run `git checkout .` in the worktree if its files need it")
	}
	return add, made, err
}

// ownConfig is the .forklift.json of the worktree that was asked in, for a new
// one whose commit has none; nil when there is none.
func (p *project) ownConfig() ([]byte, error) {
	cfg, err := config.Load(p.fs, path.Join(p.repo.Worktree, config.Name))
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return cfg.Content, nil
}

// takeBackAdd removes what was made, however far it came.
func (p *project) takeBackAdd(ctx context.Context, repo Repo, branch string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), switchTime)
	defer cancel()
	if l, err := p.readLink(repo.GitDir); err != nil || l != nil {
		// Set up whole: only what followed has failed.
		w, err := Open(ctx, p.host, repo.Worktree)
		if err == nil {
			_, err = w.Teardown(ctx, TeardownOptions{Yes: true})
			_ = w.Close()
		}
		if err != nil {
			return errors.Join(cause, err)
		}
	}
	if err := p.host.Git.RemoveWorktree(ctx, p.repo, repo.Worktree); err != nil {
		return errors.Join(cause, err)
	}
	if branch != "" {
		return errors.Join(cause, p.host.Git.DeleteBranch(ctx, p.repo, branch))
	}
	return cause
}

// installBirth puts the source files of the checkpoint that the worktree
// begins with over git's checkout. Nobody knows the worktree yet: after an
// error it is removed.
func (s *settingUp) installBirth(ctx context.Context, w *Worktree, cfg *config.File, operation string) error {
	unlock, err := w.store.LockShared(ctx, serverLockWait)
	if err != nil {
		return err
	}
	defer unlock()
	saved, err := w.checkedOut(ctx, cfg, s.birth.from.Source)
	if err != nil {
		return err
	}
	install, err := worktree.Stage(ctx, w.stageOptions(operation, nil, *saved, s.birth.from.Source))
	if err != nil {
		return err
	}
	found, err := install.Run(ctx)
	if err == nil {
		err = install.Verify(ctx)
	}
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%s was changed while the worktree was made", worktree.QuotePath(found[0].Path))
	}
	if err != nil {
		return err
	}
	s.birth.changed, s.birth.removed, _ = install.Counts()
	s.birth.warnings = install.Warnings()
	return install.Remove(ctx)
}

// checkedOut stores what git has checked out, as far as target touches it.
func (w *Worktree) checkedOut(ctx context.Context, cfg *config.File, target storage.SourceState) (*storage.SourceState, error) {
	sv, err := w.newSaver(ctx, cfg.Selection(), SlotA)
	if err != nil {
		return nil, err
	}
	defer sv.close()
	if err := sv.scanSource(ctx); err != nil {
		return nil, err
	}
	if err := sv.commit(ctx); err != nil {
		return nil, err
	}
	if sv.extra, err = worktree.Covered(ctx, w.store, sv.source.Manifest, target); err != nil {
		return nil, err
	}
	if len(sv.extra) > 0 {
		writer, err := w.store.NewWriter(ctx)
		if err != nil {
			return nil, err
		}
		sv.writer.Abort() // it was committed: this only releases it
		sv.writer = writer
		if err := sv.scanSource(ctx); err != nil {
			return nil, err
		}
		if err := sv.commit(ctx); err != nil {
			return nil, err
		}
	}
	state := sv.sourceState()
	return &state, nil
}

// birthConfig is the text of the .forklift.json to make: that of the worktree
// that was asked in, else nil.
func (s *settingUp) birthConfig() []byte {
	if s.birth == nil {
		return nil
	}
	return s.birth.config
}
