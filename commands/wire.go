package commands

import (
	"context"
	"runtime"

	"forklift/engine"
	"forklift/engine/config"
	"forklift/engine/gitdir"
	"forklift/engine/postgres"
	"forklift/storage/clock"
	"forklift/storage/vfs"
	"forklift/supabase"
)

// newDatabases is the major version that new databases use if it is there.
const newDatabases = 17

// Wire completes an Env with the engine and the PostgreSQL of this machine.
// It is the one place where the database kinds are given to the engine. It
// reads env.Environ and env.Caller and nothing else of the process; actor is who asks: "cli",
// "lsp" or "mcp".
func Wire(env Env, actor string) (Env, error) {
	places, err := PlacesOf(env.Environ, runtime.GOOS)
	if err != nil {
		return env, err
	}
	disk := vfs.OS()
	if env.Clock == nil {
		env.Clock = clock.System{}
	}
	pg := postgres.Options{
		FS: disk, Clock: env.Clock, CacheDir: places.Cache,
		Getenv: func(name string) string {
			value, _ := lookup(env.Environ, name)
			return value
		},
	}
	env.Postgres = localPostgres{pg}
	env.Engine = NewEngine(engine.Host{
		FS: disk, Clock: env.Clock, Actor: actor, Caller: env.Caller, StoreDir: places.Store, StateDir: places.State,
		Kinds: map[string]engine.OpenDatabase{
			"postgres": postgres.Opener(pg),
			"supabase": supabase.Opener(supabase.Deps{FS: disk, Clock: env.Clock, Environ: env.Environ}),
		},
		DefaultKind: "postgres",
		Detect: func(ctx context.Context, worktree string) (*config.Detected, error) {
			return supabase.Detect(ctx, disk, worktree)
		},
		Git:     gitdir.New(),
		RunHook: hookRunner{env.Environ, env.Stderr}.run,
	})
	return env, nil
}

// Kinds describes the database kinds that Wire gives to the engine.
func Kinds() []config.Kind { return []config.Kind{postgres.Describe(), supabase.Describe()} }

// localPostgres is the PostgreSQL of this machine.
type localPostgres struct {
	opt postgres.Options
}

// Find lists what is there and marks what a new database would use.
func (l localPostgres) Find(ctx context.Context) ([]Installation, error) {
	found, err := postgres.Find(ctx, l.opt)
	if err != nil {
		return nil, err
	}
	var out []Installation
	used := -1
	for i, in := range found {
		out = append(out, Installation{Installation: in})
		if i > 0 && found[0].Named {
			continue // what the user named is used or refused
		}
		if in.Usable && (used < 0 || (in.Major == newDatabases && found[used].Major != newDatabases)) {
			used = i
		}
	}
	if used >= 0 {
		out[used].Used = true
	}
	return out, nil
}

// Install fetches the embedded installation.
func (l localPostgres) Install(ctx context.Context) (Installation, error) {
	in, err := postgres.Install(ctx, l.opt)
	return Installation{Installation: in}, err
}
