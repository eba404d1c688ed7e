package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"forklift/storage"
	"forklift/storage/vfs"
)

// kept describes what the verbs that keep a store in order change.
func (w *world) kept() string {
	w.t.Helper()
	ctx := context.Background()
	wt := w.open()
	list, err := wt.List(ctx, ListOptions{All: true})
	must(w.t, err)
	var b strings.Builder
	for _, c := range list {
		if c.Kind == storage.Capture {
			fmt.Fprintf(&b, "%s %q %v;", c.Name, c.Note, c.Protected)
		}
	}
	seeds, err := SeedList(ctx, w.host(), testRepo)
	must(w.t, err)
	for _, s := range seeds {
		fmt.Fprintf(&b, " seed %s", s.Name)
	}
	report, err := wt.store.Check(ctx, storage.CheckOptions{ReadData: true})
	must(w.t, err)
	if len(report.Problems) > 0 {
		w.t.Fatalf("the store has problems: %+v", report.Problems)
	}
	return b.String()
}

// TestKeepingVerbsCutAtEveryCall cuts the power at every call of the verbs
// that keep a store in order: everything is as it was, or as the verb leaves it, no
// data that is needed is gone, and the verb can be run again.
func TestKeepingVerbsCutAtEveryCall(t *testing.T) {
	ctx := context.Background()
	random := rand.Uint64()
	t.Logf("seed %d", random)
	verbs := map[string]func(w *world, wt *Worktree) error{
		"forget": func(_ *world, wt *Worktree) error {
			return second(wt.Forget(ctx, ForgetOptions{Refs: []string{"one"}, Yes: true}))
		},
		"prune": func(_ *world, wt *Worktree) error { return second(wt.Prune(ctx, PruneOptions{Yes: true})) },
		"rename": func(_ *world, wt *Worktree) error {
			return second(wt.ChangeName(ctx, "one", "uno"))
		},
		"note":    func(_ *world, wt *Worktree) error { return second(wt.Note(ctx, "one", "a note")) },
		"protect": func(_ *world, wt *Worktree) error { return second(wt.Protect(ctx, "one", true)) },
		"seed remove": func(w *world, _ *Worktree) error {
			return second(SeedRemove(ctx, w.host(), testRepo, SeedRemoveOptions{Name: "base", Yes: true}))
		},
		"seed refresh": func(w *world, _ *Worktree) error {
			return second(SeedRefresh(ctx, w.host(), testRepo, "base", func(context.Context, Refresh) error { return nil }))
		},
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			start, wt := cleanups(t)
			must(t, second(SeedCreate(ctx, start.host(), testRepo, SeedOptions{Name: "base"})))
			if name == "prune" { // there is something to free
				must(t, second(wt.Forget(ctx, ForgetOptions{Refs: []string{"one"}, Yes: true})))
			}
			before := start.kept()
			whole := start.copy()
			must(t, verb(whole, whole.open()))
			after := whole.kept()
			n := 1
			for ; ; n++ {
				w := start.copy()
				w.t = t
				wt := w.open()
				w.fs.CutAt(n)
				err := verb(w, wt)
				if err == nil {
					break
				}
				if !errors.Is(err, vfs.ErrPowerCut) {
					t.Fatalf("call %d: %v, want the power cut", n, err)
				}
				w = w.afterPowerCut(vfs.CrashOptions{Seed: random + uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
				if got := w.kept(); got == before {
					must(t, verb(w, w.open()))
				} else if got != after {
					t.Fatalf("call %d: %s\nwant %s\nor   %s", n, got, before, after)
				}
				if got := w.kept(); got != after {
					t.Fatalf("call %d: in the end %s\nwant %s", n, got, after)
				}
			}
			if n < 3 {
				t.Errorf("only %d calls", n)
			}
			t.Logf("%d power cuts ended before or after", n-1)
		})
	}
}
