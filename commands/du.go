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
the worktrees as they are now. Outside of a worktree that was set up only the
latter are told.`,
	Examples: []Example{{"forklift du", "all checkpoints of the project"}, {"forklift du before-migration", "one of them"}},
}, Du)

// Du measures checkpoints, the store and the databases.
func Du(ctx context.Context, env Env, req DuRequest) (DuResult, error) {
	result := func(r *engine.DiskUsage, err error) (result DuResult, _ error) {
		if err == nil {
			result.DiskUsage = *r
			result.Checkpoints = list(r.Checkpoints)
		}
		return result, err
	}
	inside := func(w Worktree) (DuResult, error) { return result(w.DiskUsage(ctx, req.Refs)) }
	if len(req.Refs) > 0 {
		return inWorktree(ctx, env, inside)
	}
	return inWorktreeOr(ctx, env, func() (DuResult, error) { return result(env.Engine.StoreUsage(ctx, env.Dir)) }, inside)
}
