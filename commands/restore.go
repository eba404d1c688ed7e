package commands

import (
	"context"

	"forklift/engine"
)

// RestoreRequest asks to go back to a checkpoint.
type RestoreRequest struct {
	Ref            string `json:"ref" arg:"NAME" complete:"checkpoint" help:"a checkpoint of this worktree, or WORKTREE:NAME for one of another worktree"`
	Verify         bool   `json:"verify,omitempty" flag:"verify" help:"read back every page of the database that was put in place"`
	DiscardCurrent bool   `json:"discard_current,omitempty" flag:"discard-current" help:"go on although the present state cannot be saved; it is lost then"`
	WaitRequest
	UnsavedRequest
}

// RestoreResult describes a finished restore, undo or redo.
type RestoreResult struct {
	engine.RestoreResult
}

var restoreVerb = NewVerb(Verb{
	Name: "restore", Group: GroupCheckpoints, Worktree: true, Near: []string{"checkout", "rollback", "rewind", "load"},
	Short: "Put the source files and the database of a checkpoint back",
	Long: `Puts both halves of a checkpoint back, exactly, or neither. What is there now is
saved first as a safety checkpoint, which "forklift undo" goes back to. Files
outside the selected paths, the git history, the index and the URL of the
database stay as they are.`,
	Examples: []Example{
		{"forklift restore before-migration", "go back"},
		{"forklift restore other:before-migration", "take over a checkpoint of the worktree named other"},
		{"forklift undo", "take the restore back"},
	},
}, Restore)

// Restore puts a checkpoint back. When it returns nil both halves are in
// place and durable; after an error both are as they were, or the kind is
// Interrupted and recover finishes the work.
func Restore(ctx context.Context, env Env, req RestoreRequest) (RestoreResult, error) {
	opt := engine.RestoreOptions{WaitOptions: req.with(req.options()), Ref: req.Ref, Verify: req.Verify, DiscardCurrent: req.DiscardCurrent}
	return inWorktree(ctx, env, func(w Worktree) (RestoreResult, error) {
		return restored(w.Restore(ctx, opt))
	})
}

func restored(r *engine.RestoreResult, err error) (RestoreResult, error) {
	if err != nil {
		return RestoreResult{}, err
	}
	return RestoreResult{*r}, nil
}
