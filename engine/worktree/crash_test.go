package worktree

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"forklift/storage"
	"forklift/storage/vfs"
)

// interrupted is a restore in a worktree in memory that the power cut ended.
type interrupted struct {
	*world
	saved, target    storage.SourceState
	before, after    tree // the whole worktree
	switched         bool // the stage was complete: the engine would have switched
	forward, back    int  // how many were ended which way
	cuts, nestedCuts int
}

// recoverOnce does what the engine's recover does, once; it may be cut off.
func (i *interrupted) recoverOnce(m *vfs.Mem, back bool) error {
	ctx := context.Background()
	if !i.switched {
		return RemoveStaging(ctx, m, top, operation)
	}
	in, rescued, err := i.again(m, back)
	if err != nil {
		return err
	}
	if len(rescued) > 0 {
		i.t.Fatalf("nobody edited anything, but %v was rescued", rescued)
	}
	return errors.Join(in.Verify(ctx), in.Remove(ctx))
}

// again finds or makes the install that ends the restore, and runs it.
func (i *interrupted) again(m *vfs.Mem, back bool) (*Install, []Rescue, error) {
	ctx := context.Background()
	opt := i.options(m, top, i.saved, i.target)
	if back {
		opt.Saved, opt.Target = i.target, i.saved
	}
	opt.Switched, opt.Back = true, back
	in, err := OpenInstall(ctx, m, top, i.store, i.clock, operation, back)
	if err == nil && in == nil {
		in, err = Stage(ctx, opt)
	}
	if err != nil {
		return nil, nil, err
	}
	rescued, err := in.Run(ctx)
	return in, rescued, err
}

// end recovers until it is through: at first cut off again, then not.
func (i *interrupted) end(m *vfs.Mem, rng *rand.Rand) {
	i.t.Helper()
	back := rng.IntN(2) == 0
	for range 2 {
		m.CutAt(1 + rng.IntN(40))
		err := i.recoverOnce(m, back)
		if err != nil && !errors.Is(err, vfs.ErrPowerCut) {
			i.t.Fatal(err)
		}
		if err == nil {
			break
		}
		i.nestedCuts++
		m = m.CrashClone(vfs.CrashOptions{Seed: rng.Uint64(), KeepUnsynced: rng.Float64()})
	}
	m.CutAt(0)
	check(i.t, i.recoverOnce(m, back))
	// A crash after the journal was removed can leave a part of the staging
	// directory, which is then found to hold nothing that is not saved.
	want := i.after
	if back || !i.switched {
		want = i.before
		i.back++
	} else {
		i.forward++
	}
	wantTree(i.t, m, top, want)
	noLeftovers(i.t, m, top)
}

// TestPowerCutAtEveryCall restores random trees over each other, with the
// power cut at every call, then recovers forward or back, cut off again up to
// twice, and wants exactly the target or exactly what was there.
func TestPowerCutAtEveryCall(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rounds := 30
	if testing.Short() {
		rounds = 3
	}
	outside := tree{"keep/me": file("outside"), "top.txt": file("outside"), "srcs/x": file("outside"), ".git2": link("src")}.parents()
	cuts, nested, forward, back := 0, 0, 0, 0
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		w := newWorld(t)
		a := randomTree(rng, "src", 3)
		b := randomTree(rng, "src", 3)
		if round%2 == 1 {
			b = mutate(rng, a)
		}
		target := w.checkpoint(b, sel("src"))
		base := w.memory(a.merge(outside))
		i := &interrupted{world: w, target: target, before: a.merge(outside), after: b.merge(outside)}
		i.saved = w.safety(base, top, sel("src"), nil, target)
		for n := 1; ; n++ {
			m := base.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
			m.CutAt(n)
			in, err := Stage(context.Background(), w.options(m, top, i.saved, target))
			i.switched = err == nil
			if err == nil {
				_, err = finish(context.Background(), in)
			}
			if err == nil && !m.Cut() {
				m.CutAt(0)
				wantTree(t, m, top, i.after)
				noLeftovers(t, m, top)
				break
			}
			if err != nil && !errors.Is(err, vfs.ErrPowerCut) {
				t.Fatalf("round %d, call %d: %v\nfrom\n%sto\n%s", round, n, err, a, b)
			}
			i.cuts++
			i.end(m.CrashClone(vfs.CrashOptions{Seed: rng.Uint64(), KeepUnsynced: []float64{0, 0.5, 1}[n%3]}), rng)
		}
		cuts, nested, forward, back = cuts+i.cuts, nested+i.nestedCuts, forward+i.forward, back+i.back
	}
	t.Logf("%d cuts and %d more while recovering: %d ended at the target, %d at what was there", cuts, nested, forward, back)
}
