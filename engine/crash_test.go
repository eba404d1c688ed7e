package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// scene is a worktree with two checkpoints' worth of history, and the verb
// whose every step is to be cut.
type scene struct {
	name    string
	prepare func(w *world, wt *Worktree) // leads up to the verb
	verb    func(wt *Worktree) error
}

// history is what comes before each verb: checkpoint one, then changes to
// files and rows.
func history(w *world) *Worktree {
	w.t.Helper()
	ctx := context.Background()
	w.write("src/kept", "kept")
	w.write("src/changed", "one")
	w.write("src/removed later", "one")
	_, err := Setup(ctx, w.host(), testRepo, SetupOptions{Yes: true})
	must(w.t, err)
	wt := w.open()
	_, err = wt.StartDatabase(ctx, true)
	must(w.t, err)
	w.insert(wt, "one")
	_, err = wt.Capture(ctx, CaptureOptions{Name: "one"})
	must(w.t, err)
	w.insert(wt, "two")
	w.write("src/changed", "two")
	w.write("src/new", "two")
	must(w.t, w.fs.Remove(testRepo+"/src/removed later"))
	must(w.t, w.fs.SyncDir(testRepo+"/src"))
	return wt
}

func restoreOne(wt *Worktree) error {
	_, err := wt.Restore(context.Background(), RestoreOptions{Ref: "one"})
	return err
}

// restorePart restores a part of checkpoint one.
func restorePart(part Part, paths ...string) func(wt *Worktree) error {
	return func(wt *Worktree) error {
		_, err := wt.Restore(context.Background(), RestoreOptions{Ref: "one", Part: part, Paths: paths})
		return err
	}
}

func undo(wt *Worktree) error {
	_, err := wt.Undo(context.Background(), WaitOptions{})
	return err
}

var scenes = []scene{
	{"capture", func(*world, *Worktree) {}, func(wt *Worktree) error {
		_, err := wt.Capture(context.Background(), CaptureOptions{Name: "two"})
		return err
	}},
	{"capture of an unchanged database", func(w *world, wt *Worktree) {
		_, err := wt.Capture(context.Background(), CaptureOptions{Name: "rows"})
		must(w.t, err)
		w.write("src/changed", "three")
	}, func(wt *Worktree) error {
		_, err := wt.Capture(context.Background(), CaptureOptions{Name: "two"})
		return err
	}},
	{"restore", func(*world, *Worktree) {}, restoreOne},
	{"undo", func(w *world, wt *Worktree) { must(w.t, restoreOne(wt)) }, undo},
	{"second restore", func(w *world, wt *Worktree) {
		must(w.t, restoreOne(wt))
		w.insert(wt, "three")
		w.write("src/changed", "three")
	}, restoreOne},
	{"restore into a prepared slot", func(w *world, wt *Worktree) { prepared(w.t, wt, true) }, restoreOne},
	{"code only", func(*world, *Worktree) {}, restorePart(PartCode)},
	{"data only", func(*world, *Worktree) {}, restorePart(PartData)},
	{"paths", func(*world, *Worktree) {}, restorePart(PartPaths, "src/changed", "src/removed later")},
	{"undo paths", func(w *world, wt *Worktree) {
		must(w.t, restorePart(PartPaths, "src/changed", "src/removed later")(wt))
	}, undo},
}

// outcomes runs a scene whole and tells the states before and after, and how
// many calls the verb makes. start is the world before the verb, to be copied.
func (s scene) outcomes(t *testing.T) (start *world, before, after string, calls int) {
	start = newWorld(t)
	s.prepare(start, history(start))
	w := start.copy()
	wt := w.open()
	before = w.state(wt)
	from := w.fs.Calls()
	must(t, s.verb(wt))
	return start, before, w.state(wt), w.fs.Calls() - from
}

// recovered ends what was interrupted and checks that the state is before or
// after, that the verb can be run again or is done, and that nothing is left.
func recovered(t *testing.T, w *world, before, after string) string {
	t.Helper()
	wt := w.open()
	res, err := wt.Recover(context.Background(), RecoverOptions{})
	if err != nil {
		t.Fatalf("recover: %v", err)
	}
	got := w.state(wt)
	switch {
	case res.Direction == "forward" && got != after:
		t.Fatalf("recovered forward to\n%s\nwant\n%s", got, after)
	case res.Direction == "back" && got != before:
		t.Fatalf("recovered back to\n%s\nwant\n%s", got, before)
	case got != before && got != after:
		t.Fatalf("nothing to recover, but the state is\n%s\nneither before\n%s\nnor after\n%s", got, before, after)
	}
	if j, err := wt.readJournal(); err != nil || j != nil {
		t.Fatalf("after recover the journal is %v, %v", j, err)
	}
	if left, err := worktree.Leftovers(context.Background(), w.fs, testRepo); err != nil || len(left) > 0 {
		t.Fatalf("after recover %v is left in the worktree, %v", left, err)
	}
	if report, err := wt.store.Check(context.Background(), storage.CheckOptions{ReadData: true}); err != nil || len(report.Problems) > 0 {
		t.Fatalf("after recover the store has problems: %v %v", report.Problems, err)
	}
	if _, err := wt.Capture(context.Background(), CaptureOptions{}); err != nil {
		t.Fatalf("capture after recover: %v", err)
	}
	return res.Direction
}

// TestPowerCutAtEveryCall cuts the power at every state-changing call of
// every verb, with different luck for what was not flushed.
func TestPowerCutAtEveryCall(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			start, before, after, calls := s.outcomes(t)
			for n := 1; n <= calls; n++ {
				w := start.copy()
				wt := w.open()
				w.fs.CutAt(n)
				err := s.verb(wt)
				if err != nil && !errors.Is(err, vfs.ErrPowerCut) {
					t.Fatalf("call %d of %d: %v, want the power cut", n, calls, err)
				}
				from := before
				if err == nil {
					from = after // the cut met a cache, which may be lost
				}
				keep := []float64{0, 0.5, 1}[n%3]
				recovered(t, w.afterPowerCut(vfs.CrashOptions{Seed: seed + uint64(n), KeepUnsynced: keep}), from, after)
			}
			t.Logf("%d of %d power cuts ended before or after", calls, calls)
		})
	}
}

// TestRecoverCutAtEveryCall cuts the power in recover, once, behind cuts
// spread over the verb.
func TestRecoverCutAtEveryCall(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const spread = 9 // cuts of the verb
	for _, s := range scenes {
		for _, back := range []bool{false, true} {
			t.Run(s.name+map[bool]string{true: " back"}[back], func(t *testing.T) {
				start, before, after, calls := s.outcomes(t)
				total := 0
				for i := 1; i <= spread; i++ {
					total += s.cutTwice(start, before, after, calls*i/spread, back, seed)
				}
				t.Logf("%d of %d cuts of recover ended before or after", total, total)
			})
		}
	}
}

// cutTwice cuts the verb at call n, then recover at each of its calls.
func (s scene) cutTwice(start *world, before, after string, n int, back bool, seed uint64) (cuts int) {
	t := start.t
	w := start.copy()
	wt := w.open()
	w.fs.CutAt(n)
	if err := s.verb(wt); err == nil {
		return 0 // the cut met a cache at the very end
	}
	for m := 1; ; m++ {
		again := w.afterPowerCut(vfs.CrashOptions{Seed: seed + uint64(n), KeepUnsynced: 1})
		wt := again.open()
		again.fs.CutAt(m)
		_, err := wt.Recover(context.Background(), RecoverOptions{Back: back})
		if err == nil {
			return cuts
		}
		if !errors.Is(err, vfs.ErrPowerCut) {
			if fault.KindOf(err) == fault.Interrupted && back {
				return cuts // a capture cannot be taken back, nor a restore whose old slot is not proven
			}
			t.Fatalf("recover: %v", err)
		}
		recovered(t, again.afterPowerCut(vfs.CrashOptions{Seed: seed + uint64(n+m), KeepUnsynced: []float64{0, 0.5, 1}[m%3]}), before, after)
		cuts++
	}
}
