package commands

import "context"

// SeedRemoveRequest asks to remove a seed.
type SeedRemoveRequest struct {
	Name string `json:"name" arg:"NAME" complete:"seed" help:"the seed"`
}

// SeedRemoveResult says which seed was removed.
type SeedRemoveResult struct {
	Name string `json:"name"`
}

var seedRemoveVerb = NewVerb(Verb{
	Name: "seed remove", Group: GroupStart,
	Short:    "Remove a seed",
	Long:     `Removes the seed. Databases and checkpoints that began with it are not touched.`,
	Examples: []Example{{"forklift seed remove demo", ""}},
}, SeedRemove)

// SeedRemove removes a seed; the removal is durable when it returns nil.
func SeedRemove(ctx context.Context, env Env, req SeedRemoveRequest) (SeedRemoveResult, error) {
	return SeedRemoveResult{Name: req.Name}, env.Engine.SeedRemove(ctx, env.Dir, req.Name)
}
