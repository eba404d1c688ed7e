package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// damagedWorld is a worktree whose server was killed, and whose database has
// a row that keeps it from starting again.
func damagedWorld(t *testing.T) (*world, *Worktree) {
	t.Helper()
	w := newWorld(t)
	wt := history(w)
	w.insert(wt, "damaged")
	server := w.servers[wt.branch.ID]
	delete(w.servers, wt.branch.ID)
	must(t, server.live.Unlock())
	return w, wt
}

func discard(wt *Worktree) error {
	_, err := wt.Restore(context.Background(), RestoreOptions{Ref: "one", DiscardCurrent: true})
	return err
}

func TestUndoBringsBackWhatWasDiscarded(t *testing.T) {
	ctx := context.Background()
	w, wt := damagedWorld(t)
	damaged := w.state(wt)
	must(t, discard(wt))
	one := w.state(wt)
	if !strings.HasSuffix(one, "rows: one;") {
		t.Fatalf("restored\n%s", one)
	}
	// The idle slot is used for other things before the undo.
	prepared(t, wt, true)
	for i, want := range []string{damaged, one, damaged, one} {
		res, err := wt.Undo(ctx, WaitOptions{})
		must(t, err)
		if got := w.state(wt); got != want {
			t.Fatalf("undo %d leads to\n%s\nwant\n%s", i+1, got, want)
		}
		if res.Running {
			t.Fatal("a server runs that nobody had started")
		}
	}
	if st, err := wt.Status(ctx); err != nil || st.Interrupted != nil {
		t.Fatalf("status: %+v, %v", st, err)
	}
	if kept, err := w.fs.ReadDir(wt.branch.Dir + "/" + keptDir); err != nil || len(kept) != 1 {
		t.Fatalf("set aside is %v, %v", kept, err)
	}
	_, err := wt.Redo(ctx, WaitOptions{})
	must(t, err)
	if got := w.state(wt); got != damaged {
		t.Fatalf("redo leads to\n%s", got)
	}
}

func TestWhatWasDiscardedIsOfItsWorktree(t *testing.T) {
	ctx := context.Background()
	w, wt := damagedWorld(t)
	res, err := wt.Restore(ctx, RestoreOptions{Ref: "one", DiscardCurrent: true})
	must(t, err)
	pair, err := wt.store.Pair(ctx, wt.rec.Project, res.SafetyID)
	must(t, err)
	// Nothing is known of its tables; the plan says so by empty lists.
	p, err := wt.PlanRestore(ctx, RestoreOptions{Ref: string(pair.ID)})
	must(t, err)
	if d := p.Database; d == nil || d.Tables == nil || d.Definitions == nil || d.RowsKnown || d.DefinitionsKnown || len(d.Problems) == 0 {
		t.Fatalf("the plan tells of the database: %+v", d)
	}
	if other := *pair; true {
		other.Worktree = "another"
		_, err := wt.checkDatabase(ctx, &other)
		wantKind(t, err, fault.Unsupported)
	}
	// Forgotten, it goes with the next operation.
	must(t, wt.store.RemoveName(ctx, wt.rec.Project, wt.rec.ID, pair.Kind, pair.Name))
	must(t, wt.store.DeletePair(ctx, wt.rec.Project, pair.ID))
	_, err = wt.Capture(ctx, CaptureOptions{Name: "later"})
	must(t, err)
	if kept, err := w.fs.ReadDir(wt.branch.Dir + "/" + keptDir); err != nil || len(kept) != 0 {
		t.Fatalf("set aside is %v, %v", kept, err)
	}
}

// TestDiscardingCutAtEveryCall cuts the power while a database is set aside,
// brought back, and set aside again; the verb is then done once more.
func TestDiscardingCutAtEveryCall(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	undone := func(wt *Worktree) { must(t, undo(wt)) }
	for _, s := range []struct {
		name    string
		prepare []func(wt *Worktree)
		verb    func(wt *Worktree) error
	}{
		{"discard", nil, discard},
		{"undo", []func(*Worktree){func(wt *Worktree) { must(t, discard(wt)) }}, undo},
		{"undo of undo", []func(*Worktree){func(wt *Worktree) { must(t, discard(wt)) }, undone}, undo},
	} {
		for _, back := range []bool{false, true} {
			t.Run(s.name+map[bool]string{true: " back"}[back], func(t *testing.T) {
				start, wt := damagedWorld(t)
				for _, do := range s.prepare {
					do(wt)
				}
				before := start.state(wt)
				w := start.copy()
				wt = w.open()
				from := w.fs.Calls()
				must(t, s.verb(wt))
				after, calls := w.state(wt), w.fs.Calls()-from
				for n := 1; n <= calls; n++ {
					w := start.copy()
					w.fs.CutAt(n)
					err := s.verb(w.open())
					if err != nil && !errors.Is(err, vfs.ErrPowerCut) {
						t.Fatalf("call %d of %d: %v, want the power cut", n, calls, err)
					}
					done := err == nil
					w = w.afterPowerCut(vfs.CrashOptions{Seed: seed + uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
					wt := w.open()
					_, err = wt.Recover(context.Background(), RecoverOptions{Back: back})
					if back && fault.KindOf(err) == fault.Interrupted {
						_, err = wt.Recover(context.Background(), RecoverOptions{}) // the slot that it left is not proven
					}
					if err != nil {
						t.Fatalf("call %d of %d: recover: %v", n, calls, err)
					}
					got := w.state(wt)
					if got != after && (got != before || done) {
						t.Fatalf("call %d of %d ended at\n%s\nneither before\n%s\nnor after\n%s", n, calls, got, before, after)
					}
					if got == before {
						must(t, s.verb(wt))
						if got := w.state(wt); got != after {
							t.Fatalf("call %d of %d, done again, leads to\n%s\nwant\n%s", n, calls, got, after)
						}
					}
					must(t, undo(wt))
					if got := w.state(wt); got != before {
						t.Fatalf("call %d of %d, undone, leads to\n%s\nwant\n%s", n, calls, got, before)
					}
				}
				t.Logf("%d power cuts", calls)
			})
		}
	}
}

// TestDiscardingWhatCannotBeRead is of a database that was stopped cleanly, and
// of which then a file was lost that tells how to read it.
func TestDiscardingWhatCannotBeRead(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	must(t, wt.StopDatabase(ctx, WaitOptions{}))
	before := w.state(wt)
	w.torn = true
	err := restoreOne(wt)
	wantKind(t, err, fault.Failed)
	if !strings.Contains(fault.HintOf(err), "--discard-current") {
		t.Fatalf("the hint is %q, want it to name --discard-current", fault.HintOf(err))
	}
	if got := w.state(wt); got != before {
		t.Fatalf("refused, and now it is\n%s\nwant\n%s", got, before)
	}
	must(t, discard(wt))
	w.torn = false
	if got := w.state(wt); !strings.HasSuffix(got, "rows: one;") {
		t.Fatalf("restored\n%s", got)
	}
	_, err = wt.Undo(ctx, WaitOptions{})
	must(t, err)
	if got := w.state(wt); got != before {
		t.Fatalf("undo leads to\n%s\nwant\n%s", got, before)
	}
}

// TestDiscardingWhatIsGone is of a database of which nothing is left.
func TestDiscardingWhatIsGone(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	must(t, wt.StopDatabase(ctx, WaitOptions{}))
	slot, err := wt.selectedSlot()
	must(t, err)
	must(t, durable.RemoveAll(w.fs, wt.branch.SlotDir(slot)))
	res, err := wt.Restore(ctx, RestoreOptions{Ref: "one", DiscardCurrent: true})
	must(t, err)
	if said := strings.Join(res.Warnings, "\n"); !strings.Contains(said, res.SafetyName+" --code-only") || strings.Contains(said, "set aside") {
		t.Fatalf("warnings: %q", said)
	}
}
