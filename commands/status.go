package commands

import (
	"context"

	"forklift/engine"
)

// StatusRequest asks for the state of the worktree.
type StatusRequest struct {
	Quick     bool `json:"quick,omitempty" flag:"quick" short:"q" help:"leave out the changed files, which take a look at every file"`
	Porcelain bool `json:"porcelain,omitempty" flag:"porcelain" help:"print lines for scripts and prompts, and look neither at the files nor at the rows"`
}

// StatusResult is the state of the worktree.
type StatusResult struct {
	engine.StatusResult
	Tracked   bool   `json:"tracked"` // false only in what the editors' server tells of other directories
	Text      string `json:"text"`    // for a status bar
	Icon      Icon   `json:"icon"`    // for a status bar
	Porcelain bool   `json:"-"`       // what was asked for
}

var statusVerb = NewVerb(Verb{
	Name: "status", Group: GroupCheckpoints, Worktree: true, ReadOnly: true, Near: []string{"info", "diff"},
	Short: "Show what changed since the last checkpoint",
	Long: `Shows the checkpoint that the worktree rests on, the source files that changed
since, the rows that changed per table (from the server's own counters, while
it runs), the server, running commands, and whether an operation was
interrupted. It runs nothing of the repository and starts no server. Tables that
were made, dropped or truncated are told by "forklift diff".

--porcelain prints one field on a line, its name, a space and its value, behind the
line "# forklift status 1"; the number changes when a field changes its meaning, and
new fields may come. Control characters and \ are escaped as \n, \x1b, \\.
  worktree NAME     of this worktree
  state STATE       ok, busy (an operation is under way) or interrupted
  operation VERB    the one that is under way or was interrupted
  checkpoint NAME   that the worktree rests on; missing before the first one
  from WORKTREE     that made it, if another one did
  age SECONDS       of it
  server STATE      stopped, running, unclean or foreign
  commands NUMBER   of managed commands that run
  app stopped       a hook stopped the app, and it was not started again
  trusted yes|no    what .forklift.json would run is approved`,
	Examples: []Example{
		{"forklift status", "for people"},
		{"forklift status --json", "for programs"},
		{"forklift status --quick --json", "for a prompt: without a look at every file"},
		{"forklift status --porcelain", "for a shell prompt"},
	},
}, Status)

// StatusTracked is Status for whoever keeps watch over the worktree; see
// engine.Worktree.TrackedStatus.
func StatusTracked(ctx context.Context, env Env, t *engine.Tracker, touched []string) (StatusResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (StatusResult, error) {
		s, err := w.TrackedStatus(ctx, t, touched)
		if err != nil {
			return StatusResult{}, err
		}
		return statusResult(s), nil
	})
}

// Status looks at the worktree without changing anything.
func Status(ctx context.Context, env Env, req StatusRequest) (StatusResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (StatusResult, error) {
		look := w.Status
		switch {
		case req.Porcelain:
			look = w.StatusBrief
		case req.Quick:
			look = w.QuickStatus
		}
		s, err := look(ctx)
		if err != nil {
			return StatusResult{}, err
		}
		result := statusResult(s)
		result.Porcelain = req.Porcelain
		return result, nil
	})
}
