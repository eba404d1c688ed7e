package commands

import (
	"context"
)

// EnvRequest asks for the variables that a managed command is given.
type EnvRequest struct {
	Format string `json:"format,omitempty" flag:"format" short:"f" value:"FORMAT" default:"shell" enum:"shell,dotenv,json,direnv" help:"shell: export lines; dotenv: lines for a .env file; json: one object; direnv: for .envrc, loaded again when the worktree's setup changes"`
}

// EnvResult is those variables.
type EnvResult struct {
	Format    string     `json:"format"`
	Variables []Variable `json:"variables"`
	Unset     []string   `json:"unset"` // must not be there: with them clients would go to another database
}

// Variable is one variable of an environment.
type Variable struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Secret bool   `json:"secret"` // holds a password; do not log it
}

var envVerb = NewVerb(Verb{
	Name: "env", Group: GroupDatabase, Worktree: true, ReadOnly: true,
	Short: "Print the variables that lead to the database",
	Long: `Prints what "forklift run" gives its commands, for tools that are not run by it.
The values stay the same across restores. Start the server with "forklift db start".`,
	Examples: []Example{
		{`eval "$(forklift env)"`, "in a shell"},
		{"forklift env --format dotenv > .env.local", "for a tool that reads such a file"},
		{`eval "$(forklift env --format direnv)"`, "a line of .envrc, for direnv"},
	},
}, EnvVars)

// EnvVars tells the variables. The server need not run.
func EnvVars(ctx context.Context, env Env, req EnvRequest) (EnvResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (EnvResult, error) {
		vars, err := w.Env(ctx)
		result := EnvResult{Format: req.Format, Variables: []Variable{}, Unset: []string{}}
		for _, v := range vars {
			if v.Unset {
				result.Unset = append(result.Unset, v.Name)
				continue
			}
			result.Variables = append(result.Variables, Variable{Name: v.Name, Value: v.Value, Secret: v.Secret})
		}
		return result, err
	})
}
