package commands

import (
	"context"

	"forklift/engine"
)

// WorktreeListRequest asks for the worktrees of the repository.
type WorktreeListRequest struct {
	Orphans bool `json:"orphans,omitempty" flag:"orphans" help:"only worktrees that are gone, but keep a database"`
	All     bool `json:"all,omitempty" flag:"all" short:"a" help:"of every repository that the store knows"`
}

// WorktreeListResult is the list, sorted by name.
type WorktreeListResult struct {
	Worktrees []engine.WorktreeRow `json:"worktrees"`
}

var worktreeListVerb = NewVerb(Verb{
	Name: "worktree list", Group: GroupMachine,
	Short: "List the worktrees of this repository, also those that are gone",
	Long: `Lists every worktree that has a database or a checkpoint, and those that only git
knows. STATE is ok, moved (it is at another place than recorded; its next
command notes that), away (its directory is not there, and git has it locked),
orphan (git has removed it, or its directory is gone: "forklift adopt" takes it
over, "forklift worktree prune" removes its database), torn down (only its
checkpoints are left), copy (see "forklift setup --new") or none (git's,
without a database). The server of an orphan is stopped, unless somebody uses it.`,
	Examples: []Example{
		{"forklift worktree list", "all of this repository"},
		{"forklift worktree list --orphans", "those that are gone"},
		{"forklift worktree list --all --orphans", "of deleted repositories, too"},
	},
}, WorktreeList)

// WorktreeList reads the list. Of orphans it stops the idle servers; it
// changes nothing else.
func WorktreeList(ctx context.Context, env Env, req WorktreeListRequest) (WorktreeListResult, error) {
	rows, err := env.Engine.WorktreeList(ctx, env.Dir, engine.WorktreeListOptions{Orphans: req.Orphans, All: req.All})
	return WorktreeListResult{Worktrees: list(rows)}, err
}
