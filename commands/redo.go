package commands

import "context"

// RedoRequest asks to take the last undo back.
type RedoRequest struct {
	WaitRequest
	UnsavedRequest
}

var redoVerb = NewVerb(Verb{
	Name: "redo", Group: GroupCheckpoints, Worktree: true,
	Short:    "Take the last undo back",
	Long:     `Goes forward again to what the last undo left. What is there now is saved first.`,
	Examples: []Example{{"forklift redo", "take the last undo back"}},
}, Redo)

// Redo goes back to what the last undo left, with the promises of Restore.
func Redo(ctx context.Context, env Env, req RedoRequest) (RestoreResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (RestoreResult, error) {
		return restored(w.Redo(ctx, req.with(req.options())))
	})
}
