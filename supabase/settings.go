package supabase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"forklift/engine/config"
	"forklift/storage/fault"
)

// kindName is the kind's name in .forklift.json.
const kindName = "supabase"

// Settings are the kind's keys in the object `database` of .forklift.json.
type Settings struct {
	// Directory holds supabase/config.toml's directory supabase/, relative to
	// the worktree; "" looks for the only one there is.
	Directory string `json:"directory"`
	// Runtime is the CLI's runtime: "native", or "" for the same.
	Runtime string `json:"runtime"`
}

// Options are the object `supabase` of .forklift.json.
type Options struct {
	// Exclude are the services that the stack goes without, as the CLI names them.
	Exclude []string `json:"exclude"`
	// Presets are frameworks whose names of variables are given, too; nil is
	// ["next"].
	Presets []string `json:"presets"`
	// Env are further variables by name: each is given what the CLI calls the
	// value's name, such as API_URL.
	Env map[string]string `json:"env"`
}

// services are what the CLI can leave out.
var services = []string{"rest", "auth", "realtime", "storage", "functions", "studio", "mail", "analytics", "pooler"}

// variableName is what an environment variable can be called.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// valueName is what the CLI calls a value of its status.
var valueName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,127}$`)

// Describe tells what .forklift.json can say about this kind.
func Describe() config.Kind {
	return config.Kind{
		Name: kindName, Doc: "A local Supabase stack of the worktree's own.",
		Keys: []config.Key{
			{Name: "directory", Type: config.Text, Example: `"."`,
				Doc: "The directory that holds `supabase/config.toml`'s directory `supabase`, relative to the worktree. Without it Forklift looks for the only one there is."},
			{Name: "runtime", Type: config.Text, Default: `"` + nativeRuntime + `"`, Values: []string{nativeRuntime},
				Doc: "The runtime of the Supabase CLI. Only `native` keeps all state in plain files, which is what a checkpoint saves."},
		},
		Check: func(settings json.RawMessage) error { return new(Settings).parse(settings) },
		Own: []config.Key{
			{Name: "exclude", Type: config.Texts, Values: services, Example: `["studio", "analytics", "pooler"]`,
				Doc: "Services that the stack goes without: " + strings.Join(services, ", ") + "."},
			{Name: "presets", Type: config.Texts, Values: presetNames(), Default: `["next"]`, Example: `["next"]`,
				Doc: "Frameworks whose names of variables commands are given beside the plain ones (`SUPABASE_URL`, `SUPABASE_SECRET_KEY`, ...): " + strings.Join(presetNames(), ", ") + "."},
			{Name: "env", Type: config.Names, Pattern: variableName.String(), Example: `{"DIRECT_URL": "DB_URL"}`,
				Doc: "Further variables, by name: each is given one of the values that `supabase status --env` shows, such as `API_URL`, `PUBLISHABLE_KEY`, `SECRET_KEY` or `DB_URL`. A secret key is refused under a name that a browser would see (`NEXT_PUBLIC_`, `VITE_`, ...)."},
		},
		CheckOwn: func(options json.RawMessage) error { return new(Options).parse(options) },
	}
}

// parse reads the settings strictly.
func (s *Settings) parse(data json.RawMessage) error {
	var all struct {
		Settings
		Kind string `json:"kind"`
	}
	if err := decode(data, &all); err != nil {
		return badSettings("database", `"kind", "directory" and "runtime"`, err)
	}
	*s = all.Settings
	bad := func(format string, args ...any) error {
		return badSettings("database", `"kind", "directory" and "runtime"`, fmt.Errorf(format, args...))
	}
	if all.Kind != "" && all.Kind != kindName {
		return bad("kind %q is not %q", all.Kind, kindName)
	}
	if s.Directory != "" && (path.IsAbs(s.Directory) || path.Clean(s.Directory) != s.Directory || strings.HasPrefix(s.Directory, "..")) {
		return bad("directory %q is not a clean path inside the worktree", s.Directory)
	}
	return checkRuntime(s.Runtime)
}

// parse reads the options strictly.
func (o *Options) parse(data json.RawMessage) error {
	const keys = `"exclude", "presets" and "env"`
	bad := func(format string, args ...any) error {
		return badSettings(kindName, keys, fmt.Errorf(format, args...))
	}
	if err := decode(data, o); err != nil {
		return badSettings(kindName, keys, err)
	}
	for _, name := range o.Exclude {
		if !slices.Contains(services, name) {
			return bad("exclude: there is no service %q; there are %s", name, strings.Join(services, ", "))
		}
	}
	for _, name := range o.Presets {
		if !slices.Contains(presetNames(), name) {
			return bad("presets: there is no preset %q; there are %s", name, strings.Join(presetNames(), ", "))
		}
	}
	for variable, value := range o.Env {
		switch {
		case !variableName.MatchString(variable):
			return bad("env: %q is not the name of an environment variable", variable)
		case !valueName.MatchString(value):
			return bad("env: %s: %q is not a name that `supabase status --env` shows, such as API_URL", variable, value)
		case secretValue(value) && publicName(variable):
			return bad("env: %s would show the secret %s to every visitor of the app", variable, value)
		case value == dbURL && publicName(variable):
			return bad("env: %s would show the database's password to every visitor of the app", variable)
		case reserved(variable):
			return bad("env: %s is set by Forklift itself", variable)
		}
	}
	return nil
}

// decode reads an object strictly; nothing and null are an empty one.
func decode(data json.RawMessage, into any) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

func badSettings(object, keys string, err error) error {
	return &fault.Error{Op: "read " + object + " settings", Kind: fault.Usage, Err: err,
		Hint: "The object " + object + " of .forklift.json may hold " + keys + "."}
}
