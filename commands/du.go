package commands

import (
	"context"

	"forklift/engine"
)

// DuRequest asks what checkpoints take in the store.
type DuRequest struct {
	Refs []string `json:"refs,omitempty" arg:"[NAME...]" complete:"checkpoint" help:"only these checkpoints"`
}

// DuResult is what the store and the databases take.
type DuResult struct {
	engine.DiskUsage
}

var duVerb = NewVerb(Verb{
	Name: "du", Group: GroupMachine, Worktree: true, ReadOnly: true, Near: []string{"df", "usage", "size", "space"},
	Short: "Show what checkpoints and databases take on the disk",
	Long: `Lists the checkpoints of the project, the safety checkpoints too. OWN is what
the store keeps for one alone: so much a prune can free when it is forgotten.
SHARED is what others need too. Below are the whole store and the databases of
the worktrees as they are now.`,
	Examples: []Example{{"forklift du", "all checkpoints of the project"}, {"forklift du before-migration", "one of them"}},
}, Du)

// Du measures checkpoints, the store and the databases.
func Du(ctx context.Context, env Env, req DuRequest) (DuResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result DuResult, err error) {
		r, err := w.DiskUsage(ctx, req.Refs)
		if err == nil {
			result.DiskUsage = *r
			result.Checkpoints = list(r.Checkpoints)
		}
		return result, err
	})
}
