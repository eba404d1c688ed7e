package commands

import (
	"context"

	"forklift/engine"
)

// StatusRequest asks for the state of the worktree.
type StatusRequest struct{}

// StatusResult is the state of the worktree.
type StatusResult struct {
	engine.StatusResult
}

var statusVerb = NewVerb(Verb{
	Name: "status", Group: GroupCheckpoints, Worktree: true, ReadOnly: true, Near: []string{"info", "diff"},
	Short: "Show what changed since the last checkpoint",
	Long: `Shows the checkpoint that the worktree rests on, the source files that changed
since, the rows that changed per table (from the server's own counters, while
it runs), the server, running commands, and whether an operation was
interrupted. It runs nothing of the repository and starts no server.`,
	Examples: []Example{
		{"forklift status", "for people"},
		{"forklift status --json", "for programs"},
	},
}, Status)

// Status looks at the worktree without changing anything.
func Status(ctx context.Context, env Env, _ StatusRequest) (StatusResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result StatusResult, err error) {
		s, err := w.Status(ctx)
		if err != nil {
			return result, err
		}
		result.StatusResult = *s
		result.Files, result.Tables = list(s.Files), list(s.Tables)
		result.Holders, result.Source = list(s.Holders), list(s.Source)
		return result, nil
	})
}
