package commands

import (
	"context"
	"fmt"

	"forklift/engine"
	"forklift/storage/fault"
)

// DBURLRequest asks for the URL of the database.
type DBURLRequest struct{}

// DBURLResult is the URL. It may hold a password.
type DBURLResult struct {
	URL string `json:"url"`
}

var dbURLVerb = NewVerb(Verb{
	Name: "db url", Group: GroupDatabase, Worktree: true, ReadOnly: true,
	Short: "Print the URL of the database",
	Long: `Prints the URL and nothing else. It stays the same across restores. The server
need not run; start it with "forklift db start".`,
	Examples: []Example{{`psql "$(forklift db url)"`, "connect with any client"}},
}, DBURL)

// DBURL tells the URL that a managed command gets in connection_env.
func DBURL(ctx context.Context, env Env, _ DBURLRequest) (DBURLResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (DBURLResult, error) {
		url, _, err := databaseURL(ctx, w)
		return DBURLResult{URL: url}, err
	})
}

// databaseURL finds the connection variable among the variables.
func databaseURL(ctx context.Context, w Worktree) (string, []engine.EnvVar, error) {
	settings, err := w.Settings(ctx)
	if err != nil {
		return "", nil, err
	}
	vars, err := w.Env(ctx)
	if err != nil {
		return "", nil, err
	}
	url := ""
	for _, v := range vars {
		if v.Name == settings.ConnectionEnv {
			url = v.Value
		}
	}
	if url == "" {
		return "", nil, &fault.Error{
			Op: "find URL", Path: settings.ConnectionEnv, Kind: fault.Unsupported,
			Err: fmt.Errorf("a database of kind %s has no URL", w.Info().Kind),
		}
	}
	return url, vars, nil
}
