package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// TestPowerCutWithHooks cuts the power at every state-changing call of a
// capture and a restore with hooks. Behind recover the worktree is as it was
// before or after, and the app runs, as it did before.
func TestPowerCutWithHooks(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx := context.Background()
	for _, s := range scenes[:2] {
		t.Run(s.name, func(t *testing.T) {
			start, wt := withHooks(t, hooksConfig, true)
			before := start.state(wt)
			whole := start.copy()
			wt = whole.open()
			from := whole.fs.Calls()
			must(t, s.verb(wt))
			calls, after := whole.fs.Calls()-from, whole.state(wt)
			started := 0
			for n := 1; n <= calls; n++ {
				w := start.copy()
				wt := w.open()
				w.fs.CutAt(n)
				err := s.verb(wt)
				if err != nil && !errors.Is(err, vfs.ErrPowerCut) {
					t.Fatalf("call %d of %d: %v, want the power cut", n, calls, err)
				}
				keep := []float64{0, 0.5, 1}[n%3]
				w = w.afterPowerCut(vfs.CrashOptions{Seed: seed + uint64(n), KeepUnsynced: keep})
				wt = w.open()
				if !w.hooks.up {
					// Commands are refused or the app is missed: status says so.
					status, err := wt.Status(ctx)
					must(t, err)
					if status.App == nil {
						t.Fatalf("call %d of %d: the app is stopped, and status does not say so", n, calls)
					}
				}
				w.hooks.ran = nil
				if _, err := wt.Recover(ctx, RecoverOptions{}); err != nil {
					t.Fatalf("call %d of %d: recover: %v", n, calls, err)
				}
				started += len(w.hooks.ran) / 2
				if !w.hooks.up {
					t.Fatalf("call %d of %d: behind recover the app does not run; it ran %q", n, calls, w.hooks.ran)
				}
				if got := w.state(wt); got != before && got != after {
					t.Fatalf("call %d of %d: the state is\n%s", n, calls, got)
				}
				if again, err := wt.Recover(ctx, RecoverOptions{}); err != nil || !again.Nothing || len(again.Hooks) > 0 {
					t.Fatalf("call %d of %d: a second recover: %+v, %v", n, calls, again, err)
				}
			}
			t.Logf("%d cuts, recover ran the hooks behind %d of them", calls, started)
			if started == 0 {
				t.Error("no cut left the app stopped: nothing was tested")
			}
		})
	}
}

// TestRecoverWithHooksCutAtEveryCall cuts the power in the recovery itself.
func TestRecoverWithHooksCutAtEveryCall(t *testing.T) {
	ctx := context.Background()
	start, _ := withHooks(t, hooksConfig, true)
	calls := func() int {
		w := start.copy()
		from := w.fs.Calls()
		must(t, restoreOne(w.open()))
		return w.fs.Calls() - from
	}()
	const spread = 5
	for i := 1; i <= spread; i++ {
		w := start.copy()
		w.fs.CutAt(calls * i / (spread + 1))
		if err := restoreOne(w.open()); !errors.Is(err, vfs.ErrPowerCut) {
			t.Fatalf("%v, want the power cut", err)
		}
		for m := 1; ; m++ {
			again := w.afterPowerCut(vfs.CrashOptions{KeepUnsynced: 1})
			wt := again.open()
			again.fs.CutAt(m)
			_, err := wt.Recover(ctx, RecoverOptions{})
			if err == nil {
				break
			}
			if !errors.Is(err, vfs.ErrPowerCut) {
				t.Fatalf("recover: %v (%v)", err, fault.KindOf(err))
			}
			last := again.afterPowerCut(vfs.CrashOptions{Seed: uint64(m), KeepUnsynced: []float64{0, 0.5, 1}[m%3]})
			if _, err := last.open().Recover(ctx, RecoverOptions{}); err != nil || !last.hooks.up {
				t.Fatalf("cut %d of recover: recover: %v, the app runs: %v", m, err, last.hooks.up)
			}
		}
	}
}
