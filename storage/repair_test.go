package storage

import (
	"context"
	"slices"
	"strings"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// repair plans and runs a repair.
func repair(fsys vfs.FS) (*RepairReport, error) {
	ctx := context.Background()
	s, err := Open(ctx, fsys, "/lab/store")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := s.PlanRepair(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	err = r.Run(ctx)
	return &r.Report, err
}

// repaired checks that a repair left nothing but what it said is lost, and
// that a capture of the tree stores that again.
func repaired(t *testing.T, m *vfs.Mem, report *RepairReport, tree map[string]string) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, m, "/lab/store")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check, err := s.Check(ctx, CheckOptions{ReadData: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range check.Problems {
		for _, id := range p.Pairs {
			if !slices.ContainsFunc(report.Hurt, func(h HurtPair) bool { return h.ID == id }) {
				t.Errorf("pair %s has a problem that was not told: %+v", id, p)
			}
		}
		if len(p.Pairs) == 0 {
			t.Errorf("a problem is left: %+v", p)
		}
	}
	l := &lab{t: t, fs: m, dir: "/lab", s: s}
	again := l.capture("tree", bothUnits["pages"], nil)
	_ = m.Mkdir("/lab/again", 0o700)
	l.patch("again", again.Manifest, PatchOptions{Verify: 1})
	same(t, "captured again", l.tree("again"), tree)
}

func TestRepair(t *testing.T) {
	r := seeded(t)
	prepared, l := damageLab(t, r)
	tree := l.tree("tree")
	if report, err := repair(prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})); err != nil || !report.Plan.Empty() || len(report.Hurt) > 0 {
		t.Fatalf("of a whole store: %v %+v", err, report)
	}
	hurt, salvaged := 0, int64(0)
	for _, file := range slices.Concat(l.files("store/packs"), l.files("store/index"), l.files("store/pairs"), l.files("store/names")) {
		whole := l.read(file)
		ways := mutations(r, len(whole))
		ways["gone"] = nil
		for how, mutate := range ways {
			m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
			if mutate == nil {
				l.ok(m.Remove(l.path(file)))
			} else if data := mutate(slices.Clone(whole)); string(data) == string(whole) {
				continue
			} else {
				l.ok(writeFile(m, l.path(file), data))
			}
			report, err := repair(m)
			if err != nil {
				t.Fatalf("%s, %s: %v", file, how, err)
			}
			hurt += len(report.Hurt)
			salvaged += report.Salvaged
			if strings.HasPrefix(file, "store/index") && len(report.Hurt) > 0 {
				t.Errorf("%s, %s: an index hurts %+v", file, how, report.Hurt)
			}
			for _, h := range report.Hurt {
				if h.Count == 0 || len(h.Files) == 0 || h.Name == "" {
					t.Errorf("%s, %s: %+v does not say what is lost", file, how, h)
				}
			}
			repaired(t, m, report, tree)
			if again, err := repair(m); err != nil || !again.Plan.Empty() {
				t.Errorf("%s, %s: again: %v %+v", file, how, err, again)
			}
			if t.Failed() {
				return
			}
		}
	}
	if hurt == 0 || salvaged == 0 {
		t.Errorf("%d hurt, %d salvaged: nothing was tried", hurt, salvaged)
	}
}

// Damaged files are set aside, not deleted.
func TestRepairKeepsTheDamaged(t *testing.T) {
	m, l := damageLab(t, seeded(t))
	file := l.files("store/packs")[0]
	data := l.read(file)
	data[len(data)/2] ^= 1
	l.ok(writeFile(m, l.path(file), data))
	_, err := repair(m)
	l.ok(err)
	aside := l.files("store/damaged")
	if len(aside) != 1 || string(l.read(aside[0])) != string(data) {
		t.Errorf("%v", aside)
	}
}

func TestPowerCutAtEveryCallOfRepair(t *testing.T) {
	r := seeded(t)
	prepared, l := damageLab(t, r)
	tree := l.tree("tree")
	file := l.files("store/packs")[0]
	data := l.read(file)
	data[len(data)/2] ^= 1
	l.ok(writeFile(prepared, l.path(file), data))
	l.ok(prepared.Remove(l.path(l.files("store/index")[0])))
	l.ok(prepared.SyncFS("/lab"))
	for n := 1; ; n++ {
		m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		m.CutAt(n)
		_, err := repair(m)
		cut := m.Cut()
		if err != nil && !cut {
			t.Fatalf("call %d: %v", n, err)
		}
		after := m.CrashClone(vfs.CrashOptions{Seed: r.Uint64(), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
		report, err := repair(after)
		if err != nil {
			t.Fatalf("call %d: the next repair: %v", n, err)
		}
		repaired(t, after, report, tree)
		if t.Failed() {
			t.Fatalf("call %d", n)
		}
		if !cut {
			t.Logf("%d calls", n-1)
			return
		}
	}
}

func TestRepairExcludesPrune(t *testing.T) {
	m := metaLab(t)
	err := onStore(m, func(s *Store) error {
		r, err := s.PlanRepair(t.Context())
		if err != nil {
			return err
		}
		defer r.Close()
		if _, err := prune(m, PruneOptions{}); fault.KindOf(err) != fault.Busy {
			t.Errorf("%v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
