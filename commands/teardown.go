package commands

import (
	"context"
	"fmt"
	"strings"

	"forklift/engine"
)

// TeardownRequest asks to remove the worktree's database and identity.
type TeardownRequest struct {
	PlanRequest
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
		r, declined, err := planned(ctx, env, req.PlanRequest, func(yes bool, id string) (*engine.TeardownResult, error) {
			return w.Teardown(ctx, engine.TeardownOptions{Yes: yes, Plan: id})
		}, func(r *engine.TeardownResult) (Question, string) {
			return Question{Text: fmt.Sprintf("This removes, of the worktree %s:\n\n  %s\n\n%d checkpoints stay in the store.\n",
				r.Worktree.Name, strings.Join(r.Removes, "\n  "), r.Checkpoints), Prompt: "Remove it?"}, r.Plan
		})
		if err != nil {
			return result, err
		}
		return TeardownResult{*r, declined}, nil
	})
}
