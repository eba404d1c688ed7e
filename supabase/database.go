package supabase

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"forklift/engine"
	"forklift/engine/postgres"
	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Names of the trees.
const (
	dataTree    = "data"
	uploadsTree = "uploads"
	stateTree   = "state"
)

// superuser is the role of Forklift's own sessions: the one that the stack's
// database is made with.
const (
	superuser = "supabase_admin"
	database  = "postgres"
)

// Deps is what the kind gets from the process it runs in.
type Deps struct {
	FS      vfs.FS      // the machine's disk; stacks cannot run on another one
	Clock   clock.Clock // for what status shows
	Environ []string    // the environment of the user, "NAME=value": the CLI is given it
	// Account is the unprivileged account for PostgreSQL when Forklift runs
	// as root; "" looks for one.
	Account string
}

// getenv reads the environment; the last entry of a name counts.
func (d Deps) getenv(name string) string {
	for i := len(d.Environ) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(d.Environ[i], "="); ok && key == name {
			return value
		}
	}
	return ""
}

// stack is the engine's Database for one branch.
type stack struct {
	deps     Deps
	fs       vfs.FS
	branch   engine.Branch
	settings Settings
	options  Options

	overlay  overlay
	identity identity
	id       string // of the stack, for the CLI
	number   string // of the database's instance
	dir      *postgres.Directory

	mu       sync.Mutex
	warnings []string    // of the last Trees at rest
	selected engine.Slot // that was asked about last
}

// Opener gives the engine's way to open a branch's stack. Opening looks at
// nothing but the place of the branch, and starts nothing. Unknown settings are
// an error of kind Usage.
func Opener(deps Deps) engine.OpenDatabase {
	return func(_ context.Context, branch engine.Branch, settings json.RawMessage) (engine.Database, error) {
		s := &stack{deps: deps, fs: deps.FS, branch: branch, number: instanceNumber(branch.ID), selected: engine.SlotA}
		if err := s.settings.parse(settings); err != nil {
			return nil, err
		}
		if err := s.options.parse(branch.Options); err != nil {
			return nil, err
		}
		// The CLI names the stack by the real path of its project.
		real, err := filepath.EvalSymlinks(branch.Dir)
		if err != nil {
			real = branch.Dir
		}
		s.overlay = overlay{fs: deps.FS, dir: path.Join(real, "run", projectDir)}
		s.identity = identity{ProjectRoot: s.overlay.dir, BranchContext: pinnedBranch, StackName: stackName}
		s.id = s.identity.id()
		s.dir = postgres.NewDirectory(postgres.DirectoryOptions{FS: deps.FS, Branch: branch, Dir: s.cluster, Server: s.server,
			User: superuser, Database: database, Selected: func() engine.Slot { return s.selected }})
		return s, nil
	}
}

// Kind is "supabase".
func (s *stack) Kind() string { return kindName }

// project is the directory of the user's that holds supabase/config.toml.
func (s *stack) project() (string, error) {
	if s.branch.Worktree == "" {
		return "", &fault.Error{Op: "find Supabase project", Kind: fault.NotFound, Err: os.ErrNotExist,
			Hint: "Adopt the database in a worktree of the project (`forklift adopt`), then try again."}
	}
	if s.settings.Directory != "" {
		return path.Join(s.branch.Worktree, s.settings.Directory), nil
	}
	dirs, err := projects(s.fs, s.branch.Worktree)
	switch {
	case err != nil:
		return "", err
	case len(dirs) == 0:
		return "", &fault.Error{Op: "find Supabase project", Path: s.branch.Worktree, Kind: fault.NotFound, Err: os.ErrNotExist,
			Hint: "There is no " + configName + " in the worktree: restore it (`git checkout`, `forklift restore`), or name its place as `directory` in .forklift.json."}
	case len(dirs) > 1:
		return "", severalProjects(s.branch.Worktree, dirs)
	}
	return path.Join(s.branch.Worktree, dirs[0]), nil
}

// Settle writes out what the database holds in memory.
func (s *stack) Settle(ctx context.Context) error {
	if err := s.known(ctx); err != nil {
		return err
	}
	return s.dir.Settle(ctx)
}

// serviceRoles are the roles that the stack's own services have sessions as.
// Their work is short; what clients have under way is theirs to finish.
var serviceRoles = map[string]bool{"supabase_admin": true, "authenticator": true, "supabase_auth_admin": true, "supabase_storage_admin": true,
	"supabase_replication_admin": true, "supabase_read_only_user": true, "supabase_functions_admin": true, "supabase_realtime_admin": true,
	"supabase_etl_admin": true, "pgbouncer": true, "pgsodium_keymaker": true}

// Clients lists the sessions of the database that are neither ours nor a
// service's.
func (s *stack) Clients(ctx context.Context) ([]engine.Client, error) {
	if err := s.known(ctx); err != nil {
		return nil, err
	}
	return s.dir.Clients(ctx, func(role string) bool { return serviceRoles[role] })
}

// Observe asks the running database about its tables.
func (s *stack) Observe(ctx context.Context) (engine.Observation, error) {
	if err := s.known(ctx); err != nil {
		return engine.Observation{}, err
	}
	return s.dir.Observe(ctx)
}

// Changes compares counters of two observations.
func (s *stack) Changes(before, after json.RawMessage) ([]engine.TableChange, error) {
	return s.dir.Changes(before, after)
}

// Definitions compares what is defined in two observations.
func (s *stack) Definitions(before, after json.RawMessage) ([]engine.DefinitionChange, bool, error) {
	return s.dir.Definitions(before, after)
}

// TableFiles names the tables of changed files of the tree data.
func (s *stack) TableFiles(before, after json.RawMessage, changed []engine.ChangedFile) ([]engine.TableFile, error) {
	var list []engine.ChangedFile
	for _, f := range changed {
		if name, ok := strings.CutPrefix(f.Path, clusterDir+"/"); ok && f.Tree == dataTree {
			f.Path = name
			list = append(list, f)
		}
	}
	return s.dir.TableFiles(before, after, list)
}

// Load runs plain SQL files against the running database.
func (s *stack) Load(ctx context.Context, files []string, name string) error {
	return s.dir.Load(ctx, files, name)
}

// Place is the directory of a tree in a slot.
func (s *stack) Place(slot engine.Slot, tree string) string {
	switch tree {
	case dataTree:
		return path.Join(s.stackDir(slot), dataDir, s.number)
	case uploadsTree:
		return s.uploads(slot)
	case stateTree:
		return s.captured(slot)
	}
	return ""
}

// Warnings tells what the last Trees at rest kept against the usual rules.
func (s *stack) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.warnings...)
}

// Unchanged is false: only a stopped stack tells. The package's comment says
// why.
func (s *stack) Unchanged(context.Context, engine.Slot, json.RawMessage) bool { return false }
