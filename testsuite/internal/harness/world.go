package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leavePatience is how long a process may take to go when a test ends.
const leavePatience = 5 * time.Second

// World is a home with an empty store, and a git repository whose worktree is
// the working directory of all commands. Everything is below Root; what
// Forklift sees of it is in Root/w.
type World struct {
	Root string
	Repo string
	Env  []string
	Wrap []string // a program and its arguments that starts Forklift; nil for none
}

// NewWorld makes a home and a repository with one commit of files. bin is the
// directory of the forklift command, pg that of PostgreSQL's programs. It is
// removed when the test ends, which fails if a process of it is left.
func NewWorld(t testing.TB, bin, pg string, files map[string]string) *World {
	t.Helper()
	w := NewRoot(t)
	w.Fill(t, bin, pg, files)
	return w
}

// NewRoot makes the directory of a world that is filled later.
func NewRoot(t testing.TB) *World {
	t.Helper()
	root, err := TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, err := WaitForNone(root, leavePatience)
		if err != nil || len(left) > 0 {
			t.Errorf("processes are left: %v %v", left, err)
			End(root, left)
		}
		os.RemoveAll(root)
	})
	return &World{Root: root, Repo: filepath.Join(root, "w", "app")}
}

// Fill makes the home, and the repository with its commit.
func (w *World) Fill(t testing.TB, bin, pg string, files map[string]string) {
	t.Helper()
	home := filepath.Join(w.Root, "w", "home")
	if err := MakeHome(home); err != nil {
		t.Fatal(err)
	}
	w.Env = Environ(home, bin, pg)
	for name, text := range files {
		w.Write(t, name, text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		if r := w.Exec(t, time.Minute, nil, "git", args...); r.Code != 0 {
			t.Fatalf("git %v: %v", args, r)
		}
	}
}

// Write writes a file of the worktree.
func (w *World) Write(t testing.TB, name, text string) {
	t.Helper()
	file := filepath.Join(w.Repo, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Result is how a run of a command ended.
type Result struct {
	Stdout, Stderr string
	Code           int
	Killed         bool // by SIGKILL
}

// String shows a result in a message.
func (r Result) String() string {
	return fmt.Sprintf("exit code %d (killed: %v)\nstdout: %s\nstderr: %s", r.Code, r.Killed, r.Stdout, r.Stderr)
}

// Exec runs a program in the worktree with more environment variables;
// "forklift" is the command under test, started by Wrap. The test fails when it takes longer
// than deadline; a Go program then tells where it was.
func (w *World) Exec(t testing.TB, deadline time.Duration, env []string, name string, args ...string) Result {
	t.Helper()
	argv := append([]string{name}, args...)
	if name == "forklift" {
		argv[0] = w.Forklift()
		argv = append(w.Wrap[:len(w.Wrap):len(w.Wrap)], argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.Repo, append(w.Env[:len(w.Env):len(w.Env)], env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(deadline, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	err := cmd.Wait()
	if !timer.Stop() {
		t.Fatalf("%s %v: not done after %v\n%s", name, args, deadline, stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode(),
		Killed: status.Signaled() && status.Signal() == syscall.SIGKILL}
}

// Forklift is the path of the command.
func (w *World) Forklift() string {
	bin, _, _ := strings.Cut(Lookup(w.Env, "PATH"), string(os.PathListSeparator))
	return filepath.Join(bin, "forklift")
}
