package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"forklift/server/lsp"
	"forklift/testsuite/internal/harness"
)

// patience is how long a test waits for anything.
const patience = time.Minute

// program is the built program.
var program string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := harness.TempDir()
	if err == nil {
		defer os.RemoveAll(dir)
		program, err = harness.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// world is the home of a user with at most one daemon.
type world struct {
	t    *testing.T
	home string
	env  []string
}

func newWorld(t *testing.T, more ...string) *world {
	t.Helper()
	home, err := harness.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.MakeHome(home); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, env: append(harness.Environ(home, filepath.Dir(program), ""), more...)}
	t.Cleanup(func() {
		if s := w.status(); s.Running {
			w.forklift("daemon", "stop")
		}
		if s := w.status(); s.Running {
			t.Errorf("a daemon is left, pid %d", s.Daemon.PID)
		}
		os.RemoveAll(home)
	})
	return w
}

// forklift runs one command and gives what it printed.
func (w *world) forklift(args ...string) string {
	w.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = w.env, w.home
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Errorf("forklift %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// status is what `daemon status` tells.
type status struct {
	Running bool
	Socket  string
	Log     string
	Daemon  struct {
		PID      int
		Sessions []struct{ PID int }
	}
}

func (w *world) status() (s status) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.forklift("daemon", "status", "--json")), &s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// until waits for something.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	deadline := time.After(patience)
	for !done() {
		select {
		case <-deadline:
			w.t.Fatalf("it did not happen: %s\n%s", what, w.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// log is the daemon's log, for messages.
func (w *world) log() string {
	text, _ := os.ReadFile(filepath.Join(w.home, "state", "forklift", "daemon.log"))
	return string(text)
}

// front is a `forklift lsp`.
type front struct {
	w      *world
	cmd    *exec.Cmd
	in     io.WriteCloser
	frames *lsp.FrameReader
	stderr bytes.Buffer
}

// start starts a front and does not wait for it.
func (w *world) start() *front {
	w.t.Helper()
	f := &front{w: w, cmd: exec.Command(program, "lsp", "--stdio")}
	f.cmd.Env, f.cmd.Dir, f.cmd.Stderr = w.env, w.home, &f.stderr
	in, err := f.cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	f.in, f.frames = in, lsp.NewFrameReader(out, 0, lsp.MaxAnswer)
	if err := f.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		in.Close()
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
	})
	return f
}

func (f *front) send(body string) error {
	_, err := f.in.Write(lsp.AppendFrame(nil, []byte(body)))
	return err
}

// answer reads messages until the one with an id comes.
func (f *front) answer(id string) (string, error) {
	type message struct {
		body string
		err  error
	}
	got := make(chan message, 1)
	go func() {
		for {
			body, err := f.frames.Read()
			if err != nil || strings.Contains(string(body), `"id":`+id+`,`) {
				got <- message{string(body), err}
				return
			}
		}
	}()
	select {
	case m := <-got:
		return m.body, m.err
	case <-time.After(patience):
		return "", fmt.Errorf("no answer; stderr: %s", f.stderr.String())
	}
}

// attach starts a front and waits for the answer to initialize.
func (w *world) attach() (*front, error) {
	f := w.start()
	if err := f.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":null,"capabilities":{},"rootUri":null}}`); err != nil {
		return f, err
	}
	answer, err := f.answer("0")
	if err == nil && !strings.Contains(answer, `"result"`) {
		err = fmt.Errorf("initialize: %s", answer)
	}
	if err == nil {
		err = f.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	}
	return f, err
}

// lives asks for something that every daemon answers.
func (f *front) lives(id string) {
	f.w.t.Helper()
	if err := f.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"no/such/method"}`); err != nil {
		f.w.t.Fatal(err)
	}
	if answer, err := f.answer(id); err != nil || !strings.Contains(answer, "-32601") {
		f.w.t.Fatalf("%s, %v", answer, err)
	}
}

func TestFortyFrontsHaveOneDaemon(t *testing.T) {
	w := newWorld(t)
	const n = 40
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { _, errs[i] = w.attach() })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("front %d: %v\n%s", i, err, w.log())
		}
	}
	first := w.status()
	if started := strings.Count(w.log(), "msg=started"); started != 1 || len(first.Daemon.Sessions) != n {
		t.Fatalf("%d daemons were started, %d editors are attached\n%s", started, len(first.Daemon.Sessions), w.log())
	}
	// Killed, with the socket and the lock left behind: all fronts see it at
	// once, and one starts the next.
	if err := syscall.Kill(first.Daemon.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.until("all fronts are attached again", func() bool {
		s := w.status()
		return s.Running && s.Daemon.PID != first.Daemon.PID && len(s.Daemon.Sessions) == n
	})
	if started := strings.Count(w.log(), "msg=started"); started != 2 {
		t.Errorf("%d daemons were started\n%s", started, w.log())
	}
}

func TestAKilledDaemonIsReplacedUnderAnEditor(t *testing.T) {
	w := newWorld(t)
	f, err := w.attach()
	if err != nil {
		t.Fatal(err)
	}
	f.lives("1")
	for i := range 2 {
		pid := w.status().Daemon.PID
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.until("another daemon", func() bool {
			s := w.status()
			return s.Running && s.Daemon.PID != pid && len(s.Daemon.Sessions) == 1
		})
		f.lives(fmt.Sprint(10 + i))
	}
	// The next front finds the same daemon, and one that is stopped on
	// purpose is replaced as well.
	second, err := w.attach()
	if err != nil {
		t.Fatal(err)
	}
	if out := w.forklift("daemon", "stop"); !strings.Contains(out, "2 attached editors start a new one") {
		t.Errorf("stop: %s", out)
	}
	f.lives("20")
	second.lives("20")
	if s := w.status(); !s.Running || len(s.Daemon.Sessions) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestShutdownAndExit(t *testing.T) {
	w := newWorld(t)
	f, err := w.attach()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.send(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`); err != nil {
		t.Fatal(err)
	}
	if answer, err := f.answer("1"); err != nil || !strings.Contains(answer, `"result":null`) {
		t.Fatalf("%s, %v", answer, err)
	}
	if err := f.send(`{"jsonrpc":"2.0","method":"exit"}`); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Wait(); err != nil || f.stderr.Len() > 0 {
		t.Errorf("%v: %s", err, f.stderr.String())
	}
	// The input ends without both.
	if f, err = w.attach(); err != nil {
		t.Fatal(err)
	}
	f.in.Close()
	if err := f.cmd.Wait(); err == nil || f.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the end of the input: %v", err)
	}
}

func TestAnIdleDaemonEnds(t *testing.T) {
	w := newWorld(t, "FORKLIFT_DAEMON_IDLE=200ms")
	f, err := w.attach()
	if err != nil {
		t.Fatal(err)
	}
	f.lives("1")
	f.in.Close()
	w.until("the end of the daemon", func() bool { return strings.Contains(w.log(), "msg=ended reason=idle") })
	if _, err := os.Lstat(w.status().Socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	if f, err = w.attach(); err != nil {
		t.Fatal(err)
	}
	f.lives("1")
}

func TestADaemonThatCannotStartSaysWhy(t *testing.T) {
	w := newWorld(t)
	state := filepath.Join(w.home, "state", "forklift")
	if err := os.WriteFile(state, nil, 0o600); err != nil { // its log has no place
		t.Fatal(err)
	}
	f := w.start()
	if err := f.cmd.Wait(); err == nil || f.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(f.stderr.String(), state) {
		t.Errorf("%v: %s", err, f.stderr.String())
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(w.home, "run", "forklift")
	if err := os.Chmod(run, 0o755); err != nil {
		t.Fatal(err)
	}
	f = w.start()
	if err := f.cmd.Wait(); err == nil || f.cmd.ProcessState.ExitCode() != 5 || !strings.Contains(f.stderr.String(), "mode 0755 lets others in") {
		t.Errorf("%v: %s", err, f.stderr.String())
	}
	if err := os.Chmod(run, 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestTheDaemonsVerbs(t *testing.T) {
	w := newWorld(t)
	for args, want := range map[string]string{
		"status": "The daemon does not run. Editors start it when they need it.\n", "stop": "The daemon does not run.\n",
		"logs": "The log " + filepath.Join(w.home, "state", "forklift", "daemon.log") + " is empty: no daemon has written to it.\n",
	} {
		if got := w.forklift("daemon", args); got != want {
			t.Errorf("daemon %s without one: %q", args, got)
		}
	}
	if _, err := w.attach(); err != nil {
		t.Fatal(err)
	}
	if got := w.forklift("daemon", "status"); !strings.Contains(got, "The daemon runs (pid ") || !strings.Contains(got, w.home) {
		t.Errorf("status: %s", got)
	}
	if got := w.forklift("daemon", "logs", "-n", "1"); !strings.Contains(got, "msg=attached") {
		t.Errorf("logs: %s", got)
	}
	second := exec.Command(program, "daemon")
	second.Env, second.Dir = w.env, w.home
	if out, err := second.CombinedOutput(); err == nil || second.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "a daemon runs already") {
		t.Errorf("a second daemon: %v: %s", err, out)
	}
	usage := exec.Command(program, "lsp", "--json")
	usage.Env = w.env
	if out, err := usage.CombinedOutput(); err == nil || usage.ProcessState.ExitCode() != 2 {
		t.Errorf("lsp --json: %v: %s", err, out)
	}
}
