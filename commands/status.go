package commands

import (
	"context"

	"forklift/engine"
)

// StatusRequest asks for the state of the worktree.
type StatusRequest struct {
	Quick bool `json:"quick,omitempty" flag:"quick" short:"q" help:"leave out the changed files, which take a look at every file"`
}

// StatusResult is the state of the worktree.
type StatusResult struct {
	engine.StatusResult
	Tracked bool   `json:"tracked"` // false only in what the editors' server tells of other directories
	Text    string `json:"text"`    // for a status bar
	Icon    Icon   `json:"icon"`    // for a status bar
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
		{"forklift status --quick --json", "for a prompt: without a look at every file"},
	},
}, Status)

// Status looks at the worktree without changing anything.
func Status(ctx context.Context, env Env, req StatusRequest) (StatusResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (StatusResult, error) {
		look := w.Status
		if req.Quick {
			look = w.QuickStatus
		}
		s, err := look(ctx)
		if err != nil {
			return StatusResult{}, err
		}
		return statusResult(s), nil
	})
}
