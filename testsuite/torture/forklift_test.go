package torture

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"forklift/testsuite/internal/harness"
)

// verbDeadline is how long one run of the command may take.
const verbDeadline = 60 * time.Second

// patience is how long a process may take to go.
const patience = 5 * time.Second

// shared is what all sweeps use.
var shared struct {
	bin string // directory of forklift, built with failpoints
	pg  string // directory of PostgreSQL's programs
	exe string // this test binary: the probe
	// preparer is the program that prepares a restore as the daemon does, built
	// with failpoints.
	preparer string
}

func TestMain(m *testing.M) {
	switch os.Getenv(probeEnv) {
	case "describe":
		text, err := probe()
		exitWith(text, err)
	case "sql":
		exitWith("", runSQL(os.Args[1]))
	}
	harness.Main(m, func(bin, pg string) (err error) {
		shared.bin, shared.pg = bin, pg
		// Rounds wait for processes half of the time: one more than there are cores.
		flag.Parse()
		if err := flag.Set("test.parallel", strconv.Itoa(max(2, runtime.NumCPU()+1))); err != nil {
			return err
		}
		if shared.preparer, err = harness.BuildProgram(bin, "testsuite/internal/preparer", "failpoint"); err != nil {
			return err
		}
		shared.exe, err = os.Executable()
		return err
	}, "failpoint")
}

// exitWith ends the probe.
func exitWith(text string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(text)
	os.Exit(0)
}

// world is a home with a store, and a repository in it.
type world struct {
	*harness.World
	looks  int  // how often it was seen interrupted
	ruined bool // there is a cluster that no server starts in
}

// files are those of the repository.
var files = map[string]string{
	"src/app.txt": "version 1\n", "src/lib/a.txt": "library\n", "src/gone/b.txt": "will be removed\n", "docs/guide.txt": "not selected\n",
	".forklift.json": `{"format": 1, "source": ["src"]}` + "\n",
}

// newWorld makes a home and a repository with one commit.
func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{World: harness.NewWorld(t, shared.bin, shared.pg, files)}
}

// forklift runs the command in the worktree with more environment variables.
func (w *world) forklift(t *testing.T, env []string, args ...string) harness.Result {
	t.Helper()
	return w.Exec(t, verbDeadline, env, "forklift", args...)
}

// must runs the command, which has to succeed, and gives its stdout.
func (w *world) must(t *testing.T, args ...string) string {
	t.Helper()
	r := w.forklift(t, nil, args...)
	if r.Code != 0 {
		t.Fatalf("forklift %s: %v", strings.Join(args, " "), r)
	}
	return r.Stdout
}

// sql changes the database.
func (w *world) sql(t *testing.T, text string) {
	t.Helper()
	r := w.forklift(t, []string{probeEnv + "=sql"}, "run", "--", shared.exe, text)
	if r.Code != 0 {
		t.Fatalf("run sql: %v", r)
	}
}

// decode reads a --json answer.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("read the answer: %v\n%s", err, text)
	}
}

// describeTree describes a directory without git's.
func describeTree(t *testing.T, dir string) string {
	t.Helper()
	text, err := harness.DescribeTree(dir, harness.TreeOptions{Omit: []string{".git"}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// state is everything that a verb may change, as text: the checkpoints'
// names, the files, the database.
type state struct{ names, files, data string }

// difference says in what two states differ, for a message.
func (s state) difference(want state) string {
	for _, part := range []struct{ name, got, want string }{
		{"names", s.names, want.names}, {"files", s.files, want.files}, {"database", s.data, want.data},
	} {
		if d := harness.FirstDifference(part.got, part.want); d != "" {
			return part.name + ": " + d
		}
	}
	return ""
}

// describe looks at the state; it may start the server and stops it again.
func (w *world) describe(t *testing.T) state {
	t.Helper()
	var list struct {
		Checkpoints []struct{ Name string }
	}
	decode(t, w.must(t, "list", "--json"), &list)
	s := state{files: describeTree(t, w.Repo)}
	for _, c := range list.Checkpoints {
		s.names += c.Name + "\n"
	}
	if w.ruined {
		s.data = w.describeRuined(t)
		return s
	}
	s.data = w.describeServed(t)
	return s
}

// describeServed has a server describe its database.
func (w *world) describeServed(t *testing.T) string {
	t.Helper()
	r := w.forklift(t, []string{probeEnv + "=describe"}, "run", "--", shared.exe)
	if r.Code != 0 {
		t.Fatalf("describe the database: %v", r)
	}
	return r.Stdout
}
