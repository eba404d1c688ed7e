package commands

import (
	"context"
	"fmt"
	"strings"

	"forklift/engine"
)

// WorktreePruneRequest asks to remove the databases of worktrees that are gone.
type WorktreePruneRequest struct {
	Ref string `json:"ref,omitempty" arg:"[NAME]" complete:"orphan" help:"only this one, by name or id; without it all of this repository that are gone"`
	PlanRequest
}

// WorktreePruneResult says what was removed, or would be.
type WorktreePruneResult struct {
	engine.PruneWorktreesResult
	Declined bool `json:"declined,omitempty"` // the user was asked and said no
}

var worktreePruneVerb = NewVerb(Verb{
	Name: "worktree prune", Group: GroupMachine, Near: []string{"remove", "rm", "delete"},
	Short: "Remove the databases of worktrees that are gone",
	Long: `Stops the servers and removes the databases of worktrees that git has removed or
whose directories are gone. Their checkpoints stay. It says what it is going to
remove and asks first. A worktree that is there is never touched: run "forklift
teardown" in it.`,
	Examples: []Example{
		{"forklift worktree prune", "say what would go, and ask"},
		{"forklift worktree prune feature --yes", "one of them, without a question"},
	},
}, WorktreePrune)

// WorktreePrune removes the databases of orphans if the request or the user
// says so; otherwise the result is only the plan, with Done false.
func WorktreePrune(ctx context.Context, env Env, req WorktreePruneRequest) (result WorktreePruneResult, err error) {
	r, declined, err := planned(ctx, env, req.PlanRequest, func(yes bool, id string) (*engine.PruneWorktreesResult, error) {
		return env.Engine.PruneWorktrees(ctx, env.Dir, engine.PruneWorktreesOptions{Ref: req.Ref, Yes: yes, Plan: id})
	}, func(r *engine.PruneWorktreesResult) (Question, string) {
		if len(r.Worktrees) == 0 {
			return Question{}, r.Plan
		}
		var lines []string
		for _, w := range r.Worktrees {
			lines = append(lines, "the database of "+w.Name+", which was at "+w.Path)
		}
		return Question{Text: fmt.Sprintf("This removes:\n\n  %s\n\n%d checkpoints stay in the store.\n", strings.Join(lines, "\n  "), r.Checkpoints),
			Prompt: "Remove it?"}, r.Plan
	})
	if err != nil {
		return result, err
	}
	return WorktreePruneResult{*r, declined}, nil
}
