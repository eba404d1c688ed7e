package storage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"forklift/storage/vfs"
)

// newStore makes a store on the disk.
func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := Create(t.Context(), vfs.OS(), filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// openRoot opens a directory of the disk.
func openRoot(t *testing.T, dir string) vfs.Root {
	t.Helper()
	root, err := vfs.OS().OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// scan scans a directory with a writer of its own and commits.
func scan(t *testing.T, s *Store, dir string, rules Rules, prior *Memory) *Tree {
	t.Helper()
	w, err := s.NewWriter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	tree, err := w.Scan(t.Context(), openRoot(t, dir), rules, prior)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestSmoke(t *testing.T) {
	s := newStore(t)
	src := t.TempDir()
	for i := range 300 {
		dir := filepath.Join(src, fmt.Sprintf("d%d", i%7))
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		data := make([]byte, i*977)
		for k := range data {
			data[k] = byte(k*i + k>>8)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), data, fs.FileMode(0o600+i%64)); err != nil {
			t.Fatal(err)
		}
	}
	for _, unit := range []Unit{Pages, Chunks} {
		rules := Rules{Unit: unit, Mtimes: unit == Chunks}
		tree := scan(t, s, src, rules, nil)
		again := scan(t, s, src, rules, tree.Memory)
		if again.Manifest != tree.Manifest {
			t.Fatal("another manifest")
		}
		t.Logf("%+v %+v", tree.Stats, again.Stats)
		out := t.TempDir()
		stats, err := s.Patch(t.Context(), vfs.OS(), out, tree.Manifest, PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", stats)
		if got := scan(t, s, out, rules, nil); got.Manifest != tree.Manifest {
			for c, err := range s.Diff(t.Context(), tree.Manifest, got.Manifest) {
				t.Log(c.Old, c.New, err)
			}
			t.Fatal("the copy differs")
		}
	}
}
