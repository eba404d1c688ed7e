package supabase

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	"forklift/storage/durable"
	"forklift/storage/fault"
)

// Examination is what `doctor` tells of a worktree with a Supabase project:
// facts, not judgements. What could not be found out is zero, with its error.
type Examination struct {
	Project    string   // the directory that holds supabase/config.toml
	ProjectErr error    // of several, or of one that is not where .forklift.json says
	Program    string   // the CLI; "" for none
	Version    string   // of it
	Untested   string   // a sentence when that is not the version that Forklift was tested with
	ProgramErr error    // why it cannot be used
	Refused    []string // settings of config.toml that stacks do not take: "key: why"
	ConfigErr  error    // why config.toml cannot be read, or its ports cannot be taken out
	AccountErr error    // why PostgreSQL cannot run, as root
}

// Runtime is the runtime of the CLI that stacks use.
func (Examination) Runtime() string { return nativeRuntime }

// Examine looks at the Supabase project of a worktree; nil when it has none.
// settings is the object `database` of its .forklift.json, nil without one. It
// changes nothing and runs nothing of the repository: a CLI among the packages
// of the project is not run, its package tells the version.
func Examine(ctx context.Context, deps Deps, worktree string, settings json.RawMessage) *Examination {
	s := &stack{deps: deps, fs: deps.FS}
	s.branch.Worktree = worktree
	wanted := settings != nil // of this kind
	if s.settings.parse(settings) != nil {
		return nil // of another one, or what its own check complains about
	}
	x := &Examination{}
	if x.Project, x.ProjectErr = s.project(); x.ProjectErr != nil && !wanted && fault.KindOf(x.ProjectErr) == fault.NotFound {
		return nil
	}
	x.program(ctx, deps, worktree)
	if x.ProjectErr == nil {
		x.config(s)
	}
	if os.Geteuid() == 0 && deps.getenv(accountVariable) == "" {
		_, x.AccountErr = s.account()
	}
	return x
}

// program looks for the CLI and its version.
func (x *Examination) program(ctx context.Context, deps Deps, worktree string) {
	p := cli{Path: findProgram(deps.getenv, x.Project, worktree)}
	if p.Path == "" {
		x.ProgramErr = noProgram()
		return
	}
	x.Program = p.Path
	if strings.HasPrefix(p.Path, worktree+"/") {
		x.Version, x.ProgramErr = packageVersion(p.Path)
	} else {
		x.Version, x.ProgramErr = p.ask(ctx, deps.Environ)
	}
	if x.ProgramErr == nil {
		x.ProgramErr = checkVersion(x.Version, p.Path)
	}
	if x.ProgramErr == nil {
		x.Untested = untested(x.Version)
	}
}

// packageVersion is the version that the package of a CLI in node_modules/.bin
// says.
func packageVersion(program string) (string, error) {
	name := path.Join(path.Dir(path.Dir(program)), programName, "package.json")
	data, err := os.ReadFile(name)
	var p struct {
		Version string `json:"version"`
	}
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return "", &fault.Error{Op: "find Supabase CLI", Path: name, Err: fmt.Errorf("its package does not tell its version: %w", err), Hint: "Install the project's packages again."}
	}
	return p.Version, nil
}

// config looks at config.toml.
func (x *Examination) config(s *stack) {
	name := path.Join(x.Project, configName)
	text, err := durable.ReadFile(s.fs, name, maxConfigBytes)
	if err != nil {
		x.ConfigErr = fault.Wrap("read Supabase configuration", name, err)
		return
	}
	if _, x.ConfigErr = derive(name, text, nil); x.ConfigErr != nil {
		return
	}
	list, err := refusals(text)
	for _, r := range list {
		x.Refused = append(x.Refused, r.key+": "+r.why)
	}
	x.ConfigErr = err
}
