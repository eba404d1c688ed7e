package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"forklift/engine/gitdir"
	"forklift/storage"
	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// world is a machine in memory: a disk, a repository on it, and the servers
// that run. Servers live through a kill of Forklift, but not a power cut.
type world struct {
	t       *testing.T
	fs      *vfs.Mem
	disk    vfs.FS // what Forklift sees of fs; nil is all of it
	clock   *clock.Fake
	servers map[string]*fakeServer // by branch
	broken  bool                   // servers do not start
	mute    bool                   // servers accept no session of ours
	torn    bool                   // a database at rest does not tell how to read it
	busy    int                    // how often a client is seen that has a transaction open
	joined  time.Time              // when that client came
	boots   int
	asked   func(n int) // is called when Unchanged has looked for the n-th time
	asks    int
	hooks   hookFake
}

// fakeServer is a running server: it holds the live lock.
type fakeServer struct {
	slot     Slot
	live     vfs.Lock
	livePath string
}

const (
	testRepo  = "/vm/repo"
	testStore = "/vm/store"
	testState = "/vm/state"
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, fs: vfs.NewMem(), clock: clock.NewFake(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)), servers: map[string]*fakeServer{}}
	for _, dir := range []string{"/vm", testRepo, testRepo + "/.git", testRepo + "/src", testState} {
		must(t, w.fs.Mkdir(dir, 0o755))
	}
	must(t, w.fs.SyncFS("/"))
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) host() Host {
	disk := w.disk
	if disk == nil {
		disk = w.fs
	}
	return Host{FS: disk, Clock: w.clock, Actor: "test", StoreDir: testStore, StateDir: testState, DefaultKind: "fake",
		Git: fakeGit{w.fs}, RunHook: w.runHook, Boot: number("boot-", w.boots), Kinds: map[string]OpenDatabase{"fake": func(_ context.Context, b Branch, _ json.RawMessage) (Database, error) {
			return &fakeDB{world: w, branch: b}, nil
		}}}
}

// afterPowerCut is the world that boots after the power was cut.
func (w *world) afterPowerCut(o vfs.CrashOptions) *world {
	return &world{t: w.t, fs: w.fs.CrashClone(o), clock: w.clock, servers: map[string]*fakeServer{}, boots: w.boots + 1, hooks: w.hooks}
}

// copy is the same world once more, servers and all.
func (w *world) copy() *world {
	w.t.Helper()
	must(w.t, w.fs.SyncFS("/"))
	c := &world{t: w.t, fs: w.fs.CrashClone(vfs.CrashOptions{KeepUnsynced: 1}), clock: w.clock, servers: map[string]*fakeServer{}, boots: w.boots, hooks: w.hooks}
	for branch, s := range w.servers {
		live, err := c.fs.Lock(s.livePath, true)
		must(w.t, err)
		c.servers[branch] = &fakeServer{slot: s.slot, live: live, livePath: s.livePath}
	}
	return c
}

func (w *world) open() *Worktree {
	w.t.Helper()
	wt, err := Open(context.Background(), w.host(), testRepo)
	must(w.t, err)
	return wt
}

func (w *world) write(name, text string) {
	w.t.Helper()
	must(w.t, w.put(path.Join(testRepo, name), text))
}

func (w *world) put(name, text string) error {
	f, err := w.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(text)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return w.fs.SyncDir(path.Dir(name))
}

func (w *world) get(name string) (string, error) {
	f, err := w.fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	return string(data), err
}

// state is everything that a checkpoint holds, as text: the files below src
// and the rows of the selected slot.
func (w *world) state(wt *Worktree) string {
	w.t.Helper()
	slot, err := wt.selectedSlot()
	must(w.t, err)
	rows, err := w.get(path.Join(wt.branch.SlotDir(slot), "rows"))
	must(w.t, err)
	return w.files(path.Join(testRepo, "src")) + "rows: " + rows
}

func (w *world) files(dir string) string {
	w.t.Helper()
	entries, err := w.fs.ReadDir(dir)
	must(w.t, err)
	text := ""
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		info, err := w.fs.Lstat(name)
		must(w.t, err)
		text += name + " " + info.Mode.String()
		if e.Type.IsDir() {
			text += "\n" + w.files(name)
			continue
		}
		content, err := w.get(name)
		must(w.t, err)
		text += " " + content + "\n"
	}
	return text
}

// insert adds a row to the running server's database, durably.
func (w *world) insert(wt *Worktree, row string) {
	w.t.Helper()
	s := w.servers[wt.branch.ID]
	if s == nil {
		w.t.Fatal("insert: the server does not run")
	}
	name := path.Join(wt.branch.SlotDir(s.slot), "rows")
	rows, err := w.get(name)
	must(w.t, err)
	must(w.t, w.put(name, rows+row+";"))
}

// fakeGit is a repository without git: testRepo, and linked worktrees that
// are beside it. One is registered when its git directory is there, and alive
// when its own directory is.
type fakeGit struct{ fs vfs.FS }

// linkedGitDir is the git directory of the linked worktree at dir.
func linkedGitDir(dir string) string { return path.Join(testRepo, ".git/worktrees", path.Base(dir)) }

func (g fakeGit) Find(_ context.Context, dir string) (Repo, error) {
	r := gitdir.Repo{Worktree: testRepo, GitDir: testRepo + "/.git", CommonDir: testRepo + "/.git"}
	if dir != testRepo {
		r.Worktree, r.GitDir = dir, linkedGitDir(dir)
	}
	if _, err := g.fs.Lstat(r.GitDir); err != nil {
		return Repo{}, &fault.Error{Op: "find repository", Path: dir, Kind: fault.NotFound, Err: err}
	}
	return r, nil
}
func (fakeGit) Head(context.Context, Repo) (string, string, error)          { return "c0ffee", "main", nil }
func (fakeGit) Tracked(context.Context, Repo) ([]string, error)             { return []string{"src"}, nil }
func (fakeGit) Ignored(context.Context, Repo, []string) ([]string, error)   { return nil, nil }
func (fakeGit) TrackedIn(context.Context, Repo, []string) ([]string, error) { return nil, nil }
func (fakeGit) ExcludesFile(context.Context, Repo) (string, error)          { return "", nil }
func (fakeGit) SettingsFiles(context.Context, Repo) ([]string, error)       { return nil, nil }
func (fakeGit) Excludes(context.Context, Repo) ([]string, error)            { return nil, nil }

func (g fakeGit) GitDirs(_ context.Context, r Repo) ([]string, error) {
	dirs := []string{r.CommonDir}
	entries, err := g.fs.ReadDir(r.CommonDir + "/worktrees")
	if errors.Is(err, fs.ErrNotExist) {
		return dirs, nil
	}
	for _, e := range entries {
		dirs = append(dirs, r.CommonDir+"/worktrees/"+e.Name)
	}
	return dirs, err
}

func (g fakeGit) Look(_ context.Context, gitDir string) (Place, error) {
	p := Place{GitDir: gitDir}
	if _, err := g.fs.Lstat(gitDir); err != nil {
		return p, nil
	}
	p.Exists, p.Worktree = true, testRepo
	if gitDir != testRepo+"/.git" {
		p.Worktree = "/vm/" + path.Base(gitDir)
	}
	_, err := g.fs.Lstat(p.Worktree)
	p.Alive = err == nil
	return p, nil
}

// AddWorktree makes what link makes, and a file that git has.
func (g fakeGit) AddWorktree(ctx context.Context, _ Repo, opt gitdir.AddOptions) (Repo, error) {
	for _, dir := range []string{linkedGitDir(opt.Path), opt.Path + "/src"} {
		if err := durable.MkdirAll(g.fs, dir, 0o755); err != nil {
			return Repo{}, err
		}
	}
	for name, text := range map[string]string{"src/changed": "committed", "src/removed": "committed", "outside": "committed"} {
		if err := durable.WriteFile(g.fs, path.Join(opt.Path, name), []byte(text), 0o644); err != nil {
			return Repo{}, err
		}
	}
	return g.Find(ctx, opt.Path)
}

func (g fakeGit) RemoveWorktree(_ context.Context, _ Repo, dir string) error {
	return errors.Join(durable.RemoveAll(g.fs, dir), durable.RemoveAll(g.fs, linkedGitDir(dir)))
}
func (fakeGit) Version(context.Context) (string, error)          { return "2.39.5", nil }
func (fakeGit) DeleteBranch(context.Context, Repo, string) error { return nil }
func (fakeGit) HasBranch(_ context.Context, _ Repo, name string) (bool, error) {
	return name == "taken", nil
}
func (fakeGit) HasCommit(_ context.Context, _ Repo, id string) (bool, error) {
	return id == "c0ffee", nil
}
func (fakeGit) Filters(context.Context, Repo) ([]string, error) { return nil, nil }

// link makes a linked worktree, durably.
func (w *world) link(dir string) {
	w.t.Helper()
	must(w.t, durable.MkdirAll(w.fs, linkedGitDir(dir), 0o755))
	must(w.t, durable.MkdirAll(w.fs, dir+"/src", 0o755))
}

// unlink is `git worktree remove`.
func (w *world) unlink(dir string) {
	w.t.Helper()
	must(w.t, durable.RemoveAll(w.fs, dir))
	must(w.t, durable.RemoveAll(w.fs, linkedGitDir(dir)))
}

// fakeDB is a database whose state is the file rows, and whose file state
// says running from its start to its clean stop.
type fakeDB struct {
	world  *world
	branch Branch
}

func (d *fakeDB) Kind() string                                      { return "fake" }
func (d *fakeDB) Template(context.Context) (string, error)          { return "fake-1", nil }
func (d *fakeDB) Load(context.Context, []string, string) error      { return nil }
func (d *fakeDB) Settle(context.Context) error                      { return d.answer() }
func (d *fakeDB) Warnings() []string                                { return nil }
func (d *fakeDB) Remove(context.Context) error                      { return nil }
func (d *fakeDB) CheckFacts(context.Context, json.RawMessage) error { return nil }

func (d *fakeDB) Observe(context.Context) (Observation, error) {
	return Observation{Counters: json.RawMessage(`{}`)}, d.answer()
}

// Clients has one with a transaction open as long as the world is busy.
func (d *fakeDB) Clients(context.Context) ([]Client, error) {
	if d.world.busy == 0 {
		return nil, d.answer()
	}
	d.world.busy--
	return []Client{{PID: 7, Application: "psql", Busy: true, State: "idle in transaction", Since: d.world.joined}}, d.answer()
}

// answer is the error of a server that accepts no session.
func (d *fakeDB) answer() error {
	if d.world.mute {
		return errors.New("too many clients already")
	}
	return nil
}

func (d *fakeDB) Changes(_, _ json.RawMessage) ([]TableChange, error) { return nil, nil }
func (d *fakeDB) TableFiles(_, _ json.RawMessage, changed []ChangedFile) ([]TableFile, error) {
	for _, c := range changed {
		if c.Path == "rows" {
			return []TableFile{{Database: "fake", Table: "rows", Change: TableTouched}}, nil
		}
	}
	return nil, nil
}
func (d *fakeDB) Facts(_ context.Context, s Slot) (json.RawMessage, error) {
	rows, err := d.world.get(d.file(s, "rows"))
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"version": "1", "rows": rows})
}

// Unchanged compares the rows; a server that accepts no session cannot tell.
func (d *fakeDB) Unchanged(ctx context.Context, s Slot, facts json.RawMessage) bool {
	now, err := d.Facts(ctx, s)
	same := err == nil && d.answer() == nil && string(now) == string(facts)
	if d.world.asked != nil {
		d.world.asks++
		d.world.asked(d.world.asks)
	}
	return same
}
func (d *fakeDB) Env(context.Context, string) ([]EnvVar, error) { return nil, nil }

func (d *fakeDB) file(s Slot, name string) string { return path.Join(d.branch.SlotDir(s), name) }

func (d *fakeDB) Init(_ context.Context, s Slot) error {
	if err := d.world.put(d.file(s, "rows"), ""); err != nil {
		return err
	}
	return d.world.put(d.file(s, "state"), "clean")
}

func (d *fakeDB) State(_ context.Context, s Slot) (Status, error) {
	if run := d.world.servers[d.branch.ID]; run != nil {
		return Status{State: Running, Slot: run.slot, PID: 1}, nil
	}
	st, err := d.world.get(d.file(s, "state"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Status{}, err
	}
	if st != "clean" {
		return Status{State: Unclean}, nil
	}
	return Status{State: AtRest}, nil
}

func (d *fakeDB) Start(_ context.Context, s Slot) error {
	if d.world.servers[d.branch.ID] != nil {
		return nil
	}
	if d.world.broken {
		return errors.New("the server does not start")
	}
	rows, err := d.world.get(d.file(s, "rows"))
	if err == nil && strings.Contains(rows, "damaged") {
		err = errors.New("the rows are damaged")
	}
	if err != nil {
		return err
	}
	live, err := d.world.fs.Lock(d.branch.Live, true)
	if err != nil {
		return err
	}
	if err := d.world.put(d.file(s, "state"), "running"); err != nil {
		return errors.Join(err, live.Unlock())
	}
	d.world.servers[d.branch.ID] = &fakeServer{slot: s, live: live, livePath: d.branch.Live}
	return nil
}

func (d *fakeDB) Stop(context.Context) error {
	run := d.world.servers[d.branch.ID]
	if run == nil {
		return nil
	}
	if err := d.world.put(d.file(run.slot, "state"), "clean"); err != nil {
		return err
	}
	delete(d.world.servers, d.branch.ID)
	return run.live.Unlock()
}

func (d *fakeDB) Trees(_ context.Context, s Slot, hot bool) ([]DatabaseTree, error) {
	if d.world.torn && !hot {
		return nil, &fault.Error{Op: "read version", Path: d.file(s, "version"), Err: fs.ErrNotExist}
	}
	rules := storage.Rules{Unit: storage.Pages, Moving: hot}
	rules.Filter = func(name string, _ vfs.Info) storage.Decision {
		if hot && name == "state" {
			return storage.Decision{Action: storage.Skip}
		}
		return storage.Decision{}
	}
	return []DatabaseTree{{Name: "data", Dir: d.branch.SlotDir(s), Rules: rules}}, nil
}

func (d *fakeDB) Place(s Slot, tree string) string {
	if tree != "data" {
		return ""
	}
	return d.branch.SlotDir(s)
}

// number names the n-th of something.
func number(prefix string, n int) string { return prefix + strconv.Itoa(n) }
