package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"forklift/engine/config"
	"forklift/storage/vfs"
)

// prepared prepares and wants to know whether there was something to do.
func prepared(t *testing.T, wt *Worktree, want bool) {
	t.Helper()
	if done, err := wt.PrepareIdle(context.Background()); err != nil || done != want {
		t.Fatalf("prepared: %v, %v, want %v", done, err, want)
	}
}

func TestPreparedSlotNeedsOnlyTheDifference(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	edited := w.state(wt)
	prepared(t, wt, true)
	prepared(t, wt, false)
	res, err := wt.Restore(ctx, RestoreOptions{Ref: "one"})
	must(t, err)
	if res.PatchedBytes != 0 {
		t.Errorf("the restore wrote %d bytes into a slot that held what it wanted", res.PatchedBytes)
	}
	prepared(t, wt, false) // undo goes back to what the slot holds
	res, err = wt.Undo(ctx, WaitOptions{})
	must(t, err)
	if got := w.state(wt); got != edited || res.PatchedBytes != 0 {
		t.Errorf("undo wrote %d bytes, the state is\n%s\nwant\n%s", res.PatchedBytes, got, edited)
	}
	w.insert(wt, "three")
	_, err = wt.Capture(ctx, CaptureOptions{Name: "three"})
	must(t, err)
	prepared(t, wt, true)
	w.boots++ // what was known of files before is not believed
	prepared(t, w.open(), true)
}

func TestPreparingGivesWay(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	for _, name := range []string{operationLock, slotLock(SlotB)} {
		lock, err := w.fs.Lock(wt.file(name), true)
		must(t, err)
		prepared(t, wt, false)
		must(t, lock.Unlock())
	}
	must(t, wt.writeJournal(wt.newJournal(verbCapture, selection{})))
	prepared(t, wt, false)
	must(t, wt.clearJournal())
	wt.machine.Limits = config.Limits{FreeSpace: "900000TB"}
	prepared(t, wt, false)
	wt.machine.Limits = config.Limits{}
	if entries, err := w.fs.ReadDir(wt.branch.SlotDir(SlotB)); err == nil && len(entries) > 0 {
		t.Fatalf("the idle slot was written to: %v", entries)
	}

	until, stop := wt.untilOperation(ctx)
	lock, err := w.fs.Lock(wt.file(operationLock), true)
	must(t, err)
	<-until.Done()
	if cause := context.Cause(until); cause != errGivesWay {
		t.Fatalf("it gave way because of %v", cause)
	}
	stop()
	must(t, lock.Unlock())

	// One that was ended leaves a slot of which nothing is known.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if done, err := wt.PrepareIdle(ended); err != nil || done {
		t.Fatalf("a preparation that was ended says %v, %v", done, err)
	}
	if rec, err := wt.readSlot(SlotB); err != nil || rec.Clean {
		t.Fatalf("the slot's record is %+v, %v", rec, err)
	}
	prepared(t, wt, true)
}

// TestPreparingCutAtEveryCall cuts the power while the idle slot is prepared:
// nothing is to be recovered, and a restore through that slot is exact.
func TestPreparingCutAtEveryCall(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	prepare := scene{"prepare", func(w *world, wt *Worktree) {
		_, err := wt.Capture(context.Background(), CaptureOptions{Name: "two"})
		must(w.t, err)
	}, func(wt *Worktree) error {
		_, err := wt.PrepareIdle(context.Background())
		return err
	}}
	start, before, after, calls := prepare.outcomes(t)
	if before != after {
		t.Fatalf("preparing changed the worktree to\n%s", after)
	}
	reference := start.copy()
	wt := reference.open()
	must(t, restoreOne(wt))
	want := reference.state(wt)
	for n := 1; n <= calls; n++ {
		w := start.copy()
		wt := w.open()
		w.fs.CutAt(n)
		if err := prepare.verb(wt); err != nil && !errors.Is(err, vfs.ErrPowerCut) {
			t.Fatalf("call %d of %d: %v, want the power cut", n, calls, err)
		}
		w = w.afterPowerCut(vfs.CrashOptions{Seed: seed + uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
		wt = w.open()
		if res, err := wt.Recover(context.Background(), RecoverOptions{}); err != nil || !res.Nothing {
			t.Fatalf("call %d: recover: %+v, %v", n, res, err)
		}
		must(t, restoreOne(wt))
		if got := w.state(wt); got != want {
			t.Fatalf("call %d: restored\n%s\nwant\n%s", n, got, want)
		}
	}
	t.Logf("%d power cuts", calls)
}
