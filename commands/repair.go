package commands

import (
	"context"
	"fmt"

	"forklift/engine"
)

// RepairRequest asks to make a damaged store usable again.
type RepairRequest struct {
	PlanRequest
}

// RepairResult says what was repaired, or would be.
type RepairResult struct {
	engine.RepairResult
	Declined bool `json:"declined,omitempty"` // the user was asked and said no
}

var repairVerb = NewVerb(Verb{
	Name: "repair", Group: GroupMachine, Worktree: true,
	Short: "Make a damaged store usable again",
	Long: `Reads the whole store. What can be saved of damaged files is stored again, lost
indexes are made anew from the data, and damaged files are moved to the
directory "damaged" of the store: nothing is deleted. What is lost counts as
not stored, so that the next capture stores it again where it is still there.
Then it lists the checkpoints that are beyond repair, with the files that
are lost. It says what it is going to do and asks first.`,
	Examples: []Example{
		{"forklift repair", "say what would be done, and ask"},
		{"forklift repair --yes", "do it"},
	},
}, Repair)

// Repair mends the store if the request or the user says so; otherwise the
// result is only the plan, with Done false.
func Repair(ctx context.Context, env Env, req RepairRequest) (RepairResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result RepairResult, err error) {
		r, declined, err := planned(ctx, env, req.PlanRequest, func(yes bool, id string) (*engine.RepairResult, error) {
			return w.Repair(ctx, engine.RepairOptions{Yes: yes, Plan: id})
		}, func(r *engine.RepairResult) (Question, string) {
			p := r.RepairReport.Plan
			if p.Empty() {
				return Question{}, r.ID
			}
			return Question{Text: fmt.Sprintf("Of the store, %d packs are lost and %d damaged; %d indexes and %d records are damaged. Damaged files are moved to\n%s.\n",
				len(p.Lost), len(p.Damaged), len(p.Indexes), len(p.Records), r.Aside), Prompt: "Repair it?"}, r.ID
		})
		if err != nil {
			return result, err
		}
		return RepairResult{*r, declined}, nil
	})
}
