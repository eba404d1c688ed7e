package commands

import "context"

// UndoRequest asks to take the last restore, undo or redo back.
type UndoRequest struct {
	WaitRequest
	UnsavedRequest
}

var undoVerb = NewVerb(Verb{
	Name: "undo", Group: GroupCheckpoints, Worktree: true, Near: []string{"revert", "back"},
	Short: "Take the last restore back",
	Long: `Goes back to what was there before the last restore, undo or redo: source files
and database. It never undoes a capture. What is there now is saved first.`,
	Examples: []Example{{"forklift undo", "take the last restore back"}},
}, Undo)

// Undo goes back to the safety checkpoint of the last restore, undo or redo,
// with the promises of Restore.
func Undo(ctx context.Context, env Env, req UndoRequest) (RestoreResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (RestoreResult, error) {
		return restored(w.Undo(ctx, req.with(req.options())))
	})
}
