package commands

import (
	"context"
	"os"

	"forklift/engine"
)

// Engine is what the verbs ask of package engine; [NewEngine] is the real
// one.
type Engine interface {
	Setup(ctx context.Context, dir string, opt engine.SetupOptions) (*engine.SetupResult, error)
	Open(ctx context.Context, dir string) (Worktree, error)
	SeedCreate(ctx context.Context, dir string, opt engine.SeedOptions) (*engine.SeedInfo, error)
	SeedList(ctx context.Context, dir string) ([]engine.SeedInfo, error)
	SeedRemove(ctx context.Context, dir string, opt engine.SeedRemoveOptions) (*engine.SeedRemoveResult, error)
	Housekeeping
	SeedRefresher
}

// Worktree is an opened worktree; see engine.Worktree for what each method
// promises.
type Worktree interface {
	Keeper
	ServerKeeper
	Close() error
	Info() engine.WorktreeInfo
	Observed
	Settings(ctx context.Context) (Settings, error)

	Capture(ctx context.Context, opt engine.CaptureOptions) (*engine.CaptureResult, error)
	Restore(ctx context.Context, opt engine.RestoreOptions) (*engine.RestoreResult, error)
	Undo(ctx context.Context, opt engine.WaitOptions) (*engine.RestoreResult, error)
	Redo(ctx context.Context, opt engine.WaitOptions) (*engine.RestoreResult, error)
	Recover(ctx context.Context, opt engine.RecoverOptions) (*engine.RecoverResult, error)
	Teardown(ctx context.Context, opt engine.TeardownOptions) (*engine.TeardownResult, error)

	Status(ctx context.Context) (*engine.StatusResult, error)
	StatusBrief(ctx context.Context) (*engine.StatusResult, error)
	Log(ctx context.Context, limit int) ([]engine.Operation, error)
	List(ctx context.Context, opt engine.ListOptions) ([]engine.Checkpoint, error)
	Show(ctx context.Context, ref string) (*engine.CheckpointDetail, error)
	Names(ctx context.Context) ([]string, error)
	Contents

	StartDatabase(ctx context.Context, pin bool) (*engine.ServerInfo, error)
	StopDatabase(ctx context.Context, opt engine.WaitOptions) error
	Env(ctx context.Context) ([]engine.EnvVar, error)
	Enter(ctx context.Context, argv []string) (Hold, error)

	Trusted(ctx context.Context) (bool, error)
	TrustText(ctx context.Context) (string, error)
	Trust(ctx context.Context, shown string) error
}

// Hold is the registration of a managed command.
type Hold interface {
	// File must be inherited by the command.
	File() *os.File
	// Started records the command's process.
	Started(pid int) error
	// Leave ends the registration.
	Leave(ctx context.Context) error
}

// Settings is what the verbs read of .forklift.json.
type Settings struct {
	ConnectionEnv string              // the variable that gets the URL
	Commands      map[string][]string // argv by name
	Hooks         bool                // there are some
}
