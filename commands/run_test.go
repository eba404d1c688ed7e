package commands_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forklift/commands"
	"forklift/commands/internal/standin"
	"forklift/engine"
	"forklift/storage/fault"
)

// helperVar makes the test binary play a command: its value says which.
const helperVar = "FORKLIFT_TEST_HELPER"

func TestMain(m *testing.M) {
	if play := os.Getenv(helperVar); play != "" {
		os.Exit(helper(play))
	}
	os.Exit(m.Run())
}

func helper(play string) int {
	switch play {
	case "report": // what a managed command sees
		dir, _ := os.Getwd()
		in, _ := io.ReadAll(os.Stdin)
		_, err := os.NewFile(3, "hold").Stat()
		fmt.Printf("dir=%s args=%q url=%s in=%s hold=%v\n", dir, os.Args[1:], os.Getenv("DATABASE_URL"), in, err == nil)
		fmt.Fprintln(os.Stderr, "to stderr")
		return 7
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "wait": // for a signal, which it names
		ch := make(chan os.Signal, 4)
		signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1)
		fmt.Println("ready")
		fmt.Println(<-ch)
	}
	return 0
}

// runEnv is an Env whose worktree exists, for a helper.
func runEnv(t *testing.T, e *standin.Engine, play string) (commands.Env, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e.Path = dir
	env := newEnv(t, e)
	var out, stderr bytes.Buffer
	env.Environ = []string{helperVar + "=" + play, "DATABASE_URL=another", "PATH=" + os.Getenv("PATH")}
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader("input"), &out, &stderr
	return env, &out, &stderr
}

func TestRunPassesEverythingThrough(t *testing.T) {
	e := &standin.Engine{Vars: []engine.EnvVar{{Name: "DATABASE_URL", Value: "postgres://u"}}}
	env, out, stderr := runEnv(t, e, "report")
	r, err := commands.Run(context.Background(), env, commands.RunRequest{Command: []string{os.Args[0], "a b", "--json"}})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("dir=%s args=[\"a b\" \"--json\"] url=postgres://u in=input hold=true\n", e.Path)
	if out.String() != want || stderr.String() != "to stderr\n" || r.ExitCode != 7 || r.ExitStatus() != 7 || r.Signal != "" {
		t.Errorf("stdout %q, stderr %q, %+v", out, stderr, r)
	}
	calls := e.Calls()
	if !slices.Equal(calls[len(calls)-2:], []string{"started", "leave"}) {
		t.Errorf("calls %v", calls)
	}
}

// TestRunKeepsTheExitCode has failures behind the command: its code counts,
// and they are warnings.
func TestRunKeepsTheExitCode(t *testing.T) {
	for _, call := range []string{"leave", "started"} {
		e := &standin.Engine{Fail: map[string]error{call: errors.New("the server does not answer")}}
		env, _, _ := runEnv(t, e, "report")
		r, err := commands.Run(context.Background(), env, commands.RunRequest{Command: []string{os.Args[0]}})
		if err != nil || r.ExitCode != 7 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "does not answer") {
			t.Errorf("%s fails: %+v, %v; want exit code 7 and a warning", call, r, err)
		}
	}
}

func TestRunTellsTheSignalThatEndedIt(t *testing.T) {
	env, _, _ := runEnv(t, &standin.Engine{}, "kill")
	r, err := commands.Run(context.Background(), env, commands.RunRequest{Command: []string{os.Args[0]}})
	if err != nil || r.ExitCode != 128+9 || r.Signal != "killed" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRunNamed(t *testing.T) {
	settings := commands.Settings{Commands: map[string][]string{"verify": {os.Args[0], "first"}}}
	env, out, _ := runEnv(t, &standin.Engine{Settings: settings}, "report")
	r, err := commands.Run(context.Background(), env, commands.RunRequest{Name: "verify", Command: []string{"more"}})
	if err != nil || r.ExitCode != 7 || !strings.Contains(out.String(), `args=["first" "more"]`) {
		t.Errorf("%q, %+v, %v", out, r, err)
	}
}

func TestRunFailures(t *testing.T) {
	settings := commands.Settings{Commands: map[string][]string{"verify": {"true"}, "other": {"true"}}}
	notExecutable := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notExecutable, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		engine *standin.Engine
		req    commands.RunRequest
		code   int
		kind   fault.Kind
		hint   string
	}{
		{"nothing", &standin.Engine{}, commands.RunRequest{}, 125, fault.Usage, "after --"},
		{"unknown name", &standin.Engine{Settings: settings}, commands.RunRequest{Name: "verfy"}, 127, fault.NotFound, "other, verify"},
		{"untrusted", &standin.Engine{Settings: settings, Distrust: true}, commands.RunRequest{Name: "verify"}, 5, fault.Untrusted, "forklift trust"},
		{"no such program", &standin.Engine{}, commands.RunRequest{Command: []string{"no-such-program"}}, 127, fault.NotFound, "PATH"},
		{"no such file", &standin.Engine{}, commands.RunRequest{Command: []string{"./no-such-file"}}, 127, fault.NotFound, ""},
		{"not executable", &standin.Engine{}, commands.RunRequest{Command: []string{notExecutable}}, 126, fault.Failed, ""},
		{"a directory", &standin.Engine{}, commands.RunRequest{Command: []string{"/"}}, 126, fault.Failed, ""},
		{
			"interrupted", &standin.Engine{Fail: map[string]error{"enter": &fault.Error{Op: "run", Kind: fault.Interrupted}}},
			commands.RunRequest{Command: []string{"true"}}, 6, fault.Interrupted, "",
		},
		{
			"not set up", &standin.Engine{Fail: map[string]error{"open": &fault.Error{Op: "open", Kind: fault.NotFound}}},
			commands.RunRequest{Command: []string{"true"}}, 125, fault.NotFound, "",
		},
	} {
		env, _, _ := runEnv(t, c.engine, "report")
		v := commands.Lookup("run")
		_, err := v.Run(context.Background(), env, &c.req)
		if err == nil || v.ExitCode(err) != c.code || fault.KindOf(err) != c.kind || !strings.Contains(fault.HintOf(err), c.hint) {
			t.Errorf("%s: %v, exit code %d, want %d; hint %q", c.name, err, v.ExitCode(err), c.code, fault.HintOf(err))
		}
		if calls := c.engine.Calls(); slices.Contains(calls, "started") {
			t.Errorf("%s: something was started: %v", c.name, calls)
		}
	}
}

// watch is a writer that tells when a line came.
type watch struct {
	text bytes.Buffer
	line chan struct{}
}

func (w *watch) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	select {
	case w.line <- struct{}{}:
	default:
	}
	return n, err
}

func TestRunPassesSignalsOn(t *testing.T) {
	for _, c := range []struct {
		name       string
		send       []os.Signal
		foreground bool
		cancel     bool
		want       string
	}{
		{"SIGTERM", []os.Signal{syscall.SIGTERM}, false, false, "terminated"},
		{"SIGINT without a terminal", []os.Signal{syscall.SIGINT}, false, false, "interrupt"},
		{"the terminal sends its own", []os.Signal{syscall.SIGINT, syscall.SIGUSR1}, true, false, "user defined signal 1"},
		{"given up by the front", nil, false, true, "terminated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, _, _ := runEnv(t, &standin.Engine{}, "wait")
			out := &watch{line: make(chan struct{}, 1)}
			env.Stdout = out
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			released := false
			env.Signals = func(ch chan<- os.Signal) func() {
				go func() {
					<-out.line
					if c.cancel {
						cancel()
					}
					for _, sig := range c.send {
						ch <- sig
					}
				}()
				return func() { released = true }
			}
			env.Foreground = func() bool { return c.foreground }
			_, err := commands.Run(ctx, env, commands.RunRequest{Command: []string{os.Args[0]}})
			if c.cancel != (err != nil) || !released {
				t.Errorf("error %v, released %v", err, released)
			}
			if got := out.text.String(); got != "ready\n"+c.want+"\n" {
				t.Errorf("%q, want %s", got, c.want)
			}
		})
	}
}

func TestShellIsPsqlIfThereIsOne(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "psql")); err != nil {
		t.Fatal(err)
	}
	e := &standin.Engine{}
	env, out, _ := runEnv(t, e, "report")
	env.Environ = append(env.Environ, "PATH="+bin)
	r, err := commands.DBShell(context.Background(), env, commands.DBShellRequest{Command: "SELECT 1"})
	if err != nil || r.ExitCode != 7 || r.Program != filepath.Join(bin, "psql") || !strings.Contains(out.String(), `args=["-c" "SELECT 1"]`) {
		t.Errorf("%+v, %v, %q", r, err, out)
	}
	if !strings.Contains(out.String(), "url="+standin.Vars()[0].Value) {
		t.Errorf("the database's variables are not set: %q", out)
	}
}

func TestShellWithNothingToRead(t *testing.T) {
	e := &standin.Engine{}
	env, _, _ := runEnv(t, e, "report")
	env.Stdin, env.Environ = nil, []string{"PATH=" + t.TempDir()}
	_, err := commands.DBShell(context.Background(), env, commands.DBShellRequest{})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "nothing to read statements from") || !strings.Contains(fault.HintOf(err), "--command") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

func TestComplete(t *testing.T) {
	e := &standin.Engine{Settings: commands.Settings{Commands: map[string][]string{"b": nil, "a": nil}}}
	for what, want := range map[string][]string{
		"checkpoint": {"before-migration", "after", "other:after"},
		"command":    {"a", "b"}, "seed": {"demo", "empty"}, "planet": nil,
	} {
		if got := commands.Complete(context.Background(), newEnv(t, e), what); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	e.Err = &fault.Error{Op: "open", Kind: fault.NotFound}
	if got := commands.Complete(context.Background(), newEnv(t, e), "checkpoint"); got != nil {
		t.Errorf("outside a worktree: %v", got)
	}
}
