package commands

import (
	"context"
	"fmt"
	"strings"

	"forklift/engine"
	"forklift/storage/progress"
)

// TeardownRequest asks to remove the worktree's database and identity.
type TeardownRequest struct {
	Yes bool `json:"yes,omitempty" flag:"yes" short:"y" help:"do it without a question; without a terminal it is only described unless this is given"`
}

// TeardownResult says what was removed, or would be.
type TeardownResult struct {
	engine.TeardownResult
	Declined bool `json:"declined,omitempty"` // the user was asked and said no
}

var teardownVerb = NewVerb(Verb{
	Name: "teardown", Group: GroupStart, Worktree: true, Near: []string{"remove", "destroy", "delete", "uninstall"},
	Short: "Remove this worktree's database and identity",
	Long: `Stops the server and removes the database branch and the records that tie it to
this worktree. Source files, .forklift.json and checkpoints stay. It says what
it is going to remove and asks first.`,
	Examples: []Example{
		{"forklift teardown", "say what would go, and ask"},
		{"forklift teardown --yes", "do it"},
	},
}, Teardown)

// Teardown removes the worktree's branch and identity if the request or the
// user says so; otherwise the result is only the plan, with Done false.
func Teardown(ctx context.Context, env Env, req TeardownRequest) (TeardownResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result TeardownResult, err error) {
		yes := req.Yes
		if !yes {
			plan, err := w.Teardown(ctx, false)
			if err != nil {
				return result, err
			}
			result.TeardownResult = *plan
			if env.Confirm == nil {
				return result, nil
			}
			progress.Report(ctx, progress.Event{}) // the terminal is the question's now
			text := fmt.Sprintf("This removes, of the worktree %s:\n\n  %s\n\n%d checkpoints stay in the store.\n",
				plan.Worktree.Name, strings.Join(plan.Removes, "\n  "), plan.Checkpoints)
			if yes, err = env.Confirm(ctx, Question{Text: text, Prompt: "Remove it?"}); err != nil || !yes {
				result.Declined = err == nil
				return result, err
			}
		}
		done, err := w.Teardown(ctx, true)
		if err == nil {
			result.TeardownResult = *done
		}
		return result, err
	})
}
