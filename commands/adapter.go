package commands

import (
	"context"

	"forklift/engine"
)

// NewEngine gives package engine with what it needs of this process.
func NewEngine(host engine.Host) Engine { return realEngine{host} }

// realEngine is package engine behind the interface that the verbs use.
type realEngine struct{ host engine.Host }

func (e realEngine) Setup(ctx context.Context, dir string, opt engine.SetupOptions) (*engine.SetupResult, error) {
	return engine.Setup(ctx, e.host, dir, opt)
}

func (e realEngine) Open(ctx context.Context, dir string) (Worktree, error) {
	w, err := engine.Open(ctx, e.host, dir)
	if err != nil {
		return nil, err
	}
	return realWorktree{w}, nil
}

func (e realEngine) SeedCreate(ctx context.Context, dir string, opt engine.SeedOptions) (*engine.SeedInfo, error) {
	return engine.SeedCreate(ctx, e.host, dir, opt)
}

func (e realEngine) SeedList(ctx context.Context, dir string) ([]engine.SeedInfo, error) {
	return engine.SeedList(ctx, e.host, dir)
}

func (e realEngine) SeedRemove(ctx context.Context, dir string, opt engine.SeedRemoveOptions) (*engine.SeedRemoveResult, error) {
	return engine.SeedRemove(ctx, e.host, dir, opt)
}

// realWorktree narrows the two methods whose results are interfaces here.
type realWorktree struct{ *engine.Worktree }

func (w realWorktree) Settings(ctx context.Context) (Settings, error) {
	cfg, err := w.Config(ctx)
	if err != nil {
		return Settings{}, err
	}
	return Settings{ConnectionEnv: cfg.ConnectionEnv, Commands: cfg.Commands,
		Hooks: len(cfg.Hooks.Stop)+len(cfg.Hooks.Start) > 0}, nil
}

func (w realWorktree) Enter(ctx context.Context, argv []string) (Hold, error) {
	return w.Worktree.Enter(ctx, argv)
}
