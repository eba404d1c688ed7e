package commands

import (
	"context"

	"forklift/engine"
)

// SeedListRequest asks for the seeds.
type SeedListRequest struct{}

// SeedListResult is the seeds of the store.
type SeedListResult struct {
	Seeds []engine.SeedInfo `json:"seeds"`
}

var seedListVerb = NewVerb(Verb{
	Name: "seed list", Group: GroupStart, ReadOnly: true,
	Short:    "List the seeds",
	Examples: []Example{{"forklift seed list", ""}},
}, SeedList)

// SeedList reads the seeds of the store.
func SeedList(ctx context.Context, env Env, _ SeedListRequest) (SeedListResult, error) {
	seeds, err := env.Engine.SeedList(ctx, env.Dir)
	return SeedListResult{Seeds: list(seeds)}, err
}
