package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

func noRoots(context.Context) (Roots, error) { return Roots{}, nil }

// prune plans and runs a prune that leaves nothing unused.
func prune(fsys vfs.FS, opt PruneOptions) (*PruneReport, error) {
	ctx := context.Background()
	s, err := Open(ctx, fsys, "/lab/store")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if opt.Roots == nil {
		opt.Roots = noRoots
	}
	p, err := s.PlanPrune(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	err = p.Run(ctx)
	return &p.Report, err
}

// forgetFirst forgets the first pair of the crash lab.
func forgetFirst(fsys vfs.FS) error {
	s, err := Open(context.Background(), fsys, "/lab/store")
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Forget(context.Background(), []NameRef{{"project", "worktree", Capture, "first"}},
		func(context.Context, []*Pair) error { return nil })
}

// leftovers tells what is stored beside what the pairs need.
func leftovers(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, fsys, "/lab/store")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.PlanPrune(ctx, PruneOptions{Roots: noRoots})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	plan := p.Report.Plan
	if len(plan.Remove)+len(plan.Repack)+len(plan.Pairs)+len(plan.Stray) == 0 {
		return ""
	}
	return fmt.Sprintf("%+v", plan)
}

// pruneLab is a store with two pairs, the first of which is forgotten.
func pruneLab(t *testing.T, r *rand.Rand) (m *vfs.Mem, second map[string]string) {
	t.Helper()
	m, _, second = crashLab(t, r)
	if err := publish(m, secondPair, "second"); err != nil {
		t.Fatal(err)
	}
	if err := forgetFirst(m); err != nil {
		t.Fatal(err)
	}
	if err := m.SyncFS("/lab"); err != nil {
		t.Fatal(err)
	}
	return m, second
}

// holdsSecond checks that the second pair is whole, and that nothing is wrong.
func holdsSecond(t *testing.T, fsys vfs.FS, second map[string]string) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, fsys, "/lab/store")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	report, err := s.Check(ctx, CheckOptions{ReadData: true})
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("%v %+v", err, report.Problems)
	}
	p, err := s.Pair(ctx, "project", secondPair)
	if err != nil {
		t.Fatal(err)
	}
	for i, manifest := range p.manifests() {
		dir := fmt.Sprintf("/lab/out-%d", i)
		_ = fsys.Mkdir(dir, 0o700)
		if _, err := s.Patch(ctx, fsys, dir, manifest, PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		got, err := snapshot(fsys, dir)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for p, line := range second {
			if p != "" {
				want[p] = line
			}
		}
		delete(got, "")
		same(t, "second", got, want)
	}
}

func TestPruneRemovesWhatNothingNeeds(t *testing.T) {
	m, second := pruneLab(t, seeded(t))
	if leftovers(t, m) == "" {
		t.Fatal("the forgotten pair left nothing")
	}
	report, err := prune(m, PruneOptions{})
	if err != nil || !report.Done || report.FreedBytes == 0 || len(report.Plan.Repack) == 0 {
		t.Fatalf("%v %+v", err, report)
	}
	holdsSecond(t, m, second)
	if left := leftovers(t, m); left != "" {
		t.Errorf("left: %s", left)
	}
	again, err := prune(m, PruneOptions{})
	if err != nil || again.FreedBytes != 0 {
		t.Errorf("again: %v %+v", err, again)
	}
}

// TestPruneAnyHistory makes pairs of a tree that changes at random, forgets
// some, and prunes: what is left reads back, and nothing else is stored.
func TestPruneAnyHistory(t *testing.T) {
	r := seeded(t)
	for range 3 {
		m := vfs.NewMem()
		l := newLabAt(t, m)
		l.mkdir("tree")
		trees := map[PairID]map[string]string{}
		med := &meddler{r, l.root("tree")}
		var names []NameRef
		for i := range 4 + r.IntN(4) {
			for range 10 {
				med.meddle()
			}
			id := PairID(fmt.Sprintf("01hzzzzzzzzzzzzzzzzzzzzz%02d", i))
			tree := l.capture("tree", bothUnits[pick(r, []string{"pages", "chunks"})], nil)
			l.ok(l.s.PutPair(t.Context(), &Pair{ID: id, Project: "p", Kind: Capture, Source: SourceState{Manifest: tree.Manifest}}))
			if r.IntN(5) > 0 { // others stay without a name
				name := fmt.Sprintf("n%d", i)
				l.ok(l.s.SetName(t.Context(), "p", "w", Capture, name, id))
				trees[id] = l.tree("tree")
				names = append(names, NameRef{"p", "w", Capture, name})
			}
		}
		r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		for _, n := range names[:r.IntN(len(names)+1)] {
			id, err := l.s.Name(t.Context(), n.Project, n.Worktree, n.Kind, n.Name)
			l.ok(err)
			delete(trees, id)
			l.ok(l.s.Forget(t.Context(), []NameRef{n}, func(context.Context, []*Pair) error { return nil }))
		}
		_, err := prune(m, PruneOptions{})
		l.ok(err)
		if left := leftovers(t, m); left != "" {
			t.Errorf("left: %s", left)
		}
		pairs, err := l.s.Pairs(t.Context(), "p")
		l.ok(err)
		if len(pairs) != len(trees) {
			t.Errorf("%d pairs, not %d", len(pairs), len(trees))
		}
		for i, p := range pairs {
			dir := fmt.Sprintf("out%d", i)
			l.mkdir(dir)
			l.patch(dir, p.Source.Manifest, PatchOptions{})
			got, want := l.tree(dir), trees[p.ID]
			delete(got, "")
			delete(want, "")
			same(t, string(p.ID), got, want)
		}
	}
}

func newLabAt(t *testing.T, m *vfs.Mem) *lab {
	t.Helper()
	if err := m.Mkdir("/lab", 0o700); err != nil {
		t.Fatal(err)
	}
	return newLab(t, m, "/lab")
}

func TestPowerCutAtEveryCallOfPrune(t *testing.T) {
	r := seeded(t)
	prepared, second := pruneLab(t, r)
	for n := 1; ; n++ {
		m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		m.CutAt(n)
		_, err := prune(m, PruneOptions{})
		cut := m.Cut()
		// A cut that meets only a removal that nothing waits for is not told.
		if err != nil && !cut {
			t.Fatalf("call %d: %v", n, err)
		}
		keep := []float64{0, 0.5, 1}[n%3]
		after := m.CrashClone(vfs.CrashOptions{Seed: r.Uint64(), KeepUnsynced: keep})
		holdsSecond(t, after, second)
		if _, err := prune(after, PruneOptions{}); err != nil {
			t.Fatalf("call %d: the next prune: %v", n, err)
		}
		holdsSecond(t, after, second)
		if left := leftovers(t, after); left != "" {
			t.Fatalf("call %d: left: %s", n, left)
		}
		if !cut {
			t.Logf("%d calls", n-1)
			return
		}
	}
}

func TestErrorAtEveryCallOfPrune(t *testing.T) {
	prepared, second := pruneLab(t, seeded(t))
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		for n := 1; ; n++ {
			m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
			in := vfs.Inject(m, vfs.Rule{Nth: n, Err: cause, Sticky: n%2 == 0})
			_, err := prune(in, PruneOptions{})
			if len(in.Failed()) == 0 {
				break
			}
			if err != nil {
				checkFailure(t, n, err, cause)
			}
			holdsSecond(t, m, second)
		}
	}
}

// What a prune would remove and a capture has begun to use meanwhile stays.
func TestPruneRefusesWhatIsNeededNow(t *testing.T) {
	m, second := pruneLab(t, seeded(t))
	l := &lab{t: t, fs: m, dir: "/lab"}
	var err error
	l.s, err = Open(t.Context(), m, "/lab/store")
	l.ok(err)
	defer l.s.Close()
	l.mkdir("other")
	l.write("other/f", noise(rand.New(rand.NewPCG(1, 2)), 50_000))
	tree := l.capture("other", bothUnits["pages"], nil) // nothing names it yet
	p, err := l.s.PlanPrune(t.Context(), PruneOptions{Roots: noRoots})
	l.ok(err)
	later := &Pair{ID: laterPair, Project: "project", Kind: Capture, Source: SourceState{Manifest: tree.Manifest}}
	l.ok(l.s.PutPair(t.Context(), later))
	l.ok(l.s.SetName(t.Context(), "project", "worktree", Capture, "later", laterPair))
	if err := p.Run(t.Context()); fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "saved meanwhile") {
		t.Fatalf("%v", err)
	}
	p.Close()
	for range 2 {
		holdsSecond(t, m, second)
		_ = m.Mkdir("/lab/out", 0o700)
		l.patch("out", tree.Manifest, PatchOptions{})
		same(t, "other", l.tree("out"), l.tree("other"))
		_, err = prune(m, PruneOptions{})
		l.ok(err)
	}
	if left := leftovers(t, m); left != "" {
		t.Errorf("left: %s", left)
	}
}

// A running capture is waited for, and what it needs stays.
func TestPruneWaitsForAWriter(t *testing.T) {
	m, second := pruneLab(t, seeded(t))
	s, err := Open(t.Context(), m, "/lab/store")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.NewWriter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prune(m, PruneOptions{Wait: 1}); fault.KindOf(err) != fault.Busy {
		t.Errorf("beside a writer: %v", err)
	}
	w.Abort()
	if _, err := prune(m, PruneOptions{}); err != nil {
		t.Error(err)
	}
	// The Store that was open all the time sees what is left.
	p, err := s.Pair(t.Context(), "project", secondPair)
	if err != nil {
		t.Fatal(err)
	}
	_ = m.Mkdir("/lab/reader", 0o700)
	if _, err := s.Patch(t.Context(), m, "/lab/reader", p.Source.Manifest, PatchOptions{}); err != nil {
		t.Error(err)
	}
	holdsSecond(t, m, second)
}

// Two prunes exclude each other.
func TestOnePruneAtATime(t *testing.T) {
	m, _ := pruneLab(t, seeded(t))
	s, err := Open(t.Context(), m, "/lab/store")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.PlanPrune(t.Context(), PruneOptions{Roots: noRoots})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prune(m, PruneOptions{}); fault.KindOf(err) != fault.Busy || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	p.Close()
	if _, err := prune(m, PruneOptions{}); err != nil {
		t.Error(err)
	}
}

// With too little space nothing is written again, but what is wholly unused goes.
func TestPruneWithLittleSpace(t *testing.T) {
	m, second := pruneLab(t, seeded(t))
	m.SetSpace(vfs.Space{FreeBytes: pruneSpare, TotalBytes: 1 << 40})
	report, err := prune(m, PruneOptions{})
	if err != nil || !report.Limited || len(report.Plan.Repack) != 0 {
		t.Errorf("%v %+v", err, report)
	}
	holdsSecond(t, m, second)
}

// What was remembered of files does not count after a prune.
func TestMemoryAfterPrune(t *testing.T) {
	m, _ := pruneLab(t, seeded(t))
	l := &lab{t: t, fs: m, dir: "/lab"}
	var err error
	l.s, err = Open(t.Context(), m, "/lab/store")
	l.ok(err)
	defer l.s.Close()
	l.mkdir("other")
	l.write("other/f", noise(rand.New(rand.NewPCG(1, 2)), 50_000))
	tree := l.capture("other", bothUnits["pages"], nil)
	l.ok(l.s.SaveMemory("/lab/memory", "boot", tree.Memory))
	if l.s.LoadMemory("/lab/memory", "boot") == nil {
		t.Fatal("the memory is not loaded")
	}
	_, err = prune(m, PruneOptions{}) // no pair names it
	l.ok(err)
	again := l.capture("other", bothUnits["pages"], tree.Memory)
	if again.Manifest != tree.Manifest || again.Stats.ReadFiles != 1 {
		t.Errorf("%+v", again.Stats)
	}
	if l.s.LoadMemory("/lab/memory", "boot") != nil {
		t.Error("the memory of before is loaded")
	}
	l.mkdir("out")
	l.patch("out", again.Manifest, PatchOptions{})
	same(t, "other", l.tree("out"), l.tree("other"))
}

// What a slot, a journal or a selection needs stays without a name.
func TestPruneKeepsRoots(t *testing.T) {
	m, _ := pruneLab(t, seeded(t))
	l := &lab{t: t, fs: m, dir: "/lab"}
	var err error
	l.s, err = Open(t.Context(), m, "/lab/store")
	l.ok(err)
	defer l.s.Close()
	p, err := l.s.Pair(t.Context(), "project", secondPair)
	l.ok(err)
	l.ok(l.s.RemoveName(t.Context(), "project", "worktree", Capture, "second"))
	roots := Roots{Manifests: []ID{p.Source.Manifest}}
	_, err = prune(m, PruneOptions{Roots: func(context.Context) (Roots, error) { return roots, nil }})
	l.ok(err)
	if _, err := l.s.Pair(t.Context(), "project", secondPair); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a pair without a name is there: %v", err)
	}
	l.mkdir("out")
	l.patch("out", p.Source.Manifest, PatchOptions{})
	roots = Roots{}
	_, err = prune(m, PruneOptions{})
	l.ok(err)
	if files := slices.Concat(l.files("store/packs"), l.files("store/index")); len(files) != 0 {
		t.Errorf("left: %v", files)
	}
}

// Damage to what is needed refuses a prune; nothing is removed.
func TestPruneRefusesDamage(t *testing.T) {
	prepared, _ := pruneLab(t, seeded(t))
	l := &lab{t: t, fs: prepared, dir: "/lab"}
	for _, file := range slices.Concat(l.files("store/packs"), l.files("store/pairs")) {
		m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		l.ok(m.Remove(l.path(file)))
		before, err := snapshot(m, "/lab/store")
		l.ok(err)
		_, err = prune(m, PruneOptions{})
		if err == nil {
			continue // nothing of it was needed
		}
		if fault.KindOf(err) != fault.Corrupt || !strings.Contains(fault.HintOf(err), "repair") {
			t.Errorf("without %s: %v (%s)", file, err, fault.HintOf(err))
		}
		after, err := snapshot(m, "/lab/store")
		l.ok(err)
		delete(after, pruneLock)
		delete(before, pruneLock)
		same(t, file, after, before)
	}
}
