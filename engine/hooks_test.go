package engine

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"forklift/engine/config"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// hookFake stands in for a long-running app and the hooks around it. The app
// outlives a kill of Forklift.
type hookFake struct {
	up    bool               // the app runs
	ran   []string           // "stop capture", "start capture", ...
	ends  map[string]HookEnd // how a hook ends instead of well
	fails map[string]error   // a hook that cannot be run
	onRun func(HookRun)
}

func (w *world) runHook(ctx context.Context, h HookRun) (HookEnd, error) {
	w.hooks.ran = append(slices.Clip(w.hooks.ran), h.Hook+" "+h.Verb)
	if w.hooks.onRun != nil {
		w.hooks.onRun(h)
	}
	if err := w.hooks.fails[h.Hook]; err != nil {
		return HookEnd{}, err
	}
	if end, ok := w.hooks.ends[h.Hook]; ok {
		return end, nil
	}
	if h.Hook == HookStop && !w.hooks.up {
		return HookEnd{ExitCode: HookNotRunning}, nil
	}
	w.hooks.up = h.Hook == HookStart
	return HookEnd{}, ctx.Err()
}

const hooksConfig = `{"format": 1, "source": ["src"], "hooks": {"stop": ["app", "stop"], "start": ["app", "start"], "timeout_seconds": 5}}`

// withHooks is a worktree whose app runs, with one checkpoint; its file is
// approved if trusted.
func withHooks(t *testing.T, text string, trusted bool) (*world, *Worktree) {
	t.Helper()
	w := newWorld(t)
	wt := history(w)
	w.write(config.Name, text)
	if trusted {
		shown, err := wt.TrustText(context.Background())
		must(t, err)
		must(t, wt.Trust(context.Background(), shown))
	}
	w.hooks = hookFake{up: true}
	return w, wt
}

func (w *world) wantHooks(up bool, ran ...string) {
	w.t.Helper()
	if w.hooks.up != up || !slices.Equal(w.hooks.ran, ran) {
		w.t.Errorf("hooks ran %q, the app runs: %v; want %q, %v", w.hooks.ran, w.hooks.up, ran, up)
	}
	w.hooks.ran = nil
}

func TestHooksAroundEveryOperation(t *testing.T) {
	ctx := context.Background()
	w, wt := withHooks(t, hooksConfig, true)
	w.hooks.onRun = func(h HookRun) {
		if h.Limit != 5*time.Second || h.Dir != testRepo || len(h.Argv) != 2 || h.Argv[1] != h.Hook || !strings.HasSuffix(h.Log, h.Hook+".log") {
			t.Errorf("hook was asked for with %+v", h)
		}
		lock, err := w.fs.Lock(wt.file(operationLock), true)
		if taken := errors.Is(err, vfs.ErrLocked); taken != (h.Hook == HookStop) {
			t.Errorf("%s hook: operation.lock is taken: %v", h.Hook, taken)
		} else if !taken {
			must(t, lock.Unlock())
		}
	}
	res, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	must(t, err)
	if len(res.Hooks) != 2 || res.Hooks[0].Hook != HookStop || res.Hooks[1].Hook != HookStart {
		t.Errorf("the result tells of %+v", res.Hooks)
	}
	w.wantHooks(true, "stop capture", "start capture")
	must(t, restoreOne(wt))
	w.wantHooks(true, "stop restore", "start restore")
	_, err = wt.Undo(ctx, WaitOptions{})
	must(t, err)
	w.wantHooks(true, "stop undo", "start undo")
	_, err = wt.Redo(ctx, WaitOptions{})
	must(t, err)
	w.wantHooks(true, "stop redo", "start redo")
	rec, err := wt.Recover(ctx, RecoverOptions{})
	must(t, err)
	if !rec.Nothing {
		t.Errorf("there was something to recover: %+v", rec)
	}
	w.wantHooks(true) // nothing was interrupted

	// An app that does not run is not started.
	w.hooks.up = false
	must(t, restoreOne(wt))
	w.wantHooks(false, "stop restore")
	// Without hooks nothing is run.
	w.hooks.up = true
	_, err = wt.Capture(ctx, CaptureOptions{WaitOptions: WaitOptions{NoHooks: true}})
	must(t, err)
	w.wantHooks(true)
}

func TestHooksNeedTrust(t *testing.T) {
	ctx := context.Background()
	w, wt := withHooks(t, hooksConfig, false)
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	if fault.KindOf(err) != fault.Untrusted || !strings.Contains(fault.HintOf(err), "--no-hooks") {
		t.Errorf("capture with hooks that are not approved: %v", err)
	}
	if err := restoreOne(wt); fault.KindOf(err) != fault.Untrusted {
		t.Errorf("restore with hooks that are not approved: %v", err)
	}
	w.wantHooks(true)
	_, err = wt.Capture(ctx, CaptureOptions{WaitOptions: WaitOptions{NoHooks: true}, Name: "two"})
	must(t, err)
	w.wantHooks(true)
	if _, err := w.fs.Lstat(wt.file(appFile)); err == nil {
		t.Error("an app that nobody stopped is recorded as stopped")
	}
	// What is approved is what was shown.
	shown, err := wt.TrustText(ctx)
	must(t, err)
	w.write(config.Name, strings.Replace(hooksConfig, `"stop"]`, `"stop", "everything"]`, 1))
	if err := wt.Trust(ctx, shown); fault.KindOf(err) != fault.Untrusted {
		t.Errorf("approved a file that was changed since it was shown: %v", err)
	}
}

func TestFailingHooks(t *testing.T) {
	ctx := context.Background()
	cases := []struct {
		name  string
		ends  map[string]HookEnd
		fails map[string]error
		kind  fault.Kind
		says  string
		done  bool // the capture
		start bool // the start hook was run
		note  bool // recover is to see to the app
	}{
		{"stop", map[string]HookEnd{"stop": {ExitCode: 2, Output: "one\ncannot\n"}}, nil, fault.Failed, "exit code 2", false, false, false},
		{"stop killed", map[string]HookEnd{"stop": {TimedOut: true, ExitCode: 137}}, nil, fault.Failed, "longer than 5s", false, false, true},
		{"stop not found", nil, map[string]error{"stop": errors.New("no such program")}, fault.Failed, "no such program", false, false, false},
		{"start", map[string]HookEnd{"start": {ExitCode: 1, Output: "port in use"}}, nil, fault.StartHook, "two is done, but the start hook failed: exit code 1", true, true, true},
		{"start by signal", map[string]HookEnd{"start": {ExitCode: 139, Signal: "segmentation fault"}}, nil, fault.StartHook, "segmentation fault", true, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, wt := withHooks(t, hooksConfig, true)
			w.hooks.ends, w.hooks.fails = c.ends, c.fails
			_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || fault.HintOf(err) == "" {
				t.Fatalf("%v (kind %v, hint %q)", err, fault.KindOf(err), fault.HintOf(err))
			}
			if end := c.ends["stop"]; end.Output != "" && !slices.Equal(fault.ItemsOf(err), []string{"one", "cannot"}) {
				t.Errorf("items %q", fault.ItemsOf(err))
			}
			if _, err := wt.Show(ctx, "two"); (err == nil) != c.done {
				t.Errorf("the checkpoint: %v", err)
			}
			if started := slices.Contains(w.hooks.ran, "start capture"); started != c.start {
				t.Errorf("the start hook was run: %v", started)
			}
			status, err := wt.Status(ctx)
			must(t, err)
			if (status.App != nil) != c.note {
				t.Errorf("status tells of %+v", status.App)
			}
			// Once the hooks are mended, recover starts the app.
			w.hooks.ends, w.hooks.fails, w.hooks.ran = nil, nil, nil
			res, err := wt.Recover(ctx, RecoverOptions{})
			must(t, err)
			if !res.Nothing || !w.hooks.up || (len(w.hooks.ran) > 0) != c.note {
				t.Errorf("recover: %+v, hooks %q, the app runs: %v", res, w.hooks.ran, w.hooks.up)
			}
			if status, err = wt.Status(ctx); err != nil || status.App != nil {
				t.Errorf("behind recover status tells of %+v, %v", status.App, err)
			}
		})
	}
}

// TestStartHookAfterRefusal: whatever becomes of the operation, the app runs
// again.
func TestStartHookAfterRefusal(t *testing.T) {
	ctx := context.Background()
	w, wt := withHooks(t, hooksConfig, true)
	ctx2, cancel := context.WithCancel(ctx)
	w.hooks.onRun = func(h HookRun) {
		if h.Hook == HookStop {
			w.mute = true // clients cannot be asked for, so that the capture refuses
		}
	}
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	if err == nil {
		t.Fatal("captured, although the server does not answer")
	}
	w.mute = false
	w.wantHooks(true, "stop capture", "start capture")

	w.hooks.onRun = func(h HookRun) {
		if h.Hook == HookStop {
			cancel() // Ctrl-C behind the stop hook
		}
	}
	_, err = wt.Capture(ctx2, CaptureOptions{Name: "two"})
	if fault.KindOf(err) != fault.Canceled {
		t.Errorf("interrupted: %v", err)
	}
	status, err := wt.Status(ctx)
	must(t, err)
	if !w.hooks.up && status.App == nil {
		t.Error("the app is stopped, and status does not say so")
	}
	w.hooks.onRun, w.hooks.ran = nil, nil
	if _, err := wt.Recover(ctx, RecoverOptions{}); err != nil || !w.hooks.up {
		t.Errorf("recover: %v, the app runs: %v", err, w.hooks.up)
	}
}

// TestOnlyOneRunsHooks: hooks of two operations do not run into each other,
// and a start hook cannot capture.
func TestOnlyOneRunsHooks(t *testing.T) {
	w, wt := withHooks(t, hooksConfig, true)
	var inner error
	w.hooks.onRun = func(h HookRun) {
		if h.Hook == HookStart {
			_, inner = w.open().Capture(context.Background(), CaptureOptions{})
		}
	}
	_, err := wt.Capture(context.Background(), CaptureOptions{})
	must(t, err)
	if fault.KindOf(inner) != fault.Busy || !strings.Contains(inner.Error(), "hooks") {
		t.Errorf("capture in a start hook: %v", inner)
	}
}

// TestStartHookMayRegister: what a start hook launches with `run` finds the
// worktree free, and the server running.
func TestStartHookMayRegister(t *testing.T) {
	ctx := context.Background()
	w, wt := withHooks(t, hooksConfig, true)
	must(t, wt.StopDatabase(ctx, WaitOptions{}))
	w.hooks.onRun = func(h HookRun) {
		if h.Hook != HookStart {
			return
		}
		if w.servers[wt.branch.ID] == nil {
			t.Error("the server does not run")
		}
		hold, err := w.open().Enter(ctx, []string{"app"})
		must(t, err)
		must(t, hold.Leave(ctx))
	}
	_, err := wt.Capture(ctx, CaptureOptions{})
	must(t, err)
	w.wantHooks(true, "stop capture", "start capture")
}

func TestRecoverWithHooksThatAreGone(t *testing.T) {
	ctx := context.Background()
	w, wt := withHooks(t, hooksConfig, true)
	w.hooks.ends = map[string]HookEnd{"start": {ExitCode: 1}}
	if err := restoreOne(wt); fault.KindOf(err) != fault.StartHook {
		t.Fatal(err)
	}
	// A changed file is not approved; a broken one does not hinder recover.
	w.write(config.Name, hooksConfig+" ")
	if _, err := wt.Recover(ctx, RecoverOptions{}); fault.KindOf(err) != fault.Untrusted {
		t.Errorf("recover with hooks that are not approved: %v", err)
	}
	w.write(config.Name, "{")
	res, err := wt.Recover(ctx, RecoverOptions{})
	must(t, err)
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "not started again") {
		t.Errorf("warnings %q", res.Warnings)
	}
	if s, err := wt.Status(ctx); err != nil || s.App == nil {
		t.Errorf("status forgot the app: %v", err)
	}
	if _, err := wt.Recover(ctx, RecoverOptions{WaitOptions: WaitOptions{NoHooks: true}}); err != nil {
		t.Fatal(err)
	}
	if s, err := wt.Status(ctx); err != nil || s.App != nil {
		t.Errorf("recover --no-hooks did not forget the app: %v, %v", s.App, err)
	}
	if _, err := w.fs.OpenFile(wt.file(appFile), os.O_RDONLY, 0); err == nil {
		t.Error("the record is still there")
	}
}
