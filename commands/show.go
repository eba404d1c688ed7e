package commands

import (
	"context"

	"forklift/engine"
)

// ShowRequest asks for one checkpoint.
type ShowRequest struct {
	Ref string `json:"ref" arg:"NAME" complete:"checkpoint" help:"a checkpoint of this worktree, or WORKTREE:NAME for one of another worktree"`
}

// ShowResult is everything about one checkpoint.
type ShowResult struct {
	engine.CheckpointDetail
}

var showVerb = NewVerb(Verb{
	Name: "show", Group: GroupCheckpoints, Worktree: true, ReadOnly: true,
	Short:    "Show one checkpoint in detail",
	Examples: []Example{{"forklift show before-migration", "what it holds, when and why it was made"}},
}, Show)

// Show reads one checkpoint.
func Show(ctx context.Context, env Env, req ShowRequest) (ShowResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result ShowResult, err error) {
		detail, err := w.Show(ctx, req.Ref)
		if err == nil {
			result.CheckpointDetail = *detail
		}
		return result, err
	})
}
