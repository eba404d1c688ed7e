package storage

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

func TestCreateAndOpen(t *testing.T) {
	labs(t, func(t *testing.T, l *lab) {
		again, err := Create(t.Context(), l.fs, l.path("store"))
		l.ok(err)
		if again.ID() != l.s.ID() || len(again.ID()) != 32 || again.Dir() != l.path("store") {
			t.Error("another store")
		}
		if _, err := Open(t.Context(), l.fs, l.path("nothing")); fault.KindOf(err) != fault.NotFound {
			t.Errorf("no store: %v", err)
		}
		l.write("full/file", nil)
		if _, err := Create(t.Context(), l.fs, l.path("full")); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("a directory with other things: %v", err)
		}
		for _, e := range mustReadDir(t, l.fs, l.path("store")) {
			info := mustLstat(t, l.fs, l.path("store/"+e.Name))
			if info.Mode.Perm()&0o077 != 0 {
				t.Errorf("%s has mode %o", e.Name, info.Mode)
			}
		}
	})
}

func mustReadDir(t *testing.T, fsys vfs.FS, name string) []vfs.Entry {
	t.Helper()
	list, err := fsys.ReadDir(name)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestLocks(t *testing.T) {
	labs(t, func(t *testing.T, l *lab) {
		other, err := Open(t.Context(), l.fs, l.path("store"))
		l.ok(err)
		defer other.Close()
		one, err := l.s.LockShared(t.Context(), 0)
		l.ok(err)
		two, err := other.LockShared(t.Context(), 0)
		l.ok(err)
		if _, err := other.LockExclusive(t.Context(), 5*time.Millisecond); fault.KindOf(err) != fault.Busy {
			t.Errorf("alone beside others: %v", err)
		}
		one()
		one() // twice is once
		two()
		alone, err := other.LockExclusive(t.Context(), time.Second)
		l.ok(err)
		inner, err := other.LockShared(t.Context(), 0)
		l.ok(err)
		inner()
		if _, err := l.s.LockShared(t.Context(), 5*time.Millisecond); fault.KindOf(err) != fault.Busy {
			t.Errorf("shared beside exclusive: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.s.LockShared(ctx, time.Minute); fault.KindOf(err) != fault.Canceled {
			t.Errorf("canceled: %v", err)
		}
		alone()
		// A writer holds the lock until it is aborted, also after its commit.
		w, err := l.s.NewWriter(t.Context())
		l.ok(err)
		l.ok(w.Commit(t.Context()))
		if _, err := other.LockExclusive(t.Context(), 0); fault.KindOf(err) != fault.Busy {
			t.Errorf("beside a writer: %v", err)
		}
		w.Abort()
		w.Abort()
		alone, err = other.LockExclusive(t.Context(), time.Second)
		l.ok(err)
		alone()
	})
}

func TestNothingNewWritesNothing(t *testing.T) {
	l := newMemLab(t)
	l.write("tree/f", []byte("content"))
	first := l.capture("tree", Rules{Unit: Pages}, nil)
	m := l.fs.(*vfs.Mem)
	before := m.Calls()
	tree := l.capture("tree", Rules{Unit: Pages}, nil)
	// The one call syncs the directory of what it rests on.
	if tree.Manifest != first.Manifest || m.Calls() != before+1 {
		t.Errorf("%d calls", m.Calls()-before)
	}
}

func TestAbandonedWorkIsRemoved(t *testing.T) {
	l := newMemLab(t)
	r := seeded(t)
	l.write("tree/f", noise(r, 2_000_000))
	live, err := l.s.NewWriter(t.Context())
	l.ok(err)
	_, err = live.Scan(t.Context(), l.root("tree"), Rules{Unit: Pages}, nil)
	l.ok(err)
	tmp := l.path("store/tmp")
	if n := len(mustReadDir(t, l.fs, tmp)); n != 1 {
		t.Fatalf("%d working directories", n)
	}
	l.write("store/tmp/dead/0.pack", []byte("x"))
	l.ok(l.fs.Mkdir(l.path("store/tmp/young"), 0o700))
	other, err := Open(t.Context(), l.fs, l.path("store"))
	l.ok(err)
	w, err := other.NewWriter(t.Context())
	l.ok(err)
	w.Abort()
	list := mustReadDir(t, l.fs, tmp)
	if len(list) != 1 || path.Join(tmp, list[0].Name) != live.work.dir {
		t.Errorf("left: %v", list)
	}
	live.Abort()
	if list := mustReadDir(t, l.fs, tmp); len(list) != 0 {
		t.Errorf("left after the writer: %v", list)
	}
	if err := live.Commit(t.Context()); err == nil {
		t.Error("an aborted writer was committed")
	}
}

// Many small captures leave few index files, and all that was stored is
// found, also by a store that was opened long before.
func TestIndexesAreMerged(t *testing.T) {
	l := newMemLab(t)
	r := seeded(t)
	old, err := Open(t.Context(), l.fs, l.path("store"))
	l.ok(err)
	defer old.Close()
	var trees []*Tree
	for i := range maxOpenPacks + 6 {
		l.write(fmt.Sprintf("tree/f%02d", i), noise(r, 1+r.IntN(50_000)))
		trees = append(trees, l.capture("tree", Rules{Unit: Pages}, nil))
		if n := len(l.files("store/index")); n > 8 {
			t.Fatalf("%d index files after %d captures", n, i+1)
		}
		for e, err := range old.Walk(t.Context(), trees[i].Manifest) {
			if err != nil {
				t.Fatalf("capture %d, %s: %v", i, e.Path, err)
			}
		}
	}
	report, err := l.s.Check(t.Context(), CheckOptions{ReadData: true})
	if err != nil || len(report.Problems) > 0 || report.Packs != maxOpenPacks+6 {
		t.Errorf("%+v %v", report, err)
	}
	l.mkdir("out")
	for i, tree := range trees {
		l.patch("out", tree.Manifest, PatchOptions{})
		if n := len(l.files("out")); n != i+1 {
			t.Fatalf("tree %d has %d files", i, n)
		}
	}
}

// Several writers and readers of one store, in stores of their own, as
// processes have them.
func TestConcurrentWriters(t *testing.T) {
	l := newLab(t, vfs.OS(), t.TempDir())
	r := seeded(t)
	shared := noise(r, 300_000)
	const writers, rounds = 4, 8
	for i := range writers {
		l.write(fmt.Sprintf("tree%d/shared", i), shared)
		l.write(fmt.Sprintf("tree%d/own", i), noise(r, 200_000))
	}
	var g sync.WaitGroup
	for i := range writers {
		g.Go(func() {
			if err := captureRounds(l, i, rounds); err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	g.Wait()
	report, err := l.s.Check(t.Context(), CheckOptions{ReadData: true})
	if err != nil || len(report.Problems) > 0 || report.Pairs != writers*rounds || report.Indexes > 2*writers+8 {
		t.Errorf("%+v %v", report, err)
	}
}

// captureRounds captures and restores a tree some times.
func captureRounds(l *lab, i, rounds int) error {
	ctx := context.Background()
	dir, out := l.path(fmt.Sprintf("tree%d", i)), l.path(fmt.Sprintf("out%d", i))
	if err := os.Mkdir(out, 0o700); err != nil {
		return err
	}
	for n := range rounds {
		s, err := Open(ctx, l.fs, l.path("store"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(dir+"/own", []byte(strings.Repeat(fmt.Sprint(i, n), 10_000)), 0o600); err != nil {
			return err
		}
		root, err := l.fs.OpenRoot(dir)
		if err != nil {
			return err
		}
		tree, err := captureWith(s, root, Rules{Unit: Pages}, nil)
		_ = root.Close()
		if err != nil {
			return err
		}
		p := &Pair{ID: NewPairID(time.UnixMilli(int64(n))), Project: "p", Kind: Capture, Source: SourceState{Manifest: tree.Manifest}}
		if err := s.PutPair(ctx, p); err != nil {
			return err
		}
		if _, err := s.Patch(ctx, l.fs, out, tree.Manifest, PatchOptions{}); err != nil {
			return err
		}
		got, err := os.ReadFile(out + "/own")
		if err != nil || string(got) != strings.Repeat(fmt.Sprint(i, n), 10_000) {
			return fmt.Errorf("round %d: other bytes: %w", n, err)
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}
