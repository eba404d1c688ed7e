package commands

import (
	"context"
	"path/filepath"

	"forklift/engine"
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
