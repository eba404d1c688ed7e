package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// patchLab has a tree of every kind of path, its manifest, and a slot that
// holds it.
func patchLab(t *testing.T, l *lab, r *rand.Rand) *Tree {
	t.Helper()
	for i, size := range []int{0, 1, PageBytes - 1, PageBytes, PageBytes + 1, 3 * PageBytes, 70_000, 1, 1, 1, spanBytes + 5} {
		l.write(fmt.Sprintf("tree/d%d/f%d", i%3, i), text(r, size))
	}
	l.ok(l.fs.Mkdir(l.path("tree/empty"), 0o700))
	l.ok(l.fs.Symlink("d1/f1", l.path("tree/link")))
	tree := l.capture("tree", Rules{Unit: Pages}, nil)
	l.mkdir("slot")
	l.patch("slot", tree.Manifest, PatchOptions{})
	return tree
}

// What is in the slot beside what is known of it is removed or put right,
// whether Have is given or not.
func TestPatchMeetsOtherThingsThanItKnows(t *testing.T) {
	spoil := map[string]func(l *lab){
		"a file more":              func(l *lab) { l.write("slot/d0/more", []byte("x")) },
		"a tree more":              func(l *lab) { l.write("slot/more/and/more", []byte("x")) },
		"a file less":              func(l *lab) { l.ok(l.fs.Remove(l.path("slot/d0/f3"))) },
		"a directory for a file":   func(l *lab) { l.ok(l.fs.Remove(l.path("slot/d0/f3"))); l.write("slot/d0/f3/x/y", nil) },
		"a file for a directory":   func(l *lab) { l.ok(l.fs.Remove(l.path("slot/empty"))); l.write("slot/empty", nil) },
		"a link for a directory":   func(l *lab) { l.ok(l.fs.Remove(l.path("slot/empty"))); l.ok(l.fs.Symlink("d0", l.path("slot/empty"))) },
		"a link for a file":        func(l *lab) { l.ok(l.fs.Remove(l.path("slot/d0/f3"))); l.ok(l.fs.Symlink("f0", l.path("slot/d0/f3"))) },
		"a file for a link":        func(l *lab) { l.ok(l.fs.Remove(l.path("slot/link"))); l.write("slot/link", []byte("x")) },
		"another link":             func(l *lab) { l.ok(l.fs.Remove(l.path("slot/link"))); l.ok(l.fs.Symlink("else", l.path("slot/link"))) },
		"a directory mode":         func(l *lab) { l.ok(l.fs.Chmod(l.path("slot/d1"), 0o500)) },
		"an unreadable directory":  func(l *lab) { l.ok(l.fs.Chmod(l.path("slot/d1"), 0)) },
		"the mode of the top":      func(l *lab) { l.ok(l.fs.Chmod(l.path("slot"), 0o755)) },
		"a file with another name": func(l *lab) { l.ok(l.fs.Link(l.path("slot/d0/f3"), l.path("outside"))) },
		"everything gone":          func(l *lab) { l.ok(removeAll(l.fs, l.path("slot"))); l.mkdir("slot") },
		"nothing else":             func(*lab) {},
	}
	labs(t, func(t *testing.T, l *lab) {
		r := seeded(t)
		base := patchLab(t, l, r)
		l.poke("tree/d0/f3", 1, []byte("changed"))
		next := l.capture("tree", Rules{Unit: Pages}, base.Memory)
		want := l.tree("tree")
		for how, do := range spoil {
			for _, opt := range []PatchOptions{{}, {Have: base.Manifest}, {Have: base.Manifest, Verify: 1}} {
				l.patch("slot", base.Manifest, PatchOptions{Verify: 1})
				_ = l.fs.Remove(l.path("outside"))
				do(l)
				l.patch("slot", next.Manifest, opt)
				same(t, how, l.tree("slot"), want)
				l.patch("slot", next.Manifest, PatchOptions{})
				same(t, how+", again", l.tree("slot"), want)
			}
		}
	})
}

func removeAll(fsys vfs.FS, name string) error {
	list, err := fsys.ReadDir(name)
	if err != nil && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	for _, e := range list {
		if err := removeAll(fsys, name+"/"+e.Name); err != nil {
			return err
		}
	}
	return fsys.Remove(name)
}

// Without Have, and with Verify 1, changes that nothing shows are put right
// too. With Have they are not looked for.
func TestPatchComparesWhatItDoesNotKnow(t *testing.T) {
	l := newMemLab(t)
	base := patchLab(t, l, seeded(t))
	for _, opt := range []PatchOptions{{}, {Have: base.Manifest, Verify: 1}, {Have: base.Manifest, Inexact: map[string]bool{"d0/f3": true}}} {
		l.poke("slot/d0/f3", 5, []byte("!"))
		stats := l.patch("slot", base.Manifest, opt)
		same(t, fmt.Sprint(opt), l.tree("slot"), l.tree("tree"))
		if stats.WrittenBytes != PageBytes-1 && stats.WrittenBytes != PageBytes || stats.Files != 1 {
			t.Errorf("%+v", stats)
		}
	}
	stats := l.patch("slot", base.Manifest, PatchOptions{Have: base.Manifest})
	if stats != (PatchStats{}) {
		t.Errorf("nothing to do: %+v", stats)
	}
	if stats = l.patch("slot", ID{}, PatchOptions{Have: base.Manifest}); len(l.tree("slot")) != 1 {
		t.Errorf("the empty tree leaves %v", l.tree("slot"))
	}
}

// A patch that was cut off anywhere is put right by one without Have.
func TestPatchAfterAnInterruptedOne(t *testing.T) {
	r := seeded(t)
	l := newMemLab(t)
	m := l.fs.(*vfs.Mem)
	base := patchLab(t, l, r)
	l.poke("tree/d0/f3", 1, []byte("changed"))
	l.poke("tree/d1/f10", 100_000, noise(r, 100_000))
	l.write("tree/d2/new", noise(r, 50_000))
	l.ok(m.Remove(l.path("tree/d1/f4")))
	next := l.capture("tree", Rules{Unit: Pages}, base.Memory)
	want := l.tree("tree")
	for n := 1; ; n++ {
		clone := m.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		s, err := Open(t.Context(), clone, "/lab/store")
		l.ok(err)
		clone.CutAt(n)
		_, err = s.Patch(context.Background(), clone, "/lab/slot", next.Manifest, PatchOptions{Have: base.Manifest, Verify: 0.1})
		if (err == nil) == clone.Cut() {
			t.Fatalf("call %d: cut %v, error %v", n, clone.Cut(), err)
		}
		after := clone.CrashClone(vfs.CrashOptions{Seed: r.Uint64(), KeepUnsynced: 0.5})
		s, err = Open(t.Context(), after, "/lab/store")
		l.ok(err)
		_, err = s.Patch(context.Background(), after, "/lab/slot", next.Manifest, PatchOptions{})
		l.ok(err)
		got, err := snapshot(after, "/lab/slot")
		l.ok(err)
		same(t, fmt.Sprintf("call %d", n), got, want)
		if !clone.Cut() {
			t.Logf("%d calls", n-1)
			return
		}
	}
}

// What does not read back as it was written is an error that names the file.
func TestPatchReadsBack(t *testing.T) {
	l := newMemLab(t)
	base := patchLab(t, l, seeded(t))
	l.mkdir("lying")
	lying := vfs.Hook(l.fs, func(c vfs.Call) error {
		if c.Op == vfs.OpRead && strings.HasSuffix(c.Name, "/lying/d1/f10") {
			l.poke("lying/d1/f10", 3, []byte("?"))
		}
		return nil
	})
	_, err := l.s.Patch(t.Context(), lying, l.path("lying"), base.Manifest, PatchOptions{Verify: 1})
	if fault.KindOf(err) != fault.Corrupt || !strings.Contains(err.Error(), "d1/f10") {
		t.Errorf("%v", err)
	}
}

func TestPatchReportsErrorsByName(t *testing.T) {
	l := newMemLab(t)
	base := patchLab(t, l, seeded(t))
	full := vfs.Inject(l.fs, vfs.Rule{Nth: 1, Err: syscall.ENOSPC, Match: func(c vfs.Call) bool { return c.Op == vfs.OpWrite && strings.HasSuffix(c.Name, "f5") }})
	l.mkdir("full")
	_, err := l.s.Patch(t.Context(), full, l.path("full"), base.Manifest, PatchOptions{})
	if fault.KindOf(err) != fault.NoSpace || !strings.Contains(err.Error(), "d2/f5") || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	l.patch("full", base.Manifest, PatchOptions{Have: ID{1}}) // what is known may be gone
	same(t, "without what was known", l.tree("full"), l.tree("tree"))
	if _, err := l.s.Patch(t.Context(), l.fs, l.path("full"), ID{1}, PatchOptions{}); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("unknown manifest: %v", err)
	}
	if _, err := l.s.Patch(t.Context(), l.fs, l.path("absent"), base.Manifest, PatchOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent directory: %v", err)
	}
}

// More than a batch, and the same page many times.
func TestPatchOfManyEqualPages(t *testing.T) {
	l := newLab(t, vfs.OS(), t.TempDir())
	l.write("tree/zeros", nil)
	f, err := l.fs.OpenFile(l.path("tree/zeros"), os.O_WRONLY, 0)
	l.ok(err)
	l.ok(f.Truncate(2*batchBytes + 5))
	l.ok(f.Close())
	for i := range batchFiles + 10 {
		l.write(fmt.Sprintf("tree/many/%d", i), []byte("the same"))
	}
	tree := l.capture("tree", Rules{Unit: Pages}, nil)
	l.mkdir("out")
	stats := l.patch("out", tree.Manifest, PatchOptions{})
	if stats.Files != batchFiles+11 || stats.WrittenBytes != tree.Stats.Bytes {
		t.Errorf("%+v", stats)
	}
	same(t, "out", l.tree("out"), l.tree("tree"))
}

// What a capture left out, and all below it, is left alone.
func TestPatchLeavesOmittedPathsAlone(t *testing.T) {
	l := newMemLab(t)
	for _, name := range []string{"a", "nested/.git/config", "nested/deep/file", "z"} {
		l.write("tree/"+name, []byte(name))
	}
	tree := l.capture("tree", Rules{Unit: Pages, Filter: func(p string, _ vfs.Info) Decision {
		if p == "nested" {
			return Decision{Action: Omit, Reason: "repository"}
		}
		return Decision{}
	}}, nil)
	before := l.tree("tree")
	l.write("tree/new", nil)
	l.ok(l.fs.Remove(l.path("tree/z")))
	l.patch("tree", tree.Manifest, PatchOptions{})
	same(t, "tree", l.tree("tree"), before)
}

func TestExtract(t *testing.T) {
	l := newMemLab(t)
	base := patchLab(t, l, seeded(t))
	l.mkdir("staging")
	l.ok(l.fs.Mkdir(l.path("staging/sub"), 0o700))
	var files []ExtractFile
	for e, err := range l.s.Walk(t.Context(), base.Manifest) {
		l.ok(err)
		if e.Type == Regular {
			files = append(files, ExtractFile{e, fmt.Sprintf("sub/%d", len(files))})
		}
	}
	files = append(files, ExtractFile{files[5].Entry, "twice"})
	l.ok(l.s.Extract(t.Context(), l.root("staging"), files))
	for _, f := range files {
		if string(l.read("staging/"+f.Name)) != string(l.read("tree/"+f.Entry.Path)) {
			t.Errorf("%s: other bytes", f.Entry.Path)
		}
		if info := mustLstat(t, l.fs, l.path("staging/"+f.Name)); info.Mode.Perm() != 0o600 {
			t.Errorf("%s has mode %o", f.Name, info.Mode)
		}
	}
	for _, f := range []ExtractFile{{files[0].Entry, "twice"}, {files[0].Entry, "absent/x"}, {Entry{Path: "d", Type: Directory}, "y"}} {
		if err := l.s.Extract(t.Context(), l.root("staging"), []ExtractFile{f}); err == nil {
			t.Errorf("extracted %s as %s", f.Entry.Path, f.Name)
		}
	}
	if _, _, err := l.s.HashFile(t.Context(), l.root("staging"), "sub/0", Pages); err != nil {
		t.Error(err)
	}
}

func TestReaderVerifies(t *testing.T) {
	l := newMemLab(t)
	base := patchLab(t, l, seeded(t))
	e, ok, err := l.s.Lookup(t.Context(), base.Manifest, "d1/f10")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, bad := range []Entry{
		{Path: "x", Type: Directory},
		{Path: "x", Type: Regular, Size: e.Size + 1, Content: e.Content},
		{Path: "x", Type: Regular, Size: 1, Content: Content{Pages, 0, ID{7}}},
	} {
		r, err := l.s.Reader(t.Context(), bad)
		if err == nil {
			_, err = io.ReadAll(r)
			_ = r.Close()
		}
		if err == nil {
			t.Errorf("%+v can be read", bad)
		}
	}
	r, err := l.s.Reader(t.Context(), e)
	l.ok(err)
	l.ok(r.Close())
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("a closed reader reads")
	}
	if _, err := os.Stat(l.path("tree")); err == nil {
		t.Error("the memory file system is on the disk")
	}
}

// A large file is written out while it is being filled, and is asked for
// itself whether that worked: a later flush of the file system might not be
// told any more.
func TestPatchAsksLargeFilesForErrors(t *testing.T) {
	labs(t, func(t *testing.T, l *lab) {
		l.write("tree/large", text(seeded(t), writeOutBytes+PageBytes))
		l.write("tree/small", text(seeded(t), PageBytes))
		tree := l.capture("tree", Rules{Unit: Pages}, nil)
		l.mkdir("slot")
		in := vfs.Inject(l.fs, vfs.Rule{Nth: 1, Err: syscall.EIO, Match: func(c vfs.Call) bool { return c.Op == vfs.OpSync }})
		_, err := l.s.Patch(context.Background(), in, l.path("slot"), tree.Manifest, PatchOptions{})
		if !errors.Is(err, syscall.EIO) || len(in.Failed()) != 1 || !strings.HasSuffix(in.Failed()[0].Name, "large") {
			t.Fatalf("a failed write-out gives %v, at %v", err, in.Failed())
		}
		l.patch("slot", tree.Manifest, PatchOptions{Verify: 1})
		same(t, "again", l.tree("slot"), l.tree("tree"))
	})
}

// A large file that was written just before a scan of a moving tree is read
// once: the scan that follows trusts it.
func TestFreshLargeFilesAreReadOnce(t *testing.T) {
	l := newLab(t, vfs.OS(), diskDir(t))
	l.write("tree/large", text(seeded(t), settleBytes))
	w, err := l.s.NewWriter(context.Background())
	l.ok(err)
	defer w.Abort()
	hot, err := w.Scan(context.Background(), l.root("tree"), Rules{Unit: Pages, Moving: true}, nil)
	l.ok(err)
	cold, err := w.Scan(context.Background(), l.root("tree"), Rules{Unit: Pages}, hot.Memory)
	l.ok(err)
	if hot.Stats.ReadBytes != settleBytes || cold.Stats.ReadBytes != 0 || cold.Manifest != hot.Manifest {
		t.Fatalf("read %d bytes, then %d", hot.Stats.ReadBytes, cold.Stats.ReadBytes)
	}
}
