package commands

import (
	"context"
	"fmt"

	"forklift/engine"
)

// SeedRemoveRequest asks to remove a seed.
type SeedRemoveRequest struct {
	Name string `json:"name" arg:"NAME" complete:"seed" help:"the seed"`
	PlanRequest
}

// SeedRemoveResult says which seed was removed, or would be.
type SeedRemoveResult struct {
	engine.SeedRemoveResult
	Declined bool `json:"declined,omitempty"` // the user was asked and said no
}

var seedRemoveVerb = NewVerb(Verb{
	Name: "seed remove", Group: GroupStart,
	Short: "Remove a seed",
	Long: `Removes the seed. Databases and checkpoints that began with it are not touched.
It says what it is going to remove and asks first.`,
	Examples: []Example{
		{"forklift seed remove demo", "say what would go, and ask"},
		{"forklift seed remove demo --yes", "do it"},
	},
}, SeedRemove)

// SeedRemove removes a seed, durably, if the request or the user says so;
// otherwise the result is only the plan, with Done false.
func SeedRemove(ctx context.Context, env Env, req SeedRemoveRequest) (result SeedRemoveResult, err error) {
	r, declined, err := planned(ctx, env, req.PlanRequest, func(yes bool, id string) (*engine.SeedRemoveResult, error) {
		return env.Engine.SeedRemove(ctx, env.Dir, engine.SeedRemoveOptions{Name: req.Name, Yes: yes, Plan: id})
	}, func(r *engine.SeedRemoveResult) (Question, string) {
		return Question{Text: fmt.Sprintf("This removes the seed %s of %s.\n", r.Seed.Name, r.Seed.Created.Format("2006-01-02")), Prompt: "Remove it?"}, r.Plan
	})
	if err != nil {
		return result, err
	}
	return SeedRemoveResult{*r, declined}, nil
}
