package torture

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
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
}

func TestMain(m *testing.M) {
	switch os.Getenv(probeEnv) {
	case "describe":
		text, err := probe()
		exitWith(text, err)
	case "sql":
		exitWith("", runSQL(os.Args[1]))
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
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

// run builds the command and runs the tests.
func run(m *testing.M) (int, error) {
	dir, err := harness.TempDir()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if shared.exe, err = os.Executable(); err != nil {
		return 0, err
	}
	if shared.pg, err = harness.PostgresBin(); err != nil {
		return 0, err
	}
	shared.bin = dir
	if _, err := harness.Build(dir, "failpoint"); err != nil {
		return 0, err
	}
	// Rounds wait for processes half of the time: one more than there are cores.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(2, runtime.NumCPU()+1))); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// world is a home with a store, and a repository in it.
type world struct {
	root  string // of everything; what Forklift sees is root/w
	repo  string
	env   []string
	looks int      // how often it was seen interrupted
	wrap  []string // a program and its arguments that starts the command; nil for none
}

// newWorld makes a home and a repository with one commit.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newRoot(t)
	w.fill(t)
	return w
}

// newRoot makes the directory of a world, and sees to it that nothing of the
// world is left in the end.
func newRoot(t *testing.T) *world {
	t.Helper()
	root, err := harness.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{root: root, repo: filepath.Join(root, "w", "app")}
	t.Cleanup(func() {
		left, err := harness.WaitForNone(root, patience)
		if err != nil || len(left) > 0 {
			t.Errorf("processes are left: %v %v", left, err)
			harness.End(root, left)
		}
		os.RemoveAll(root)
	})
	return w
}

// fill makes the home, and the repository with its commit.
func (w *world) fill(t *testing.T) {
	t.Helper()
	home := filepath.Join(w.root, "w", "home")
	if err := harness.MakeHome(home); err != nil {
		t.Fatal(err)
	}
	w.env = harness.Environ(home, shared.bin, shared.pg)
	w.write(t, "src/app.txt", "version 1\n")
	w.write(t, "src/lib/a.txt", "library\n")
	w.write(t, "src/gone/b.txt", "will be removed\n")
	w.write(t, "docs/guide.txt", "not selected\n")
	w.write(t, ".forklift.json", `{"format": 1, "source": ["src"]}`+"\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = w.repo, w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// write writes a file of the worktree.
func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(w.repo, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// result is how a run of the command ended.
type result struct {
	stdout, stderr string
	code           int
	killed         bool // by SIGKILL
}

// String shows a result in a message.
func (r result) String() string {
	return fmt.Sprintf("exit code %d (killed: %v)\nstdout: %s\nstderr: %s", r.code, r.killed, r.stdout, r.stderr)
}

// forklift runs the command in the worktree with more environment variables.
func (w *world) forklift(t *testing.T, env []string, args ...string) result {
	t.Helper()
	argv := append(append(w.wrap[:len(w.wrap):len(w.wrap)], filepath.Join(shared.bin, "forklift")), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.repo, append(w.env[:len(w.env):len(w.env)], env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(verbDeadline, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	err := cmd.Wait()
	if !timer.Stop() {
		t.Fatalf("forklift %v: not done after %v\n%s", args, verbDeadline, stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("forklift %v: %v", args, err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return result{
		stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode(),
		killed: status.Signaled() && status.Signal() == syscall.SIGKILL,
	}
}

// must runs the command, which has to succeed, and gives its stdout.
func (w *world) must(t *testing.T, args ...string) string {
	t.Helper()
	r := w.forklift(t, nil, args...)
	if r.code != 0 {
		t.Fatalf("forklift %s: %v", strings.Join(args, " "), r)
	}
	return r.stdout
}

// sql changes the database.
func (w *world) sql(t *testing.T, text string) {
	t.Helper()
	r := w.forklift(t, []string{probeEnv + "=sql"}, "run", "--", shared.exe, text)
	if r.code != 0 {
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
	s := state{files: describeTree(t, w.repo)}
	for _, c := range list.Checkpoints {
		s.names += c.Name + "\n"
	}
	r := w.forklift(t, []string{probeEnv + "=describe"}, "run", "--", shared.exe)
	if r.code != 0 {
		t.Fatalf("describe the database: %v", r)
	}
	s.data = r.stdout
	return s
}
