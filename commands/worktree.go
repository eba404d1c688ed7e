package commands

import (
	"context"
	"path/filepath"

	"forklift/engine"
	"forklift/storage/fault"
)

// WaitRequest is the part of a request that says what to do about those who
// are in the way.
type WaitRequest struct {
	Wait       Duration `json:"wait,omitempty" flag:"wait" value:"DURATION" help:"wait so long for running commands and open transactions to end; without it they are a refusal"`
	Disconnect bool     `json:"disconnect,omitempty" flag:"disconnect" help:"cut off database clients that have a transaction open"`
}

func (r WaitRequest) options() engine.WaitOptions {
	return engine.WaitOptions{Wait: r.Wait.Std(), Disconnect: r.Disconnect}
}

// UnsavedRequest is the part of a request that says what to do about editors
// that have unsaved changes.
type UnsavedRequest struct {
	IncludeUnsaved string `json:"include_unsaved,omitempty" flag:"include-unsaved" value:"disk" enum:"disk" help:"go on with what is on disk although an editor has unsaved changes; without it they are a refusal"`
}

// with completes the options.
func (r UnsavedRequest) with(opt engine.WaitOptions) engine.WaitOptions {
	opt.UnsavedDisk = r.IncludeUnsaved == "disk"
	return opt
}

// inWorktreeOr is inWorktree for what can be asked of a store, too: where no
// worktree was set up, outside is asked. If there is no store either, the error
// is that of the worktree.
func inWorktreeOr[R any](ctx context.Context, env Env, outside func() (R, error), f func(Worktree) (R, error)) (R, error) {
	w, err := env.Engine.Open(ctx, env.Dir)
	if err == nil {
		err = w.Close()
	}
	if fault.KindOf(err) != fault.NotFound {
		return inWorktree(ctx, env, f)
	}
	result, outsideErr := outside()
	if fault.KindOf(outsideErr) == fault.NotFound {
		return result, err
	}
	return result, outsideErr
}

// inWorktree runs f on the worktree that holds env.Dir.
func inWorktree[R any](ctx context.Context, env Env, f func(Worktree) (R, error)) (result R, err error) {
	w, err := env.Engine.Open(ctx, env.Dir)
	if err != nil {
		return result, err
	}
	defer func() {
		if closeErr := w.Close(); err == nil {
			err = closeErr
		}
	}()
	return f(w)
}

// abs makes the paths of a request absolute: they start at env.Dir.
func abs(env Env, paths []string) []string {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(env.Dir, p)
		}
		out = append(out, p)
	}
	return out
}
