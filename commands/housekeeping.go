package commands

import (
	"context"

	"forklift/engine"
	"forklift/storage"
)

// Housekeeping is what the verbs ask about the worktrees of a repository as a
// whole: also of those that are gone.
type Housekeeping interface {
	WorktreeList(ctx context.Context, dir string, opt engine.WorktreeListOptions) ([]engine.WorktreeRow, error)
	AddWorktree(ctx context.Context, dir string, opt engine.AddWorktreeOptions) (*engine.AddWorktreeResult, error)
	Adopt(ctx context.Context, dir, ref string) (*engine.AdoptResult, error)
	Examine(ctx context.Context, dir string) *engine.Examination
	PruneWorktrees(ctx context.Context, dir string, opt engine.PruneWorktreesOptions) (*engine.PruneWorktreesResult, error)
	CheckStore(ctx context.Context, dir string, opt storage.CheckOptions) (*engine.CheckResult, error)
	StoreUsage(ctx context.Context, dir string) (*engine.DiskUsage, error)
}

func (e realEngine) CheckStore(ctx context.Context, dir string, opt storage.CheckOptions) (*engine.CheckResult, error) {
	return engine.CheckStore(ctx, e.host, dir, opt)
}

func (e realEngine) StoreUsage(ctx context.Context, dir string) (*engine.DiskUsage, error) {
	return engine.StoreUsage(ctx, e.host, dir)
}

func (e realEngine) WorktreeList(ctx context.Context, dir string, opt engine.WorktreeListOptions) ([]engine.WorktreeRow, error) {
	return engine.WorktreeList(ctx, e.host, dir, opt)
}

func (e realEngine) AddWorktree(ctx context.Context, dir string, opt engine.AddWorktreeOptions) (*engine.AddWorktreeResult, error) {
	return engine.AddWorktree(ctx, e.host, dir, opt)
}

func (e realEngine) Adopt(ctx context.Context, dir, ref string) (*engine.AdoptResult, error) {
	return engine.Adopt(ctx, e.host, dir, ref)
}

func (e realEngine) Examine(ctx context.Context, dir string) *engine.Examination {
	return engine.Examine(ctx, e.host, dir)
}

func (e realEngine) PruneWorktrees(ctx context.Context, dir string, opt engine.PruneWorktreesOptions) (*engine.PruneWorktreesResult, error) {
	return engine.PruneWorktrees(ctx, e.host, dir, opt)
}
