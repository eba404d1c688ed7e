package supabase

import (
	"bufio"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forklift/testsuite/internal/harness"
	"forklift/testsuite/internal/supaworld"
)

// deadline is how long one run of the command may take.
const deadline = 5 * time.Minute

// patience is how long a process may take to go.
const patience = 10 * time.Second

// shared is what all tests use.
var shared struct {
	pg      string // directory of PostgreSQL's programs
	hub     *supaworld.Hub
	killing *supaworld.Hub // with a forklift that can be killed at its steps
}

func TestMain(m *testing.M) {
	harness.Main(m, func(bin, pg string) (err error) {
		shared.pg = pg
		if shared.hub, err = supaworld.Open(bin, pg); err != nil {
			return err
		}
		dir := filepath.Join(bin, "failpoint")
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if _, err := harness.Build(dir, "failpoint"); err != nil {
			return err
		}
		shared.killing = shared.hub.With(dir)
		return nil
	})
}

// world is a project in a repository, in which commands are run.
type world struct {
	*harness.World
	t    testing.TB
	live bool // Supabase's own services, where postgres is no superuser
}

// forkliftJSON is the configuration that the fixture commits.
const forkliftJSON = `{"format": 1, "source": ["src", "supabase"], "database": {"kind": "supabase"}, "supabase": {"exclude": ["studio", "analytics", "pooler", "functions", "realtime"]}}` + "\n"

// fixture is the hub's project with more files; "" removes one.
func fixture(t testing.TB, more map[string]string) map[string]string {
	t.Helper()
	files, err := supaworld.Fixture()
	if err != nil {
		t.Fatal(err)
	}
	files[".forklift.json"] = forkliftJSON
	maps.Copy(files, more)
	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
	return files
}

// newWorld makes a repository of the files; every supabase/config.toml gets
// the lock that leads to the archives of the test world.
func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	return &world{World: shared.hub.NewWorld(t, shared.hub.Project(files)), t: t}
}

// at is the same home and another worktree.
func (w *world) at(dir string) *world {
	other := *w.World
	other.Repo = dir
	return &world{World: &other, t: w.t}
}

// run runs the command and gives how it ended.
func (w *world) run(args ...string) harness.Result {
	w.t.Helper()
	return w.Exec(w.t, deadline, nil, "forklift", args...)
}

// forklift runs the command, which has to succeed, and gives its stdout.
func (w *world) forklift(args ...string) string {
	w.t.Helper()
	r := w.run(args...)
	if r.Code != 0 {
		w.t.Fatalf("forklift %s: %v", strings.Join(args, " "), r)
	}
	return r.Stdout
}

// git runs git in the worktree.
func (w *world) git(args ...string) string {
	w.t.Helper()
	r := w.Exec(w.t, deadline, nil, "git", args...)
	if r.Code != 0 {
		w.t.Fatalf("git %v: %v", args, r)
	}
	return r.Stdout
}

// setUp sets the worktree up, starts its stack until the test ends, and gives
// the clients of nobody and of the service.
func (w *world) setUp(args ...string) (anybody, service supaworld.Client) {
	w.t.Helper()
	w.forklift(append([]string{"setup", "--yes"}, args...)...)
	w.t.Cleanup(func() { w.run("teardown", "--yes") })
	return w.start()
}

// start starts the stack and gives the clients of nobody and of the service.
func (w *world) start() (anybody, service supaworld.Client) {
	w.t.Helper()
	w.forklift("db", "start")
	vars := w.vars()
	for _, name := range []string{"SUPABASE_URL", "SUPABASE_PUBLISHABLE_KEY", "SUPABASE_SECRET_KEY"} {
		if vars[name] == "" {
			w.t.Fatalf("commands are given no %s", name)
		}
	}
	return supaworld.Client{URL: vars["SUPABASE_URL"], Key: vars["SUPABASE_PUBLISHABLE_KEY"]},
		supaworld.Client{URL: vars["SUPABASE_URL"], Key: vars["SUPABASE_SECRET_KEY"]}
}

// vars are the variables that commands are given.
func (w *world) vars() map[string]string {
	w.t.Helper()
	var all map[string]string
	decode(w.t, w.forklift("env", "--format", "json"), &all)
	return all
}

// values are variables as sorted lines.
func values(vars map[string]string) []string {
	var lines []string
	for name, value := range vars {
		lines = append(lines, name+"="+value)
	}
	slices.Sort(lines)
	return lines
}

// query gives the rows of a query, columns separated by |.
func (w *world) query(sql string) string {
	w.t.Helper()
	return strings.TrimSpace(w.forklift("run", "--", filepath.Join(shared.pg, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql))
}

// dump is everything in the cluster, roles too, as pg_dumpall sees it. The CLI
// sets the roles' passwords anew at each start, with another salt; those and the
// key of \restrict are left out. Of Supabase's own image only the schemas that
// postgres may read.
func (w *world) dump() string {
	w.t.Helper()
	argv := []string{filepath.Join(shared.pg, "pg_dumpall"), "--no-role-passwords"}
	if w.live {
		argv = []string{filepath.Join(shared.pg, "pg_dump"), "--schema=public", "--schema=auth", "--schema=storage"}
	}
	var text strings.Builder
	lines := bufio.NewScanner(strings.NewReader(w.forklift(append([]string{"run", "--"}, argv...)...)))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		if line := lines.Text(); !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) {
			text.WriteString(line + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		w.t.Fatal(err)
	}
	return text.String()
}

// same fails if a description is not what it was.
func (w *world) same(what, got, want string) {
	w.t.Helper()
	if d := harness.FirstDifference(got, want); d != "" {
		w.t.Errorf("%s: %s", what, d)
	}
}

// files describes the worktree without git's.
func (w *world) files() string {
	w.t.Helper()
	text, err := harness.DescribeTree(w.Repo, harness.TreeOptions{Omit: []string{".git"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// clean fails if the stack left anything in the worktree or in the home's
// .supabase. The CLI keeps a table of all stacks' ports there; it is no stack.
func (w *world) clean() {
	w.t.Helper()
	if got := w.git("status", "--porcelain", "--ignored"); got != "" {
		w.t.Errorf("git status: %s", got)
	}
	found, err := os.ReadDir(filepath.Join(harness.Lookup(w.Env, "HOME"), ".supabase"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	for _, e := range found {
		if !strings.HasPrefix(e.Name(), "ports.") {
			w.t.Errorf("~/.supabase holds %s", e.Name())
		}
	}
}

// cli runs the user's own supabase under forklift.
func (w *world) cli(args ...string) string {
	w.t.Helper()
	return w.forklift(append([]string{"run", "--", "supabase"}, args...)...)
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// decode reads a --json answer.
func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("read the answer: %v\n%s", err, text)
	}
}

// node runs a script with the modules of the client library at hand.
func (w *world) node(script string, args ...string) string {
	w.t.Helper()
	dir, err := supaworld.ClientModules()
	must(w.t, err)
	text, err := os.ReadFile(script)
	must(w.t, err)
	file := filepath.Join(w.Root, filepath.Base(script))
	must(w.t, os.WriteFile(file, text, 0o600))
	must(w.t, os.RemoveAll(filepath.Join(w.Root, "node_modules")))
	must(w.t, os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(w.Root, "node_modules")))
	node, err := exec.LookPath("node")
	must(w.t, err)
	return w.forklift(append([]string{"run", "--", node, file}, args...)...)
}
