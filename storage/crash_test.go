package storage

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// publish is a capture as the engine makes it: sources and a database, two
// passes, commit, pair, name.
func publish(fsys vfs.FS, id PairID, name string) error {
	ctx := context.Background()
	s, err := Create(ctx, fsys, "/lab/store")
	if err != nil {
		return err
	}
	defer s.Close()
	root, err := fsys.OpenRoot("/lab/tree")
	if err != nil {
		return err
	}
	defer root.Close()
	w, err := s.NewWriter(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	hot, err := w.Scan(ctx, root, bothUnits["pages"], nil)
	if err != nil {
		return err
	}
	cold, err := w.Scan(ctx, root, bothUnits["pages"], hot.Memory)
	if err != nil {
		return err
	}
	source, err := w.Scan(ctx, root, bothUnits["chunks"], nil)
	if err != nil {
		return err
	}
	if err := w.Commit(ctx); err != nil {
		return err
	}
	p := &Pair{ID: id, Project: "project", Worktree: "worktree", Name: name, Kind: Capture,
		Source: SourceState{Manifest: source.Manifest},
		Databases: []DatabaseState{{Kind: "test", State: StateClean,
			Trees: []TreeState{{Name: "data", Manifest: cold.Manifest}}}}}
	if err := s.PutPair(ctx, p); err != nil {
		return err
	}
	return s.SetName(ctx, p.Project, p.Worktree, p.Kind, name, id)
}

// The pairs of the crash tests.
const (
	firstPair  PairID = "01hzzzzzzzzzzzzzzzzzzzzzz1"
	secondPair PairID = "01hzzzzzzzzzzzzzzzzzzzzzz2"
	laterPair  PairID = "01hzzzzzzzzzzzzzzzzzzzzzz3"
)

// crashLab is a memory file system with a published pair and a changed tree,
// and what both states are.
func crashLab(t *testing.T, r *rand.Rand) (m *vfs.Mem, first, second map[string]string) {
	t.Helper()
	m = vfs.NewMem()
	l := &lab{t: t, fs: m, dir: "/lab"}
	l.ok(m.Mkdir("/lab", 0o700))
	for i, size := range []int{0, 1, PageBytes, 3 * PageBytes, spanBytes + 5} {
		l.write("tree/d/"+string(rune('a'+i)), text(r, size))
	}
	l.ok(publish(m, firstPair, "first"))
	first = l.tree("tree")
	l.poke("tree/d/d", 100, []byte("changed"))
	l.write("tree/new", noise(r, 100_000))
	l.ok(m.Remove("/lab/tree/d/c"))
	second = l.tree("tree")
	l.ok(m.SyncFS("/lab"))
	return m, first, second
}

// holds checks that the store has the first pair, whole, and the second
// either whole or not at all. It says whether it is there.
func holds(t *testing.T, fsys vfs.FS, first, second map[string]string) bool {
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
	found := false
	for name, want := range map[string]map[string]string{"first": first, "second": second} {
		id, err := s.Name(ctx, "project", "worktree", Capture, name)
		if name == "second" && fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		found = found || name == "second"
		p, err := s.Pair(ctx, "project", id)
		if err != nil {
			t.Fatal(err)
		}
		for i, manifest := range p.manifests() {
			dir := "/lab/out-" + name + string(rune('0'+i))
			_ = fsys.Mkdir(dir, 0o700)
			if _, err := s.Patch(ctx, fsys, dir, manifest, PatchOptions{}); err != nil {
				t.Fatalf("restore %s: %v", name, err)
			}
			got, err := snapshot(fsys, dir)
			if err != nil {
				t.Fatal(err)
			}
			delete(got, "")
			wanted := map[string]string{}
			for p, s := range want {
				if p != "" {
					wanted[p] = s
				}
			}
			same(t, name, got, wanted)
		}
	}
	return found
}

func TestPowerCutAtEveryCall(t *testing.T) {
	r := seeded(t)
	prepared, first, second := crashLab(t, r)
	calls := 0
	for n := 1; ; n++ {
		m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		m.CutAt(n)
		err := publish(m, secondPair, "second")
		cut := m.Cut()
		if (err == nil) == cut {
			t.Fatalf("call %d: cut %v, but the capture says %v", n, cut, err)
		}
		for _, keep := range []float64{0, 0.5, 1} {
			after := m.CrashClone(vfs.CrashOptions{Seed: r.Uint64(), KeepUnsynced: keep})
			there := holds(t, after, first, second)
			if err == nil && !there {
				t.Fatalf("call %d: a capture that succeeded is lost", n)
			}
			// Whatever was left, the next capture works, and cleans up.
			if !there {
				if err := publish(after, laterPair, "second"); err != nil {
					t.Fatalf("call %d: afterwards: %v", n, err)
				}
				if !holds(t, after, first, second) {
					t.Fatalf("call %d: afterwards the pair is not there", n)
				}
			}
			if list, err := after.ReadDir("/lab/store/tmp"); !there && (err != nil || len(list) > 0) {
				t.Fatalf("call %d: left in tmp: %v %v", n, list, err)
			}
		}
		if !cut {
			calls = n - 1
			break
		}
	}
	t.Logf("%d of %d calls: before or after", calls, calls)
}

func TestErrorAtEveryCall(t *testing.T) {
	r := seeded(t)
	prepared, first, second := crashLab(t, r)
	calls := 0
	for _, sticky := range []bool{false, true} {
		for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
			for n := 1; ; n++ {
				m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
				in := vfs.Inject(m, vfs.Rule{Nth: n, Err: cause, Sticky: sticky})
				err := publish(in, secondPair, "second")
				if len(in.Failed()) == 0 {
					if err != nil {
						t.Fatal(err)
					}
					calls += n - 1
					break
				}
				if err != nil {
					checkFailure(t, n, err, cause)
				}
				if there := holds(t, m, first, second); err == nil && !there {
					t.Fatalf("call %d: a capture that succeeded is lost", n)
				}
			}
		}
	}
	t.Logf("%d failures: before or after", calls)
}

// An error while something is read is told, and nothing is published.
func TestReadErrorAtManyCalls(t *testing.T) {
	r := seeded(t)
	prepared, first, second := crashLab(t, r)
	reads := func(c vfs.Call) bool { return !c.Op.Changes() }
	tried := 0
	for n := 1; ; n += 1 + r.IntN(5) {
		m := prepared.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		in := vfs.Inject(m, vfs.Rule{Match: reads, Nth: n, Err: syscall.EIO})
		err := publish(in, secondPair, "second")
		if len(in.Failed()) == 0 {
			break
		}
		tried++
		there := holds(t, m, first, second)
		if (err == nil) != there {
			t.Fatalf("%v fails: published %v, but the capture says %v", in.Failed(), there, err)
		}
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("%v fails: %v hides the cause", in.Failed(), err)
		}
	}
	t.Logf("%d failures", tried)
}

// checkFailure wants errors to say what a user needs.
func checkFailure(t *testing.T, n int, err, cause error) {
	t.Helper()
	if !errors.Is(err, cause) {
		t.Errorf("call %d: %v hides the cause", n, err)
	}
	if cause == syscall.ENOSPC && (fault.KindOf(err) != fault.NoSpace || fault.HintOf(err) == "") {
		t.Errorf("call %d: kind %v, hint %q: %v", n, fault.KindOf(err), fault.HintOf(err), err)
	}
	if errors.Is(err, fs.ErrExist) {
		t.Errorf("call %d: %v", n, err)
	}
}

func TestPowerCutWhileCreating(t *testing.T) {
	r := seeded(t)
	for n := 1; ; n++ {
		m := vfs.NewMem()
		m.CutAt(n)
		s, err := Create(context.Background(), m, "/deep/lab/store")
		if err == nil {
			_ = s.Close()
		}
		after := m.CrashClone(vfs.CrashOptions{Seed: r.Uint64(), KeepUnsynced: 0.5})
		if _, openErr := Open(context.Background(), after, "/deep/lab/store"); err == nil && openErr != nil {
			t.Fatalf("call %d: a store that was made is lost: %v", n, openErr)
		}
		if _, err := Create(context.Background(), after, "/deep/lab/store"); err != nil {
			t.Fatalf("call %d: creating it again: %v", n, err)
		}
		if !m.Cut() {
			t.Logf("%d calls", n-1)
			return
		}
	}
}
