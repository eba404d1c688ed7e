package commands

import "context"

// ServerKeeper is the part of a worktree that the daemon uses: to stop servers
// that nobody uses, and to prepare restores.
type ServerKeeper interface {
	StopUnused(ctx context.Context, look bool) (unused bool, err error)
	PrepareIdle(ctx context.Context) (done bool, err error)
}

// StopUnused stops the server of the worktree that holds env.Dir if nobody
// uses it, and reports whether that was so; with look it only looks. See
// engine.Worktree.StopUnused.
func StopUnused(ctx context.Context, env Env, look bool) (bool, error) {
	return inWorktree(ctx, env, func(w Worktree) (bool, error) { return w.StopUnused(ctx, look) })
}

// PrepareIdle makes the idle slot of the worktree that holds env.Dir ready for
// a restore, and reports whether there was something to do. See
// engine.Worktree.PrepareIdle.
func PrepareIdle(ctx context.Context, env Env) (bool, error) {
	return inWorktree(ctx, env, func(w Worktree) (bool, error) { return w.PrepareIdle(ctx) })
}
