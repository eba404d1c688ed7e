// Package standin is an engine for tests of the verbs and of the command
// line: it remembers what it was asked and answers with fixed results, or
// with the error that a test gives it. It starts no server and touches no
// file but the one that a managed command inherits.
package standin

import (
	"context"
	"fmt"
	"os"
	"sync"

	"forklift/commands"
	"forklift/engine"
	"forklift/storage/progress"
)

// Engine answers for package engine, for one worktree and for PostgreSQL on
// the machine. The zero value is ready.
type Engine struct {
	Err      error             // every call that can fail fails with it
	Fail     map[string]error  // a call by name fails with its error
	Distrust bool              // the repository's file is not approved
	Damaged  bool              // a check finds something
	Vars     []engine.EnvVar   // instead of the usual ones
	Settings commands.Settings // of .forklift.json; the zero value has the usual ones
	Path     string            // of the worktree; "" is one that is not there
	Status   *engine.StatusResult
	Moved    *engine.Move

	mu    sync.Mutex
	calls []string

	pauses map[string]*pause
}

// Calls are the calls that changed something or were given options, in order.
func (e *Engine) Calls() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.calls...)
}

func (e *Engine) call(name string, options ...any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := name
	for _, o := range options {
		text += fmt.Sprintf(" %+v", o)
	}
	e.calls = append(e.calls, text)
	if err := e.Fail[name]; err != nil {
		return err
	}
	return e.Err
}

// Setup answers that the worktree was set up and a file was made.
func (e *Engine) Setup(ctx context.Context, dir string, opt engine.SetupOptions) (*engine.SetupResult, error) {
	if err := e.call("setup", dir, opt.Seed, opt.Source, opt.Yes, opt.New); err != nil {
		return nil, err
	}
	if opt.Review != nil {
		if err := opt.Review(ctx, ".forklift.json", ConfigText); err != nil {
			return nil, err
		}
	}
	return &engine.SetupResult{
		Worktree: e.info(), Created: true, ConfigPath: ".forklift.json", ConfigMade: true, Config: ConfigText, Seed: opt.Seed,
	}, nil
}

// Open answers with the worktree.
func (e *Engine) Open(_ context.Context, dir string) (commands.Worktree, error) {
	if err := e.call("open", dir); err != nil {
		return nil, err
	}
	return worktree{e}, nil
}

// SeedCreate answers with a seed of that name.
func (e *Engine) SeedCreate(_ context.Context, _ string, opt engine.SeedOptions) (*engine.SeedInfo, error) {
	if err := e.call("seed create", opt); err != nil {
		return nil, err
	}
	seed := Seeds()[0]
	seed.Name = opt.Name
	return &seed, nil
}

// SeedRefresh does the work with the usual variables and answers with the
// seed of that name.
func (e *Engine) SeedRefresh(ctx context.Context, _, name string, work func(context.Context, engine.Refresh) error) (*engine.SeedInfo, error) {
	if err := e.call("seed refresh", name); err != nil {
		return nil, err
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := work(ctx, engine.Refresh{Vars: Vars(), Dir: os.TempDir(), File: file}); err != nil {
		return nil, err
	}
	seed := Seeds()[0]
	seed.Name = name
	return &seed, nil
}

// SeedList answers with Seeds.
func (e *Engine) SeedList(context.Context, string) ([]engine.SeedInfo, error) {
	return Seeds(), e.Err
}

// SeedRemove answers that it would be gone, or is.
func (e *Engine) SeedRemove(_ context.Context, _ string, opt engine.SeedRemoveOptions) (*engine.SeedRemoveResult, error) {
	seed := Seeds()[0]
	seed.Name = opt.Name
	return &engine.SeedRemoveResult{Done: opt.Yes, Plan: "0123456789ab", Seed: seed}, e.call("seed remove", opt.Name, opt.Yes)
}

// Find answers with Installations.
func (e *Engine) Find(context.Context) ([]commands.Installation, error) {
	return Installations(), e.Err
}

// Install answers with the last of Installations.
func (e *Engine) Install(ctx context.Context) (commands.Installation, error) {
	progress.Report(ctx, progress.Event{Phase: "fetch PostgreSQL"})
	return Installations()[1], e.call("postgres install")
}

// worktree is the one worktree.
type worktree struct{ e *Engine }

func (w worktree) Close() error              { return nil }
func (w worktree) Info() engine.WorktreeInfo { return w.e.info() }

func (w worktree) Settings(context.Context) (commands.Settings, error) {
	s := w.e.Settings
	if s.ConnectionEnv == "" {
		s.ConnectionEnv = "DATABASE_URL"
	}
	return s, w.e.Fail["settings"]
}

func (w worktree) Capture(ctx context.Context, opt engine.CaptureOptions) (*engine.CaptureResult, error) {
	if err := w.e.wait(ctx, "capture"); err != nil {
		return nil, err
	}
	r := CaptureResult()
	if opt.Name != "" {
		r.Name = opt.Name
	}
	return r, w.e.call("capture", opt)
}

func (w worktree) Restore(_ context.Context, opt engine.RestoreOptions) (*engine.RestoreResult, error) {
	return RestoreResult("restore"), w.e.call("restore", opt)
}

func (w worktree) Undo(_ context.Context, opt engine.WaitOptions) (*engine.RestoreResult, error) {
	return RestoreResult("undo"), w.e.call("undo", opt)
}

func (w worktree) Redo(_ context.Context, opt engine.WaitOptions) (*engine.RestoreResult, error) {
	return RestoreResult("redo"), w.e.call("redo", opt)
}

func (w worktree) Recover(_ context.Context, opt engine.RecoverOptions) (*engine.RecoverResult, error) {
	direction := map[bool]string{true: "back", false: "forward"}[opt.Back]
	return &engine.RecoverResult{Verb: "restore", Direction: direction, Name: "before-migration", Running: true}, w.e.call("recover", opt)
}

func (w worktree) Teardown(_ context.Context, opt engine.TeardownOptions) (*engine.TeardownResult, error) {
	return &engine.TeardownResult{
		Done: opt.Yes, Plan: "0123456789ab", Worktree: w.Info(), Removes: []string{"the database branch 01jb", "the worktree's records"}, Checkpoints: 2,
	}, w.e.call("teardown", opt.Yes)
}

func (w worktree) Status(context.Context) (*engine.StatusResult, error) {
	w.e.mu.Lock()
	defer w.e.mu.Unlock()
	if w.e.Status != nil {
		return w.e.Status, w.e.Err
	}
	return StatusResult(w.Info()), w.e.Fail["status"]
}

func (w worktree) StatusBrief(ctx context.Context) (*engine.StatusResult, error) {
	s, err := w.Status(ctx)
	if s != nil && w.e.Status == nil {
		s.Files, s.Tables, s.FileCount, s.RowCount, s.RowsKnown = nil, nil, 0, 0, false
	}
	return s, err
}

func (w worktree) Log(_ context.Context, limit int) ([]engine.Operation, error) {
	return Operations(), w.e.call("log", limit)
}

func (w worktree) List(_ context.Context, opt engine.ListOptions) ([]engine.Checkpoint, error) {
	return Checkpoints(), w.e.call("list", opt)
}

func (w worktree) Show(_ context.Context, ref string) (*engine.CheckpointDetail, error) {
	return Detail(), w.e.call("show", ref)
}

func (w worktree) Names(context.Context) ([]string, error) {
	return []string{"before-migration", "after", "other:after"}, nil
}

func (w worktree) StartDatabase(_ context.Context, pin bool) (*engine.ServerInfo, error) {
	info := Server()
	info.Pinned = pin
	return &info, w.e.call("start", pin)
}

func (w worktree) StopUnused(_ context.Context, look bool) (bool, error) {
	return true, w.e.call("stop unused", look)
}

func (w worktree) PrepareIdle(context.Context) (bool, error) {
	return true, w.e.call("prepare idle")
}

func (w worktree) StopDatabase(_ context.Context, opt engine.WaitOptions) error {
	return w.e.call("stop", opt)
}

func (w worktree) Env(context.Context) ([]engine.EnvVar, error) {
	if w.e.Vars != nil {
		return w.e.Vars, nil
	}
	return Vars(), w.e.Fail["env"]
}

func (w worktree) Enter(ctx context.Context, argv []string) (commands.Hold, error) {
	if err := w.e.call("enter", argv); err != nil {
		return nil, err
	}
	progress.Report(ctx, progress.Event{Phase: "start database"})
	file, err := os.Open(os.DevNull)
	return &hold{w.e, file}, err
}

func (w worktree) Trusted(context.Context) (bool, error) { return !w.e.Distrust, nil }

func (w worktree) TrustText(context.Context) (string, error) {
	return "commands\n  verify  python3 src/app.py\n", nil
}

func (w worktree) Trust(context.Context, string) error { return w.e.call("trust") }

type hold struct {
	e    *Engine
	file *os.File
}

func (h *hold) File() *os.File { return h.file }

func (h *hold) Started(int) error { return h.e.call("started") }

func (h *hold) Leave(context.Context) error {
	h.file.Close()
	return h.e.call("leave")
}
