package commands

import (
	"context"

	"forklift/engine"
)

// SeedCreateRequest asks for a new seed.
type SeedCreateRequest struct {
	Name     string   `json:"name" arg:"NAME" help:"what to call it"`
	SQL      []string `json:"sql,omitempty" flag:"sql" value:"FILE" complete:"file" help:"a plain SQL file to load, as pg_dump writes it; may be repeated, loaded in order"`
	Database string   `json:"database,omitempty" flag:"database" value:"NAME" help:"the database that the files are loaded into; made if it is not there"`
}

// SeedResult describes a seed.
type SeedResult struct {
	engine.SeedInfo
}

var seedCreateVerb = NewVerb(Verb{
	Name: "seed create", Group: GroupStart,
	Short: "Make a starting database for new worktrees",
	Long: `Makes a seed: a database that worktrees start from, empty or loaded from plain
SQL files. COPY data and the commands \connect, \restrict and \unrestrict, as pg_dump and psql write
them, are understood; psql is not needed.`,
	Examples: []Example{
		{"forklift seed create empty", "an empty one"},
		{"forklift seed create demo --sql schema.sql --sql data.sql", "from two files"},
	},
}, SeedCreate)

// SeedCreate makes a seed in the store; it is durable when it returns nil,
// otherwise there is none.
func SeedCreate(ctx context.Context, env Env, req SeedCreateRequest) (result SeedResult, err error) {
	opt := engine.SeedOptions{Name: req.Name, SQL: abs(env, req.SQL), Database: req.Database}
	info, err := env.Engine.SeedCreate(ctx, env.Dir, opt)
	if err == nil {
		result.SeedInfo = *info
	}
	return result, err
}
