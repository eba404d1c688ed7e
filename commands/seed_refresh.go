package commands

import (
	"context"
	"errors"
	"fmt"

	"forklift/engine"
	"forklift/storage/fault"
)

// SeedRefresher is the part of the engine that replaces a seed by a changed
// copy of it; see engine.SeedRefresh.
type SeedRefresher interface {
	SeedRefresh(ctx context.Context, dir, name string, work func(context.Context, engine.Refresh) error) (*engine.SeedInfo, error)
}

func (e realEngine) SeedRefresh(ctx context.Context, dir, name string, work func(context.Context, engine.Refresh) error) (*engine.SeedInfo, error) {
	return engine.SeedRefresh(ctx, e.host, dir, name, work)
}

// SeedRefreshRequest asks for a seed to be changed by a command.
type SeedRefreshRequest struct {
	Name    string   `json:"name" arg:"NAME" complete:"seed" help:"the seed"`
	Command []string `json:"command,omitempty" arg:"[ARG...]" help:"after --: the program and its arguments that change the database"`
}

// SeedRefreshResult describes the new seed.
type SeedRefreshResult struct {
	engine.SeedInfo
}

var seedRefreshVerb = NewVerb(Verb{
	Name: "seed refresh", Group: GroupStart, Near: []string{"seed update", "seed migrate"},
	Short: "Change a seed by a command, such as migrations",
	Long: `Runs a command on a copy of the seed, with the copy's URL in DATABASE_URL (or the
variable that connection_env in .forklift.json names), as "forklift run" does with the
worktree's database. If it ends with exit code 0 the copy is the seed for worktrees that are
set up from then on; worktrees that exist keep what they have. If it fails, or is interrupted,
the seed stays what it was. With --json the command's output goes to stderr.`,
	Examples: []Example{
		{"forklift seed refresh dev -- npx prisma migrate deploy", "run the migrations"},
		{`forklift seed refresh dev -- psql -f more.sql`, "add rows"},
	},
}, SeedRefresh)

// SeedRefresh replaces a seed by a copy that a command has changed. The seed
// is the old one or the new one, whenever this is killed.
func SeedRefresh(ctx context.Context, env Env, req SeedRefreshRequest) (result SeedRefreshResult, err error) {
	if len(req.Command) == 0 || req.Command[0] == "" {
		return result, &fault.Error{Op: "seed refresh", Path: req.Name, Kind: fault.Usage, Err: errors.New("nothing to run"),
			Hint: "Give a command after --, as in `forklift seed refresh " + req.Name + " -- npm run migrate`."}
	}
	info, err := env.Engine.SeedRefresh(ctx, env.Dir, req.Name, func(ctx context.Context, r engine.Refresh) error {
		return refreshBy(ctx, env, req, r)
	})
	if err == nil {
		result.SeedInfo = *info
	}
	return result, err
}

// refreshBy runs the command; any end of it but success is an error.
func refreshBy(ctx context.Context, env Env, req SeedRefreshRequest, r engine.Refresh) error {
	c := child{argv: req.Command, dir: r.Dir, environ: withVars(env.Environ, r.Vars)}
	path, err := c.lookPath()
	if err != nil {
		return startFailure(c.argv[0], err)
	}
	ended, err := c.exec(ctx, env, path, r.File, func(int) error { return nil })
	if err != nil || ended.ExitCode == 0 {
		return err
	}
	how := fmt.Sprintf("exit code %d", ended.ExitCode)
	if ended.Signal != "" {
		how = "signal: " + ended.Signal
	}
	return &fault.Error{Op: "seed refresh", Path: req.Name, Err: fmt.Errorf("the command failed (%s), the seed is what it was", how),
		Hint: "What the command printed says why; correct it and run the refresh again."}
}
