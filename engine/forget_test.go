package engine

import (
	"context"
	"slices"
	"strings"
	"testing"

	"forklift/storage"
	"forklift/storage/fault"
)

// cleanups is a worktree with the checkpoints one, two and three: one was
// restored, so that undo goes back to what two holds, and it rests on three.
func cleanups(t *testing.T) (*world, *Worktree) {
	t.Helper()
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	must(t, err)
	must(t, restoreOne(wt))
	w.write("src/changed", "three")
	_, err = wt.Capture(ctx, CaptureOptions{Name: "three"})
	must(t, err)
	return w, wt
}

func checkpoints(t *testing.T, wt *Worktree) []string {
	t.Helper()
	list, err := wt.List(context.Background(), ListOptions{})
	must(t, err)
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// undoGoesTo is the name of what undo goes back to: the checkpoint two if that
// serves, else a safety checkpoint.
func undoGoesTo(t *testing.T, wt *Worktree) string {
	t.Helper()
	last, err := wt.lastMove()
	must(t, err)
	p, err := wt.store.Pair(context.Background(), wt.rec.Project, last.Before)
	must(t, err)
	return p.Name
}

func TestForgetRefusesWhatIsNeeded(t *testing.T) {
	ctx := context.Background()
	_, wt := cleanups(t)
	for ref, why := range map[string]string{"three": "rests on it", undoGoesTo(t, wt): "undo"} {
		_, err := wt.Forget(ctx, ForgetOptions{Refs: []string{"one", ref}, Yes: true})
		if fault.KindOf(err) != fault.Busy || len(fault.ItemsOf(err)) != 1 || !strings.Contains(fault.ItemsOf(err)[0], why) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v %v", ref, err, fault.ItemsOf(err))
		}
	}
	_, err := wt.Protect(ctx, "one", true)
	must(t, err)
	if _, err := wt.Forget(ctx, ForgetOptions{Refs: []string{"one"}, Yes: true}); fault.KindOf(err) != fault.Busy {
		t.Errorf("protected: %v", err)
	}
	for _, opt := range []ForgetOptions{{}, {Refs: []string{"one"}, Policy: KeepPolicy{Last: 1}}} {
		if _, err := wt.Forget(ctx, opt); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	if got := checkpoints(t, wt); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

func TestForgetAndPrune(t *testing.T) {
	ctx := context.Background()
	_, wt := cleanups(t)
	plan, err := wt.Forget(ctx, ForgetOptions{Policy: KeepPolicy{Last: 1}})
	must(t, err)
	gone := []string{}
	for _, row := range plan.Forget {
		gone = append(gone, row.Name)
	}
	kept := undoGoesTo(t, wt)
	if plan.Done || !slices.Contains(gone, "one") || slices.Contains(gone, kept) || slices.Contains(gone, "three") {
		t.Fatalf("%+v", plan)
	}
	if _, err := wt.Forget(ctx, ForgetOptions{Policy: KeepPolicy{Last: 1}, Yes: true, Plan: "other"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("another plan: %v", err)
	}
	done, err := wt.Forget(ctx, ForgetOptions{Policy: KeepPolicy{Last: 1}, Yes: true, Plan: plan.Plan})
	must(t, err)
	if got := checkpoints(t, wt); !done.Done || slices.Contains(got, "one") || len(got) != 3-len(gone) {
		t.Errorf("%+v: %v", done, got)
	}
	shown, err := wt.Prune(ctx, PruneOptions{})
	must(t, err)
	pruned, err := wt.Prune(ctx, PruneOptions{Yes: true, Plan: shown.Plan})
	must(t, err)
	if shown.Done || !pruned.Done {
		t.Errorf("%+v %+v", shown, pruned)
	}
	report, err := wt.store.Check(ctx, storage.CheckOptions{ReadData: true})
	must(t, err)
	if len(report.Problems) > 0 {
		t.Errorf("%+v", report.Problems)
	}
	// What undo goes back to is there.
	_, err = wt.Undo(ctx, WaitOptions{})
	must(t, err)
	if sel, err := wt.readSelection(); err != nil || sel.Pair == "" {
		t.Errorf("%v", err)
	}
}

func TestLimits(t *testing.T) {
	ctx := context.Background()
	_, wt := cleanups(t)
	wt.machine.Limits.StoreSize = "1"
	_, err := wt.Capture(ctx, CaptureOptions{Name: "four"})
	if fault.KindOf(err) != fault.NoSpace || !strings.Contains(fault.HintOf(err), "prune") {
		t.Errorf("%v", err)
	}
	wt.machine.Limits.StoreSize, wt.machine.Limits.FreeSpace = "", "9000TB"
	if _, err := wt.Capture(ctx, CaptureOptions{Name: "four"}); fault.KindOf(err) != fault.NoSpace {
		t.Errorf("%v", err)
	}
	st, err := wt.Status(ctx)
	must(t, err)
	if !slices.ContainsFunc(st.Problems, func(p string) bool { return strings.Contains(p, "9000TB") }) {
		t.Errorf("%v", st.Problems)
	}
	wt.machine.Limits.FreeSpace = "1"
	if st, err = wt.Status(ctx); err != nil || len(st.Problems) != 0 {
		t.Errorf("%v %v", st.Problems, err)
	}
}

func TestRenameRefusesWhatRecoveryNeeds(t *testing.T) {
	ctx := context.Background()
	_, wt := cleanups(t)
	sel, pair, err := wt.currentPair(ctx)
	must(t, err)
	j := wt.newJournal(verbCapture, sel)
	j.Pair, j.PairName = pair.ID, pair.Name
	must(t, wt.writeJournal(j))
	if _, err := wt.ChangeName(ctx, "three", "four"); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("%v", err)
	}
	must(t, wt.clearJournal())
	c, err := wt.ChangeName(ctx, "three", "four")
	must(t, err)
	if c.Name != "four" || !c.Current {
		t.Errorf("%+v", c)
	}
}
