package engine

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"forklift/engine/config"
	"forklift/engine/trust"
	"forklift/storage"
	"forklift/storage/clone"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// dotEnvFiles are the files that programs commonly load variables from.
var dotEnvFiles = []string{".env", ".env.local", ".env.development", ".env.development.local", ".env.test", ".env.test.local"}

// maxDotEnvBytes bounds one of them.
const maxDotEnvBytes = 1 << 20

// Examination is what `doctor` looks at: facts, not judgements. What could not
// be found out is zero, with its error.
type Examination struct {
	Git    string // version
	GitErr error

	Repo    string // top of the worktree; "" outside of one
	RepoErr error
	SetUp   bool  // the worktree has a record of its own
	OpenErr error // why it cannot be opened

	Store    string
	StoreErr error // of a store that is recorded; one that is not made yet is no error
	Made     bool  // the store is there
	Mode     fs.FileMode
	Place    storage.Place
	Clones   bool
	LockErr  error
	Space    vfs.Space
	SpaceErr error

	Worktree    WorktreeInfo
	Server      ServerInfo
	ServerErr   error
	Interrupted string // verb of the worktree's own
	Config      *config.File
	Missing     []string // source paths of Config that are not there
	Unsaved     []string // top-level names that git tracks, that setup would save and Config does not
	ConfigErr   error
	Trusted     bool
	Env         []EnvVar
	DotEnv      map[string][]byte // content by name
	TCP         *TCPInfo          // where the server listens beside its socket
	TCPErr      error             // why it cannot
	Limits      []string          // of forklift.toml, that are reached or near

	Orphans    []string // names of worktrees that are gone
	Others     []string // "NAME: VERB" of other worktrees' interrupted operations
	Unfinished []string // ids of setups and teardowns that were cut off
	RecordErr  error
}

// Examine looks at everything that holds dir: it runs nothing of the
// repository, stops nothing, and leaves everything as it is.
func Examine(ctx context.Context, host Host, dir string) *Examination {
	x := &Examination{}
	x.Git, x.GitErr = host.Git.Version(ctx)
	p := &project{host: host, fs: host.FS}
	var err error
	if p.repo, err = host.Git.Find(ctx, dir); err != nil {
		x.RepoErr = err
	} else if x.Repo = p.repo.Worktree; x.OpenErr == nil {
		x.OpenErr = p.readMachine()
	}
	var l *link
	if x.Repo != "" {
		if l, err = p.readLink(p.repo.GitDir); err != nil {
			x.OpenErr = err
		}
	}
	p.examineStore(ctx, x, l)
	if p.store == nil {
		return x
	}
	defer func() { _ = p.store.Close() }()
	if l != nil && x.OpenErr == nil {
		x.OpenErr = p.examineWorktree(ctx, x, l.Worktree)
	}
	x.RecordErr = p.examineRecords(ctx, x)
	return x
}

// examineStore looks at the store that the link, forklift.toml or the host
// names.
func (p *project) examineStore(ctx context.Context, x *Examination, l *link) {
	recorded := p.machine.Project != ""
	if err := p.placeStore(); err != nil {
		x.StoreErr = err
		return
	}
	x.Store = p.machine.Store
	if l != nil && l.Store != x.Store {
		if _, err := p.fs.Lstat(path.Join(l.Store, "format")); err == nil {
			x.Store = l.Store
		}
	}
	place := x.Store
	for place != "/" {
		if _, err := p.fs.Lstat(place); err == nil {
			break
		}
		place = path.Dir(place)
	}
	x.Place = storage.PlaceOf(p.fs, place)
	x.Space, x.SpaceErr = p.fs.Space(place)
	if x.Store != place && !recorded {
		return // not made yet
	}
	if err := p.openStore(ctx, x.Store); err != nil {
		p.store = nil
		if recorded || fault.KindOf(err) != fault.NotFound {
			x.StoreErr = err
		}
		return
	}
	x.Made, p.machine.Store = true, x.Store
	if info, err := p.fs.Lstat(x.Store + "/."); err == nil {
		x.Mode = info.Mode.Perm()
	}
	x.Clones = clone.Probe(p.fs, path.Join(x.Store, "tmp"))
	x.LockErr = p.tryLock()
}

// tryLock tries whether locks work in the store: on the lock of its setups,
// which exists once there was one.
func (p *project) tryLock() error {
	name := path.Join(p.store.Dir(), setupLock)
	if _, err := p.fs.Lstat(name); err != nil {
		return nil
	}
	lock, err := p.fs.Lock(name, false)
	if errors.Is(err, vfs.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	return lock.Unlock()
}

// examineWorktree looks at the worktree itself.
func (p *project) examineWorktree(ctx context.Context, x *Examination, id string) error {
	rec, err := p.readRecord(id)
	if errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Op: "open worktree", Path: x.Repo, Kind: fault.NotFound,
			Err: errors.New("its record " + id + " is not in the store"), Hint: "Run `forklift setup --new`."}
	}
	if err != nil {
		return err
	}
	if rec.GitDir != p.repo.GitDir && p.linkedAt(rec) {
		return &fault.Error{Op: "open worktree", Path: x.Repo, Kind: fault.Usage,
			Err: errors.New("it is a copy of " + rec.Path + ", and both would use one database"), Hint: "Run `forklift setup --new` here to give it a database of its own."}
	}
	x.SetUp = true
	rec.Path = x.Repo
	x.Worktree = rec.info(p.store.Dir())
	w, err := p.unlinked(ctx, rec)
	if err != nil {
		return err
	}
	if server, err := w.serverInfo(ctx); err != nil {
		x.ServerErr = err
	} else {
		x.Server = *server
	}
	if j, err := w.leftJournal(); err != nil {
		return err
	} else if j != nil {
		x.Interrupted = j.Verb
	}
	x.Limits = w.limitWarnings()
	p.examineConfig(ctx, x, w)
	w.examineTCP(ctx, x)
	return nil
}

// examineConfig reads .forklift.json and the files of variables beside it.
func (p *project) examineConfig(ctx context.Context, x *Examination, w *Worktree) {
	if x.Config, x.ConfigErr = w.Config(ctx); x.ConfigErr != nil {
		return
	}
	x.Missing = w.missingSources(x.Config.Source)
	if tracked, err := p.host.Git.Tracked(ctx, p.repo); err == nil {
		x.Unsaved = config.Unsaved(tracked, x.Config.Source)
	}
	x.Trusted = !x.Config.Runs()
	if !x.Trusted {
		ok, err := trust.Approved(p.fs, p.host.StateDir, w.rec.ID, path.Join(w.rec.Path, config.Name), x.Config.Content)
		x.Trusted = ok && err == nil
	}
	if w.db, x.ConfigErr = p.database(ctx, w.rec.Kind, w.branch, x.Config); x.ConfigErr != nil {
		return
	}
	if env, err := w.db.Env(ctx, x.Config.ConnectionEnv); err == nil {
		x.Env = env
	}
	x.DotEnv = VariableFiles(p.fs, x.Repo)
}

// examineTCP looks where the server listens; of one that does not run, whether
// it could.
func (w *Worktree) examineTCP(ctx context.Context, x *Examination) {
	db, ok := w.db.(Networker)
	if !ok {
		return
	}
	if x.TCP, x.TCPErr = db.TCP(ctx); x.TCP != nil && x.ServerErr == nil && x.Server.State == AtRest.String() {
		x.TCPErr = db.PortFree(ctx)
	}
}

// VariableFiles reads the files in a directory that programs commonly load
// variables from, by name; those that cannot be read are left out.
func VariableFiles(fsys vfs.FS, dir string) map[string][]byte {
	files := make(map[string][]byte)
	for _, name := range dotEnvFiles {
		if data, err := durable.ReadFile(fsys, path.Join(dir, name), maxDotEnvBytes); err == nil {
			files[name] = data
		}
	}
	return files
}

// VariableFiles reads the files at the top of the worktree that programs
// commonly load variables from, by name; those that cannot be read are left out.
func (w *Worktree) VariableFiles(context.Context) map[string][]byte {
	return VariableFiles(w.fs, w.rec.Path)
}

// examineRecords looks at the other worktrees of the project.
func (p *project) examineRecords(ctx context.Context, x *Examination) error {
	entries, err := p.fs.ReadDir(path.Join(p.store.Dir(), worktreesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if _, err := p.fs.Lstat(path.Join(p.recordDir(e.Name), unfinishedFile)); err == nil {
			x.Unfinished = append(x.Unfinished, e.Name)
		}
	}
	if p.machine.Project == "" {
		return nil
	}
	claims, err := p.claims(ctx)
	if err != nil {
		return err
	}
	records, err := p.records(p.machine.Project)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if p.locate(ctx, &rec, claims).state == StateOrphan {
			x.Orphans = append(x.Orphans, rec.Name)
		}
		w := &Worktree{project: p, rec: rec, dir: p.recordDir(rec.ID)}
		if j, err := w.leftJournal(); err != nil {
			return err
		} else if j != nil && rec.ID != x.Worktree.ID {
			x.Others = append(x.Others, rec.Name+": "+j.Verb)
		}
	}
	return nil
}
