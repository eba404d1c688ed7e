package commands

import (
	"context"

	"forklift/engine"
)

// AdoptRequest asks to take over a worktree that is gone.
type AdoptRequest struct {
	Ref string `json:"ref" arg:"NAME" complete:"orphan" help:"name or id of a worktree that is gone, as forklift worktree list --orphans shows it"`
}

// AdoptResult says what was taken over.
type AdoptResult struct {
	engine.AdoptResult
}

var adoptVerb = NewVerb(Verb{
	Name: "adopt", Group: GroupStart, Worktree: true, Near: []string{"attach", "reattach", "takeover"},
	Short: "Take over the database and the checkpoints of a worktree that is gone",
	Long: `Gives this worktree, which must have no database yet, the name, the database and
the checkpoints of a worktree of the same repository that git has removed, or
whose directory was deleted or lost. The files of this worktree stay as they
are; "forklift status" shows how they differ from the last checkpoint. In a
repository that was deleted and cloned again it works, too, before setup.`,
	Examples: []Example{
		{"forklift adopt feature", "in a new worktree, after git worktree remove ../feature"},
		{"forklift adopt 01m8kjtgar2jchq4t0dyyesxg6", "by id, when two have one name"},
	},
}, Adopt)

// Adopt takes over a worktree that is gone. It is durable when it returns nil;
// after an error the orphan is as it was.
func Adopt(ctx context.Context, env Env, req AdoptRequest) (AdoptResult, error) {
	r, err := env.Engine.Adopt(ctx, env.Dir, req.Ref)
	if err != nil {
		return AdoptResult{}, err
	}
	return AdoptResult{*r}, nil
}
