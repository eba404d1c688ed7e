package commands

import (
	"context"
	"fmt"

	"forklift/engine"
)

// PruneRequest asks to free what no checkpoint needs.
type PruneRequest struct {
	MaxUnused string `json:"max_unused,omitempty" flag:"max-unused" value:"PERCENT" default:"5%" help:"how much of the store may stay unused, so that little is copied for little; 0% frees all"`
	PlanRequest
}

// PruneResult says what was freed, or would be.
type PruneResult struct {
	engine.PruneResult
	Declined bool `json:"declined,omitempty"` // the user was asked and said no
}

var pruneVerb = NewVerb(Verb{
	Name: "prune", Group: GroupMachine, Worktree: true, Near: []string{"gc", "clean", "cleanup"},
	Short: "Free what no checkpoint needs any more",
	Long: `Removes from the store what no checkpoint of any project needs, no worktree
rests on and undo does not reach, and forgets the safety checkpoints of this
project that are neither among the last 50 of their worktree nor younger than
30 days. It says what it is going to do and asks first.

Captures may run meanwhile; only the end waits for them. What is partly needed
is written again without the rest, never more at a time than fits on the disk.
Interrupted at any moment it leaves every checkpoint whole.`,
	Examples: []Example{
		{"forklift prune", "say what would be freed, and ask"},
		{"forklift prune --yes --max-unused 0%", "free all that can be freed"},
	},
}, Prune)

// Prune frees space if the request or the user says so; otherwise the result
// is only the plan, with Done false.
func Prune(ctx context.Context, env Env, req PruneRequest) (PruneResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result PruneResult, err error) {
		unused, err := share("max-unused", req.MaxUnused)
		if err != nil {
			return result, err
		}
		r, declined, err := planned(ctx, env, req.PlanRequest, func(yes bool, id string) (*engine.PruneResult, error) {
			return w.Prune(ctx, engine.PruneOptions{MaxUnused: unused, Yes: yes, Plan: id})
		}, func(r *engine.PruneResult) (Question, string) {
			if PruneIsEmpty(r) {
				return Question{}, r.Plan
			}
			return Question{Text: fmt.Sprintf("This frees about %d MB of %d MB and forgets %d old safety checkpoints.\n", r.FreedBytes>>20, r.Bytes>>20, len(r.Safety)),
				Prompt: "Do it?"}, r.Plan
		})
		if err != nil {
			return result, err
		}
		return PruneResult{*r, declined}, nil
	})
}

// PruneIsEmpty says that a plan does nothing.
func PruneIsEmpty(r *engine.PruneResult) bool {
	return len(r.Safety)+r.Unfinished+r.Remove+r.Repack+r.Stray == 0
}
