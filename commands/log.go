package commands

import (
	"context"

	"forklift/engine"
)

// LogRequest asks for the operation log.
type LogRequest struct {
	Limit int `json:"limit,omitempty" flag:"limit" short:"n" value:"COUNT" default:"30" help:"show at most so many, the newest first; 0 shows all"`
}

// LogResult is the operation log, the newest operation first.
type LogResult struct {
	Operations []engine.Operation `json:"operations"`
}

var logVerb = NewVerb(Verb{
	Name: "log", Group: GroupCheckpoints, Worktree: true, ReadOnly: true, Near: []string{"history"},
	Short: "Show what was done to this worktree",
	Long:  `Lists the operations on this worktree: what, when, by whom, and how it ended.`,
	Examples: []Example{
		{"forklift log", "the last operations"},
		{"forklift log -n 0 --json", "all of them, for a program"},
	},
}, Log)

// Log reads the worktree's operation log.
func Log(ctx context.Context, env Env, req LogRequest) (LogResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (LogResult, error) {
		ops, err := w.Log(ctx, req.Limit)
		return LogResult{Operations: list(ops)}, err
	})
}
