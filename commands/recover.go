package commands

import (
	"context"

	"forklift/engine"
)

// RecoverRequest asks to finish an interrupted operation.
type RecoverRequest struct {
	Back bool `json:"back,omitempty" flag:"back" help:"end as if the operation had never begun, although it was past its turning point"`
	OperationRequest
}

// RecoverResult says how the interrupted operation ended.
type RecoverResult struct {
	engine.RecoverResult
}

var recoverVerb = NewVerb(Verb{
	Name: "recover", Group: GroupCheckpoints, Worktree: true, Near: []string{"repair", "continue", "abort"},
	Short: "Finish an operation that was cut off",
	Long: `After a crash, a kill or a power cut in the middle of an operation the worktree
is interrupted: commands and changes are refused until this verb has ended the
operation. It ends exactly as if the operation had finished, or exactly as if
it had never begun, and says which.

An app that a hook had stopped is started again, also when only that is left to do.
With --no-hooks it is not, and is forgotten.

With --back it ends the second way even after the turning point, as long as
the old database is still there.`,
	Examples: []Example{
		{"forklift recover", "end the interrupted operation the natural way"},
		{"forklift recover --back", "end it as if it had never begun"},
	},
}, Recover)

// Recover finishes an interrupted operation forwards or backwards. The
// outcome is durable when it returns nil; after an error it can be run again.
func Recover(ctx context.Context, env Env, req RecoverRequest) (RecoverResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result RecoverResult, err error) {
		if err := askForHooks(ctx, env, w, req.OperationRequest); err != nil {
			return result, err
		}
		r, err := w.Recover(ctx, engine.RecoverOptions{WaitOptions: req.options(), Back: req.Back})
		if err == nil {
			result.RecoverResult = *r
		}
		return result, err
	})
}
