package commands

import (
	"context"

	"forklift/engine"
)

// WorktreeListRequest asks for the worktrees of the repository.
type WorktreeListRequest struct {
	Orphans  bool `json:"orphans,omitempty" flag:"orphans" help:"only worktrees that are gone, but keep a database"`
	TornDown bool `json:"torn_down,omitempty" flag:"torn-down" help:"only worktrees that were torn down, but keep checkpoints"`
	All      bool `json:"all,omitempty" flag:"all" short:"a" help:"of every repository that the store knows"`
}

// WorktreeListResult is the list, sorted by name.
type WorktreeListResult struct {
	Worktrees []engine.WorktreeRow `json:"worktrees"`
	// TornDown counts the worktrees that are left out because only their
	// checkpoints are left.
	TornDown int `json:"torn_down"`
}

var worktreeListVerb = NewVerb(Verb{
	Name: "worktree list", Group: GroupMachine,
	Short: "List the worktrees of this repository, also those that are gone",
	Long: `Lists every worktree that has a database, and those that only git knows. STATE
is ok, moved (it is at another place than recorded; its next command notes
that), away (its directory is not there, and git has it locked), orphan (git has
removed it, or its directory is gone: "forklift adopt" takes it over, "forklift
worktree prune" removes its database), copy (see "forklift setup --new") or none
(git's, without a database). The server of an orphan is stopped, unless somebody
uses it. Worktrees of which a teardown left only the checkpoints are listed by
--torn-down.`,
	Examples: []Example{
		{"forklift worktree list", "all of this repository"},
		{"forklift worktree list --orphans", "those that are gone"},
		{"forklift worktree list --torn-down", "whose checkpoints can still be restored, as NAME:CHECKPOINT"},
		{"forklift worktree list --all --orphans", "of deleted repositories, too"},
	},
}, WorktreeList)

// WorktreeList reads the list. Of orphans it stops the idle servers; it
// changes nothing else.
func WorktreeList(ctx context.Context, env Env, req WorktreeListRequest) (WorktreeListResult, error) {
	rows, err := env.Engine.WorktreeList(ctx, env.Dir, engine.WorktreeListOptions{Orphans: req.Orphans, All: req.All})
	res := WorktreeListResult{Worktrees: []engine.WorktreeRow{}}
	for _, row := range rows {
		torn := row.State == engine.StateTornDown
		switch {
		case torn && row.Checkpoints == 0:
			// Nothing of it is left to be asked for.
		case torn == req.TornDown:
			res.Worktrees = append(res.Worktrees, row)
		case torn:
			res.TornDown++
		}
	}
	return res, err
}
