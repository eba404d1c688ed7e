package commands

import (
	"context"
	"fmt"
	"strings"

	"forklift/engine"
	"forklift/storage/progress"
)

// WorktreePruneRequest asks to remove the databases of worktrees that are gone.
type WorktreePruneRequest struct {
	Ref  string `json:"ref,omitempty" arg:"[NAME]" complete:"orphan" help:"only this one, by name or id; without it all of this repository that are gone"`
	Yes  bool   `json:"yes,omitempty" flag:"yes" short:"y" help:"do it without a question; without a terminal it is only described unless this is given"`
	Plan string `json:"plan,omitempty" flag:"plan" value:"ID" help:"with --yes: only if the plan still is this one"`
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
	opt := engine.PruneWorktreesOptions{Ref: req.Ref, Yes: req.Yes, Plan: req.Plan}
	r, err := env.Engine.PruneWorktrees(ctx, env.Dir, opt)
	if err != nil {
		return result, err
	}
	result.PruneWorktreesResult = *r
	if r.Done || len(r.Worktrees) == 0 || env.Confirm == nil {
		return result, nil
	}
	var lines []string
	for _, w := range r.Worktrees {
		lines = append(lines, "the database of "+w.Name+", which was at "+w.Path)
	}
	progress.Report(ctx, progress.Event{}) // the terminal is the question's now
	text := fmt.Sprintf("This removes:\n\n  %s\n\n%d checkpoints stay in the store.\n", strings.Join(lines, "\n  "), r.Checkpoints)
	yes, err := env.Confirm(ctx, Question{Text: text, Prompt: "Remove it?"})
	if err != nil || !yes {
		result.Declined = err == nil
		return result, err
	}
	opt.Yes, opt.Plan = true, r.Plan
	if r, err = env.Engine.PruneWorktrees(ctx, env.Dir, opt); err == nil {
		result.PruneWorktreesResult = *r
	}
	return result, err
}
