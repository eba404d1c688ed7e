package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	"forklift/engine"
	"forklift/engine/postgres"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// Trees tells what a capture saves: the database's directory, the uploaded
// files, and at rest the stack's settings.
func (s *stack) Trees(ctx context.Context, slot engine.Slot, hot bool) ([]engine.DatabaseTree, error) {
	s.selected = slot
	if !hot {
		if err := s.proveRest(slot); err != nil {
			return nil, err
		}
		if err := s.harvest(slot); err != nil {
			return nil, err
		}
	}
	rules, warnings, err := s.dir.Rules(ctx, slot, hot)
	if err != nil {
		return nil, err
	}
	if err := durable.MkdirAll(s.fs, s.uploads(slot), 0o700); err != nil {
		return nil, fault.Wrap("make directory", s.uploads(slot), err)
	}
	trees := []engine.DatabaseTree{
		{Name: dataTree, Dir: s.database(slot), Rules: below(rules)},
		{Name: uploadsTree, Dir: s.uploads(slot), Rules: storage.Rules{Unit: storage.Pages, Xattrs: true, Moving: hot, Filter: keepAll}},
	}
	if hot {
		return trees, nil
	}
	s.mu.Lock()
	s.warnings = warnings
	s.mu.Unlock()
	return append(trees, engine.DatabaseTree{Name: stateTree, Dir: s.captured(slot), Rules: storage.Rules{Unit: storage.Pages, Filter: keepState}}), nil
}

// proveRest proves that nothing of the stack runs, and that its database was
// stopped cleanly.
func (s *stack) proveRest(slot engine.Slot) error {
	seen, err := s.look()
	if err != nil {
		return err
	}
	if seen.cli {
		return &fault.Error{Op: "read stopped stack", Path: s.home(slot), Kind: fault.Busy, Err: errors.New("the Supabase CLI is starting or stopping it"), Hint: "Wait until it has ended, then try again."}
	}
	if !seen.idle() {
		return &fault.Error{Op: "read stopped stack", Path: s.home(slot), Kind: fault.Busy, Err: fmt.Errorf("process %d of it is there", max(seen.owner, seen.pid)),
			Hint: "Stop it: `forklift db stop`."}
	}
	if !s.dir.Clean(slot) {
		return &fault.Error{Op: "read stopped stack", Path: s.cluster(slot), Kind: fault.Failed, Err: errors.New("the control file does not say that the database was shut down"),
			Hint: "Start the stack, so that it recovers, and stop it again."}
	}
	return nil
}

// below makes rules for the database's directory of those for PGDATA in it.
// Beside PGDATA are the marks that the CLI knows the data by, and the key of
// encrypted columns.
func below(inner storage.Rules) storage.Rules {
	rules := inner
	rules.Zero = make(map[string][]storage.Range, len(inner.Zero))
	for name, ranges := range inner.Zero {
		rules.Zero[path.Join(clusterDir, name)] = ranges
	}
	rules.Filter = func(name string, info vfs.Info) storage.Decision {
		if inside, ok := strings.CutPrefix(name, clusterDir+"/"); ok {
			return inner.Filter(inside, info)
		}
		if !strings.Contains(name, "/") && leftOut(name) {
			return storage.Decision{Action: storage.Skip}
		}
		return storage.Decision{Action: storage.Keep}
	}
	return rules
}

// leftOut reports what of the database's directory is of the running stack.
func leftOut(name string) bool {
	return strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "schema-writers") || strings.HasPrefix(name, ".staging") ||
		strings.HasPrefix(name, ".identity-") || durable.IsTemp(name)
}

func keepAll(string, vfs.Info) storage.Decision { return storage.Decision{Action: storage.Keep} }

func keepState(name string, _ vfs.Info) storage.Decision {
	if durable.IsTemp(name) {
		return storage.Decision{Action: storage.Skip}
	}
	return storage.Decision{Action: storage.Keep}
}

// facts is the JSON that a pair keeps about a stack.
type facts struct {
	Format   int             `json:"format"`
	CLI      string          `json:"cli"`     // version that it was stopped with
	Runtime  string          `json:"runtime"` // of the CLI
	System   string          `json:"system"`  // as Go names it
	Version  string          `json:"version"` // of PostgreSQL, for people
	Build    json.RawMessage `json:"build,omitempty"`
	Postgres json.RawMessage `json:"postgres"` // what its files say
}

const (
	factsFormat   = 1
	identityName  = ".supabase-database-identity.json"
	maxBuildBytes = 4096
)

// Facts describes what a slot holds, from its files.
func (s *stack) Facts(ctx context.Context, slot engine.Slot) (json.RawMessage, error) {
	s.selected = slot
	pg, err := s.dir.Facts(ctx, slot)
	if err != nil {
		return nil, err
	}
	f := facts{Format: factsFormat, System: runtime.GOOS, Postgres: pg, Version: s.version(slot)}
	if v, err := s.capturedVersion(slot); err == nil && v != nil {
		f.CLI, f.Runtime = v.CLI, v.Runtime
	}
	if build, err := durable.ReadFile(s.fs, path.Join(s.database(slot), identityName), maxBuildBytes); err == nil && json.Valid(build) {
		f.Build = build
	}
	return json.Marshal(f)
}

// CheckFacts says by name why a stack with these facts cannot be started here.
// Which build of PostgreSQL it needs is in its own lock of the services, which
// comes back with it.
func (s *stack) CheckFacts(_ context.Context, data json.RawMessage) error {
	var f facts
	if err := json.Unmarshal(data, &f); err != nil || f.Format != factsFormat {
		return &fault.Error{Op: "check stack", Kind: fault.Unsupported, Err: fmt.Errorf("its facts have format %d, %d is known (%w)", f.Format, factsFormat, err),
			Hint: "A newer Forklift wrote it; use that one."}
	}
	if f.System != runtime.GOOS {
		return &fault.Error{Op: "check stack", Kind: fault.Unsupported, Err: fmt.Errorf("it was made on %s, this machine is %s", f.System, runtime.GOOS),
			Hint: "A stack's files can only be used on the kind of machine that wrote them."}
	}
	if f.Runtime != "" {
		if err := checkRuntime(f.Runtime); err != nil {
			return err
		}
	}
	return s.dir.CheckFacts(f.Postgres)
}

// capturedVersion reads what describes a slot's captured state; nil without one.
func (s *stack) capturedVersion(slot engine.Slot) (*capturedVersion, error) {
	data, err := s.capturedFile(slot, versionName, maxStateBytes)
	if err != nil || data == nil {
		return nil, err
	}
	var v capturedVersion
	if err := record.Decode(data, versionKind, versionFormat, &v); err != nil {
		return nil, fault.Wrap("read captured state", path.Join(s.captured(slot), versionName), err)
	}
	return &v, nil
}

// Env is what a managed command is given. Addresses are the same for as long as
// the branch lives; keys are those of the last start or, before the first one,
// those that came with the data.
func (s *stack) Env(_ context.Context, connectionEnv string) ([]engine.EnvVar, error) {
	if publicName(connectionEnv) {
		return nil, &fault.Error{Op: "name variables", Path: connectionEnv, Kind: fault.Usage, Err: errors.New("it would show the database's password to every visitor of the app"),
			Hint: "Choose another connection_env in .forklift.json, such as DATABASE_URL."}
	}
	values, err := s.values()
	if err != nil {
		return nil, err
	}
	vars := s.options.variables(values, connectionEnv)
	for _, v := range libpq(values[dbURL]) {
		if v.Name != connectionEnv && s.options.Env[v.Name] == "" {
			vars = append(vars, v)
		}
	}
	vars = append(vars, postgres.Misleading()...)
	return append(vars,
		engine.EnvVar{Name: homeVariable, Value: s.runFile(homeLink)},
		engine.EnvVar{Name: workdirVariable, Value: s.overlay.dir},
		engine.EnvVar{Name: stackVariable, Value: "1"}), nil
}

// values are what the status shows.
func (s *stack) values() (map[string]string, error) {
	if l := s.launchRecord(); l != nil {
		return l.Values, nil
	}
	for _, slot := range [...]engine.Slot{engine.SlotA, engine.SlotB} {
		v, err := s.capturedVersion(slot)
		if err != nil {
			return nil, err
		}
		if v == nil || v.Values == nil {
			continue
		}
		p, err := s.ports()
		if err != nil {
			return nil, err
		}
		values := make(map[string]string, len(v.Values))
		for name, text := range v.Values {
			values[name] = p.unmark(text)
		}
		return values, nil
	}
	return nil, &fault.Error{Op: "name variables", Path: s.branch.Dir, Kind: fault.NotFound, Err: errors.New("the stack was not started yet"), Hint: "Run `forklift db start`."}
}
