package commands

import (
	"context"

	"forklift/engine"
)

// RenameRequest asks to give a checkpoint another name.
type RenameRequest struct {
	Ref string `json:"ref" arg:"OLD" complete:"checkpoint" help:"the checkpoint"`
	To  string `json:"to" arg:"NEW" help:"its new name"`
}

// RenameResult is the checkpoint as it is now.
type RenameResult struct {
	engine.Checkpoint
	Was string `json:"was"` // what it was asked for by
}

var renameVerb = NewVerb(Verb{
	Name: "rename", Group: GroupCheckpoints, Worktree: true, Near: []string{"mv", "move"},
	Short:    "Give a checkpoint another name",
	Examples: []Example{{"forklift rename try-3 works", ""}},
}, Rename)

// Rename changes a checkpoint's name, durably when it returns nil.
func Rename(ctx context.Context, env Env, req RenameRequest) (RenameResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (RenameResult, error) {
		c, err := w.ChangeName(ctx, req.Ref, req.To)
		if err != nil {
			return RenameResult{}, err
		}
		return RenameResult{*c, req.Ref}, nil
	})
}
