package engine

import (
	"context"
	"strings"
	"testing"

	"forklift/storage/fault"
)

// TestPartsAreRestoredAndTakenBack restores each part and takes it back: only
// that part changes, the server goes on where the database is left alone, and
// status tells which checkpoint each half rests on.
func TestPartsAreRestoredAndTakenBack(t *testing.T) {
	const one = "/vm/repo/src/changed -rw-r--r-- one\n/vm/repo/src/kept -rw-r--r-- kept\n/vm/repo/src/removed later -rw-r--r-- one\n"
	const two = "/vm/repo/src/changed -rw-r--r-- two\n/vm/repo/src/kept -rw-r--r-- kept\n/vm/repo/src/new -rw-r--r-- two\n"
	for _, c := range []struct {
		part         Part
		paths        []string
		want         string
		source, data string // the checkpoints that the halves rest on
	}{
		{PartCode, nil, one + "rows: one;two;", "one", "two"},
		{PartData, nil, two + "rows: one;", "two", "one"},
		{PartPaths, []string{"src/removed later"}, strings.Replace(two, "/vm/repo/src/new", "/vm/repo/src/new -rw-r--r-- two\n/vm/repo/src/removed later -rw-r--r-- one\n", 1), "two", "two"},
	} {
		if c.part == PartPaths {
			c.want = "/vm/repo/src/changed -rw-r--r-- two\n/vm/repo/src/kept -rw-r--r-- kept\n/vm/repo/src/new -rw-r--r-- two\n" +
				"/vm/repo/src/removed later -rw-r--r-- one\nrows: one;two;"
		}
		t.Run(string(c.part), func(t *testing.T) {
			ctx := context.Background()
			w := newWorld(t)
			wt := history(w)
			if _, err := wt.Capture(ctx, CaptureOptions{Name: "two"}); err != nil {
				t.Fatal(err)
			}
			server := w.servers[wt.branch.ID]
			before := w.state(wt)
			res, err := wt.Restore(ctx, RestoreOptions{Ref: "one", Part: c.part, Paths: c.paths})
			if err != nil {
				t.Fatal(err)
			}
			if got := w.state(wt); got != c.want {
				t.Errorf("after the restore:\n%s\nwant\n%s", got, c.want)
			}
			if goesOn := w.servers[wt.branch.ID] == server; goesOn != c.part.leavesData() || !res.Running {
				t.Errorf("the server goes on: %v, running: %v", goesOn, res.Running)
			}
			st, err := wt.Status(ctx)
			if err != nil || len(st.Problems) > 0 {
				t.Fatal(err, st.Problems)
			}
			source, data := st.Checkpoint, st.Checkpoint
			if st.SourceCheckpoint != nil {
				source = st.SourceCheckpoint
			}
			if source.Name != c.source || data.Name != c.data {
				t.Errorf("rests on %s and %s, want %s and %s", source.Name, data.Name, c.source, c.data)
			}
			if wantFiles := len(c.paths); st.FileCount != wantFiles {
				t.Errorf("%d files changed, want %d: %v", st.FileCount, wantFiles, st.Files)
			}
			if _, err := wt.Undo(ctx, WaitOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := w.state(wt); got != before {
				t.Errorf("after undo:\n%s\nwant\n%s", got, before)
			}
			if _, err := wt.Redo(ctx, WaitOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := w.state(wt); got != c.want {
				t.Errorf("after redo:\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestUndoOfAPartLeavesTheRest edits the other half, and other files, between
// a restore of a part and its undo.
func TestUndoOfAPartLeavesTheRest(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	must(t, restorePart(PartPaths, "src/changed")(wt))
	w.write("src/new", "three")
	w.insert(wt, "three")
	must(t, undo(wt))
	state := w.state(wt)
	for _, want := range []string{"src/changed -rw-r--r-- two\n", "src/new -rw-r--r-- three\n", "rows: one;two;three;"} {
		if !strings.Contains(state, want) {
			t.Errorf("after undo of paths %q is not in\n%s", want, state)
		}
	}
	must(t, restorePart(PartData)(wt))
	w.write("src/new", "four")
	must(t, undo(wt))
	if state := w.state(wt); !strings.Contains(state, "src/new -rw-r--r-- four\n") || !strings.Contains(state, "rows: one;two;three;") {
		t.Errorf("after undo of the data:\n%s", state)
	}
	_ = ctx
}

func TestPathsThatCannotBeRestored(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	before := w.state(wt)
	_, err := wt.Restore(ctx, RestoreOptions{Ref: "one", Part: PartPaths, Paths: []string{"src/changd"}})
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.HintOf(err), "src/changed") {
		t.Errorf("%v (%s)", err, fault.HintOf(err))
	}
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "one", Part: "half"})
	if err == nil {
		t.Error("a part that there is not is restored")
	}
	if got := w.state(wt); got != before {
		t.Errorf("refused, but changed:\n%s", got)
	}
}

// TestPlan holds a plan against what is done, and refuses one that is out of date.
func TestPlan(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	before := w.state(wt)
	calls := w.fs.Calls()
	p, err := wt.PlanRestore(ctx, RestoreOptions{Ref: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if n := w.fs.Calls() - calls; n > 2 || w.state(wt) != before {
		t.Errorf("a plan changed something: %d calls", n)
	}
	got := ""
	for _, f := range p.Files {
		got += f.Change + " " + f.Path + "\n"
	}
	if want := "modified src/changed\nremoved src/new\nadded src/removed later\n"; got != want || p.Kept != 1 || p.Written != 2 || p.Removed != 1 {
		t.Errorf("plan\n%s%+v", got, p)
	}
	again, err := wt.PlanRestore(ctx, RestoreOptions{Ref: "one"})
	if err != nil || again.PlanID != p.PlanID {
		t.Errorf("the same plan is %s, then %s (%v)", p.PlanID, again.PlanID, err)
	}
	w.write("src/changed", "three")
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "one", Plan: p.PlanID})
	if fault.KindOf(err) != fault.Usage {
		t.Errorf("a plan out of date: %v", err)
	}
	if j, err := wt.readJournal(); j != nil || err != nil {
		t.Errorf("a refused plan leaves a journal: %v %v", j, err)
	}
	w.write("src/changed", "two")
	if _, err = wt.Restore(ctx, RestoreOptions{Ref: "one", Plan: p.PlanID}); err != nil {
		t.Error(err)
	}
}
