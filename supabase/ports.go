package supabase

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/user"
	"path"
	"runtime"
	"strconv"
	"strings"

	"forklift/engine"
	"forklift/engine/postgres"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// portRange is where the ports of stacks are from: neither from 20000 to 32767,
// where the CLI chooses those of other stacks, nor where the system takes those
// of outgoing connections.
func portRange() (first, last int) {
	if runtime.GOOS == "linux" {
		return 61000, 65499
	}
	return 33000, 48999
}

// ports are those of a branch's stack, by the table of config.toml that fixes
// them: the same in both slots and for as long as the branch lives, so that
// addresses stay the same over restores.
type ports map[string]int

// portTables are the tables whose ports a branch keeps.
var portTables = []string{"api", "db"}

const (
	portsName   = "ports.json"
	portsKind   = "supabase-ports"
	portsFormat = 1
)

// ports reads the branch's ports, and chooses them first if it has none: such
// that nobody listens at them and no other branch of the store has them.
func (s *stack) ports() (ports, error) {
	var p ports
	name := s.runFile(portsName)
	err := record.Read(s.fs, name, portsKind, portsFormat, &p)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return p, fault.Wrap("read ports", name, err)
	}
	taken, err := s.portsOfOthers()
	if err != nil {
		return nil, err
	}
	h := fnv.New32a()
	h.Write([]byte(s.branch.ID))
	firstPort, lastPort := portRange()
	count := lastPort - firstPort + 1
	p = ports{}
	start, free := int(h.Sum32()%uint32(count)), portTables
	for i := 0; i < count && len(free) > 0; i++ {
		port := firstPort + (start+i)%count
		if !taken[port] && postgres.PortFree(port) == nil {
			p[free[0]], free = port, free[1:]
		}
	}
	if len(free) > 0 {
		return nil, &fault.Error{Op: "choose ports", Kind: fault.Busy, Err: fmt.Errorf("no ports from %d to %d are free", firstPort, lastPort), Hint: "Stop programs that listen there."}
	}
	if err := durable.MkdirAll(s.fs, s.branch.RunDir(), 0o700); err != nil {
		return nil, fault.Wrap("make directory", s.branch.RunDir(), err)
	}
	return p, record.Write(s.fs, name, portsKind, portsFormat, p)
}

// portsOfOthers are the ports of the branches beside this one.
func (s *stack) portsOfOthers() (map[int]bool, error) {
	branches := path.Dir(s.branch.Dir)
	entries, err := s.fs.ReadDir(branches)
	if err != nil {
		return nil, fault.Wrap("choose ports", branches, err)
	}
	taken := map[int]bool{}
	for _, e := range entries {
		var p ports
		if dir := path.Join(branches, e.Name); dir != s.branch.Dir &&
			record.Read(s.fs, path.Join(dir, "run", portsName), portsKind, portsFormat, &p) == nil {
			for _, port := range p {
				taken[port] = true
			}
		}
	}
	return taken, nil
}

// mark replaces ports in an address by marks that stand for any branch's.
func (p ports) mark(text string) string {
	for _, table := range portTables {
		text = strings.ReplaceAll(text, ":"+strconv.Itoa(p[table]), ":"+fmt.Sprintf(markEndpoint, table))
	}
	return text
}

// unmark puts ports in the place of marks.
func (p ports) unmark(text string) string {
	for _, table := range portTables {
		text = strings.ReplaceAll(text, fmt.Sprintf(markEndpoint, table), strconv.Itoa(p[table]))
	}
	return text
}

// dropped are variables of the user's that would lead the private stack
// elsewhere.
func dropped(name string) bool {
	switch name {
	case homeVariable, workdirVariable, stackVariable, "SUPABASE_PROJECT_ID", "SUPABASE_STACK", "SUPABASE_DB_URL", "SUPABASE_URL":
		return true
	}
	return strings.HasPrefix(name, "SUPABASE_") && strings.HasSuffix(name, "_PORT") && !strings.HasPrefix(name, "SUPABASE_INTERNAL_")
}

// accountVariable names the account that PostgreSQL runs as when the CLI runs
// as root.
const accountVariable = "SUPABASE_NATIVE_POSTGRES_USER"

// environment is what the CLI is given: the user's, led to a slot.
func (s *stack) environment(slot engine.Slot) ([]string, error) {
	var env []string
	for _, entry := range s.deps.Environ {
		if name, _, _ := strings.Cut(entry, "="); !dropped(name) {
			env = append(env, entry)
		}
	}
	env = append(env, homeVariable+"="+s.home(slot), stackVariable+"=1", "NO_COLOR=1")
	env = append(env, quiet...)
	if os.Geteuid() == 0 && s.deps.getenv(accountVariable) == "" {
		name, err := s.account()
		if err != nil {
			return nil, err
		}
		env = append(env, accountVariable+"="+name)
	}
	return env, nil
}

// account finds the unprivileged account that PostgreSQL runs as: what the
// CLI takes has a number and a group of its own.
func (s *stack) account() (string, error) {
	names := []string{"supabase-postgres", "postgres"}
	if s.deps.Account != "" {
		names = []string{s.deps.Account}
	}
	for _, name := range names {
		if u, err := user.Lookup(name); err == nil && u.Uid != "0" && u.Gid != "0" {
			return name, nil
		}
	}
	return "", &fault.Error{Op: "choose account", Kind: fault.Unsupported, Err: fmt.Errorf("PostgreSQL does not run as root, and there is no account %q", names),
		Hint: "Make one (`useradd --system --user-group supabase-postgres`), or name one in " + accountVariable + "."}
}

// program is the CLI, with its version.
func (s *stack) program(ctx context.Context) (cli, error) {
	project, err := s.project()
	if err != nil {
		project = "" // the one on PATH will do
	}
	p := cli{Path: findProgram(s.deps.getenv, project, s.branch.Worktree)}
	if p.Path == "" {
		return p, noProgram()
	}
	if err := p.sign(); err != nil {
		return p, err
	}
	var last cli
	if record.Read(s.fs, s.runFile(cliName), cliKind, cliFormat, &last) == nil && last.Path == p.Path && last.Size == p.Size && last.Mtime == p.Mtime {
		return last, nil
	}
	if p.Version, err = p.ask(ctx, s.deps.Environ); err != nil {
		return p, err
	}
	if err := checkVersion(p.Version, p.Path); err != nil {
		return p, err
	}
	if _, err := s.fs.Lstat(s.branch.RunDir()); err != nil {
		return p, nil // the branch is not made yet, or gone
	}
	return p, record.Write(s.fs, s.runFile(cliName), cliKind, cliFormat, p)
}

// The record of the CLI that was found, which spares asking for its version.
const (
	cliName   = "cli.json"
	cliKind   = "supabase-cli"
	cliFormat = 1
)
