package commands

import (
	"context"

	"forklift/engine/postgres"
)

// Postgres is what the verbs ask about PostgreSQL on this machine.
type Postgres interface {
	// Find lists the installations, the one that new branches use first.
	Find(ctx context.Context) ([]Installation, error)
	// Install fetches the embedded default, if it is not there yet.
	Install(ctx context.Context) (Installation, error)
	// Socket tells where sockets would be, and whether they can be there.
	Socket() postgres.SocketPlace
}

// Installation is one PostgreSQL on this machine.
type Installation struct {
	postgres.Installation
	Used bool `json:"used"` // new databases use it
}

// PostgresListRequest asks which PostgreSQL there are.
type PostgresListRequest struct{}

// PostgresListResult is the installations that were found.
type PostgresListResult struct {
	Installations []Installation `json:"installations"`
}

var postgresListVerb = NewVerb(Verb{
	Name: "postgres list", Group: GroupMachine, ReadOnly: true,
	Short: "List the PostgreSQL installations that were found",
	Long: `Lists what was found on this machine, in the order in which it is looked for, and
marks the one that new databases use. FORKLIFT_PG_BIN names a directory of
programs to use instead.`,
	Examples: []Example{{"forklift postgres list", ""}},
}, PostgresList)

// PostgresList looks for installations.
func PostgresList(ctx context.Context, env Env, _ PostgresListRequest) (PostgresListResult, error) {
	found, err := env.Postgres.Find(ctx)
	return PostgresListResult{Installations: list(found)}, err
}
