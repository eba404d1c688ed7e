package commands

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forklift/engine"
	"forklift/storage/fault"
)

// runHook runs a shell script as a hook.
func runHook(t *testing.T, ctx context.Context, script string, limit time.Duration) (engine.HookEnd, string, string) {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	r := hookRunner{[]string{"PATH=" + os.Getenv("PATH"), "A=1"}, &out}
	end, err := r.run(ctx, engine.HookRun{Hook: engine.HookStop, Verb: "capture", Argv: []string{"sh", "-c", script}, Dir: dir,
		Vars: []engine.EnvVar{{Name: "A", Value: "2"}}, Limit: limit, Log: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	return end, out.String(), dir
}

func TestHookOutputAndEnvironment(t *testing.T) {
	end, out, dir := runHook(t, context.Background(), `echo "$A $FORKLIFT_HOOK $FORKLIFT_VERB"; pwd >&2; read x || echo no input; printf last; exit 4`, time.Minute)
	want := "2 stop capture\n" + dir + "\nno input\nlast"
	if end.ExitCode != 4 || end.TimedOut || end.Signal != "" || end.Output != want {
		t.Errorf("got %+v, want the output %q", end, want)
	}
	if shown := "stop hook: " + strings.ReplaceAll(want, "\n", "\nstop hook: ") + "\n"; out != shown {
		t.Errorf("shown %q, want %q", out, shown)
	}
	end, out, _ = runHook(t, context.Background(), `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; kill -TERM $$`, time.Minute)
	if len(end.Output) != maxHookTail || !strings.HasSuffix(end.Output, "line 2999\n") || strings.Count(out, "\n") != 3000 {
		t.Errorf("kept %d bytes, showed %d lines", len(end.Output), strings.Count(out, "\n"))
	}
	if end.Signal != "terminated" {
		t.Errorf("signal %q", end.Signal)
	}
}

// TestHookLeavesAnAppBehind: the runner waits for the hook, not for what it
// leaves, which can go on writing.
func TestHookLeavesAnAppBehind(t *testing.T) {
	end, _, dir := runHook(t, context.Background(), `(while :; do echo still here; sleep 0.02; done) & echo $! >pid`, time.Minute)
	if end.ExitCode != 0 {
		t.Fatalf("%+v", end)
	}
	pid := pidIn(t, filepath.Join(dir, "pid"))
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	until(t, "the app to write", func() bool { return size() > before })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the app does not run: %v", err)
	}
}

func TestHookIsKilledWithAllItStarted(t *testing.T) {
	start := `trap "" TERM; sleep 60 & echo $! >pid; while :; do sleep 60; done`
	end, _, dir := runHook(t, context.Background(), start, 3*time.Second)
	if !end.TimedOut || end.Signal != "killed" {
		t.Errorf("at its limit: %+v", end)
	}
	gone(t, pidIn(t, filepath.Join(dir, "pid")))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun := filepath.Join(t.TempDir(), "begun")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	go func() {
		for range tick.C {
			if _, err := os.Stat(begun); err == nil || ctx.Err() != nil {
				cancel()
				return
			}
		}
	}()
	end, _, dir = runHook(t, ctx, `sleep 60 & echo $! >pid; echo $! >`+begun+`; wait`, time.Minute)
	if end.TimedOut || end.Signal == "" {
		t.Errorf("canceled: %+v", end)
	}
	gone(t, pidIn(t, filepath.Join(dir, "pid")))
}

func TestHookThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	r := hookRunner{[]string{"PATH=/nowhere"}, nil}
	_, err := r.run(context.Background(), engine.HookRun{Hook: engine.HookStart, Argv: []string{"absent"}, Dir: dir, Limit: time.Minute, Log: filepath.Join(dir, "log")})
	if err == nil || !strings.Contains(err.Error(), "absent") || fault.KindOf(err) != fault.Failed {
		t.Errorf("got %v", err)
	}
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	var pid int
	until(t, file, func() bool {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

// gone waits until a process has ended; a zombie has.
func gone(t *testing.T, pid int) {
	t.Helper()
	until(t, "the end of what the hook has started", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ")
	})
}

// until waits for a condition, with a deadline.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
