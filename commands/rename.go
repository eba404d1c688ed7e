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

// CheckpointResult is a checkpoint as it is now.
type CheckpointResult struct {
	engine.Checkpoint
}

var renameVerb = NewVerb(Verb{
	Name: "rename", Group: GroupCheckpoints, Worktree: true, Near: []string{"mv", "move"},
	Short:    "Give a checkpoint another name",
	Examples: []Example{{"forklift rename try-3 works", ""}},
}, Rename)

// Rename changes a checkpoint's name, durably when it returns nil.
func Rename(ctx context.Context, env Env, req RenameRequest) (CheckpointResult, error) {
	return changed(ctx, env, func(w Worktree) (*engine.Checkpoint, error) { return w.ChangeName(ctx, req.Ref, req.To) })
}

// changed runs a change of a checkpoint and gives what it is then.
func changed(ctx context.Context, env Env, f func(w Worktree) (*engine.Checkpoint, error)) (CheckpointResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result CheckpointResult, err error) {
		c, err := f(w)
		if err == nil {
			result.Checkpoint = *c
		}
		return result, err
	})
}
