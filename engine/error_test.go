package engine

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// TestErrorAtEveryCall lets every state-changing call of every verb fail,
// once and for good: the verb says so, and the worktree is as before, or the
// journal is there and recover ends it.
func TestErrorAtEveryCall(t *testing.T) {
	for _, s := range scenes {
		for _, rule := range []vfs.Rule{{Err: syscall.EIO}, {Err: syscall.ENOSPC, Sticky: true}} {
			name := s.name + " once"
			if rule.Sticky {
				name = s.name + " from then on"
			}
			t.Run(name, func(t *testing.T) {
				start, before, after, calls := s.outcomes(t)
				ended := map[string]int{}
				for n := 1; n <= calls; n++ {
					rule.Nth = n
					ended[s.failing(start, rule, before, after)]++
				}
				t.Logf("%d errors: %v", calls, ended)
			})
		}
	}
}

// failing runs the verb with one rule and tells how it ended.
func (s scene) failing(start *world, rule vfs.Rule, before, after string) string {
	t := start.t
	t.Helper()
	w := start.copy()
	bad := vfs.Inject(w.fs, rule)
	w.disk = bad
	wt := w.open()
	err := s.verb(wt)
	if len(bad.Failed()) == 0 {
		return "never reached"
	}
	call := bad.Failed()[0]
	w.disk = nil
	wt = w.open()
	j, jerr := wt.readJournal()
	must(t, jerr)
	switch {
	case err == nil:
		// A cache, a note for people, or the clean-up behind the end.
		if got := w.state(wt); got != after || j != nil {
			t.Fatalf("%v was ignored, and the state is\n%s\nwant\n%s", call, got, after)
		}
		return "done all the same"
	case j == nil:
		if got := w.state(wt); got != before && got != after {
			t.Fatalf("%v failed with %v, and the state is\n%s\nwant\n%s", call, err, got, before)
		}
		if w.servers[wt.branch.ID] == nil && !strings.Contains(err.Error(), "restored, but the database did not start") {
			t.Fatalf("%v failed with %v, and the server does not run again", call, err)
		}
		return "as before"
	}
	if k := fault.KindOf(err); k != fault.Interrupted || fault.HintOf(err) == "" {
		t.Fatalf("%v left a journal, but the error is %v (%v)", call, err, k)
	}
	return "recovered " + recovered(t, w, before, after)
}

// TestSetupCutAtEveryCall cuts the power in setup: the next setup works and
// leaves one worktree, one branch and no scratch.
func TestSetupCutAtEveryCall(t *testing.T) {
	ctx := context.Background()
	setup := func(w *world) error {
		w.write("src/file", "text")
		_, err := Setup(ctx, w.host(), testRepo, SetupOptions{Yes: true})
		return err
	}
	w := newWorld(t)
	must(t, setup(w))
	calls := w.fs.Calls()
	for n := 1; n <= calls; n++ {
		w := newWorld(t)
		w.write("src/file", "text")
		w.fs.CutAt(n)
		if _, err := Setup(ctx, w.host(), testRepo, SetupOptions{Yes: true}); err == nil {
			continue
		}
		again := w.afterPowerCut(vfs.CrashOptions{Seed: uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
		must(t, setup(again))
		for _, dir := range []string{worktreesDir, branchesDir} {
			entries, err := again.fs.ReadDir(testStore + "/" + dir)
			must(t, err)
			if len(entries) != 1 {
				t.Fatalf("cut at call %d: %s holds %v, want one entry", n, dir, entries)
			}
		}
		for _, dir := range []string{testRepo, testRepo + "/.git"} {
			entries, err := again.fs.ReadDir(dir)
			must(t, err)
			for _, e := range entries {
				if durable.IsTemp(e.Name) {
					t.Fatalf("cut at call %d: %s/%s is left", n, dir, e.Name)
				}
			}
		}
		wt := again.open()
		_, err := wt.Capture(ctx, CaptureOptions{Name: "one"})
		must(t, err)
	}
	t.Logf("%d of %d power cuts in setup were followed by a setup that works", calls, calls)
}

// TestTeardownCutAtEveryCall cuts the power in teardown: the worktree is
// there whole, or gone, and what is left goes with the next setup.
func TestTeardownCutAtEveryCall(t *testing.T) {
	ctx := context.Background()
	start := newWorld(t)
	history(start)
	for n := 1; ; n++ {
		w := start.copy()
		wt := w.open()
		before := w.state(wt)
		w.fs.CutAt(n)
		if _, err := wt.Teardown(ctx, TeardownOptions{Yes: true}); err == nil {
			t.Logf("%d power cuts in teardown", n-1)
			return
		}
		again := w.afterPowerCut(vfs.CrashOptions{Seed: uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
		if wt, err := Open(ctx, again.host(), testRepo); err == nil {
			if got := again.state(wt); got != before {
				t.Fatalf("cut at call %d: linked, but the state is\n%s\nwant\n%s", n, got, before)
			}
			continue
		} else if fault.KindOf(err) != fault.NotFound {
			t.Fatalf("cut at call %d: %v", n, err)
		}
		_, err := Setup(ctx, again.host(), testRepo, SetupOptions{Yes: true})
		must(t, err)
		entries, err := again.fs.ReadDir(testStore + "/" + branchesDir)
		must(t, err)
		if len(entries) != 1 {
			t.Fatalf("cut at call %d: branches are %v, want the new one only", n, entries)
		}
		wantAgain(t, again)
	}
}

// wantAgain wants the worktree to have its old name and its old checkpoint.
func wantAgain(t *testing.T, w *world) {
	t.Helper()
	wt := w.open()
	if info := wt.Info(); info.Name != "repo" {
		t.Fatalf("set up again, the worktree is named %q, want its old name", info.Name)
	}
	list, err := wt.List(context.Background(), ListOptions{})
	must(t, err)
	if len(list) != 1 || list[0].Name != "one" || list[0].Worktree != "repo" || list[0].Current {
		t.Fatalf("set up again, the worktree lists %+v, want its old checkpoint", list)
	}
	_, err = wt.Undo(context.Background(), WaitOptions{})
	wantKind(t, err, fault.NotFound)
	must(t, restoreOne(wt))
	if got := w.state(wt); !strings.Contains(got, "rows: one;") {
		t.Fatalf("restored\n%s\nwant the rows of the old checkpoint", got)
	}
}

// TestSetupAgainCutAtEveryCall cuts the power in the setup of a worktree that
// was torn down: the next one ends it, and its checkpoints are its own again.
func TestSetupAgainCutAtEveryCall(t *testing.T) {
	ctx := context.Background()
	start := newWorld(t)
	wt := history(start)
	must(t, restoreOne(wt)) // what undo would find
	_, err := wt.Teardown(ctx, TeardownOptions{Yes: true})
	must(t, err)
	for n := 1; ; n++ {
		w := start.copy()
		w.fs.CutAt(n)
		_, err := Setup(ctx, w.host(), testRepo, SetupOptions{Yes: true})
		again := w.afterPowerCut(vfs.CrashOptions{Seed: uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
		res, againErr := Setup(ctx, again.host(), testRepo, SetupOptions{Yes: true})
		must(t, againErr)
		if res.Worktree.ID != wt.rec.ID {
			t.Fatalf("cut at call %d: another id", n)
		}
		wantAgain(t, again)
		if err == nil {
			t.Logf("%d power cuts in the setup of a worktree that was torn down", n-1)
			break
		}
	}
	res, err := Setup(ctx, start.host(), testRepo, SetupOptions{Yes: true, New: true})
	must(t, err)
	if res.Worktree.Name != "repo-2" || res.Worktree.ID == wt.rec.ID {
		t.Fatalf("setup --new gives %+v, want a new identity", res.Worktree)
	}
}

// TestFailedSetupAgain has the database of a second setup fail: the records
// are those of a torn down worktree as before.
func TestFailedSetupAgain(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	_, err := history(w).Teardown(ctx, TeardownOptions{Yes: true})
	must(t, err)
	w.fs.SetSpace(vfs.Space{FreeBytes: 1 << 20, TotalBytes: 1 << 30})
	_, err = Setup(ctx, w.host(), testRepo, SetupOptions{Yes: true})
	wantKind(t, err, fault.NoSpace)
	w.fs.SetSpace(vfs.Space{FreeBytes: 1 << 40, TotalBytes: 1 << 41})
	_, err = Setup(ctx, w.host(), testRepo, SetupOptions{Yes: true, Source: []string{"nope"}})
	wantKind(t, err, fault.Usage) // there is a .forklift.json
	_, err = Setup(ctx, w.host(), testRepo, SetupOptions{Yes: true})
	must(t, err)
	wantAgain(t, w)
}

func TestSetupWarnsOfAbsentSources(t *testing.T) {
	w := newWorld(t)
	res, err := Setup(context.Background(), w.host(), testRepo, SetupOptions{Yes: true, Source: []string{"src", "nope"}})
	must(t, err)
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "nope") {
		t.Fatalf("warnings are %q, want one that names the path", res.Warnings)
	}
}
