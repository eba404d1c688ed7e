package commands

import (
	"context"
	"errors"

	"forklift/engine"
	"forklift/storage/fault"
)

// ListRequest asks for checkpoints.
type ListRequest struct {
	All     bool `json:"all,omitempty" flag:"all" short:"a" help:"also the safety checkpoints that restores made, and rescued files"`
	Project bool `json:"project,omitempty" flag:"project" short:"p" help:"of every worktree of the project"`
}

// ListResult is a list of checkpoints, the newest first.
type ListResult struct {
	Worktree    string              `json:"worktree"` // name of the one that was asked in
	Checkpoints []engine.Checkpoint `json:"checkpoints"`
}

var listVerb = NewVerb(Verb{
	Name: "list", Group: GroupCheckpoints, Worktree: true, ReadOnly: true, Near: []string{"ls", "checkpoints"},
	Short: "List checkpoints",
	Long: `Lists the checkpoints of this worktree, with --project those of all worktrees
of the project as WORKTREE:NAME. SIZE is what the checkpoint holds; OWN is
what the store keeps for it alone, SHARED what other checkpoints need too.`,
	Examples: []Example{
		{"forklift list", "the checkpoints of this worktree"},
		{"forklift list --project", "and of its sisters"},
	},
}, List)

// List reads the checkpoints of the worktree, or of its project.
func List(ctx context.Context, env Env, req ListRequest) (ListResult, error) {
	result, err := inWorktree(ctx, env, func(w Worktree) (ListResult, error) {
		rows, err := w.List(ctx, engine.ListOptions{All: req.All, Project: req.Project})
		return ListResult{Worktree: w.Info().Name, Checkpoints: list(rows)}, err
	})
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.NotFound && e.Op == "find repository" {
		err = &fault.Error{Op: "list", Kind: e.Kind, Err: err,
			Hint: "Change into a worktree, or name it with -C; `forklift worktree list --all` shows those that have checkpoints."}
	}
	return result, err
}

// list makes an empty list of nil, so that JSON says [].
func list[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}
