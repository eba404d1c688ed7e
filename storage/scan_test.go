package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// paths gives the paths of a manifest with their types' first letters.
func (l *lab) paths(manifest ID) []string {
	l.t.Helper()
	var list []string
	for e, err := range l.s.Walk(context.Background(), manifest) {
		l.ok(err)
		list = append(list, fmt.Sprintf("%c %s", ".drlo"[e.Type], e.Path))
	}
	return list
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%s: %q, not %q", what, got, want)
	}
}

func TestScanOrderAndFilter(t *testing.T) {
	l := newMemLab(t)
	for _, name := range []string{"a/x", "a/sub/y", "a-b", "a.b", "-first", "skip/inside", "omit/inside", "empty/inside", "\xff"} {
		l.write("tree/"+name, []byte(name))
	}
	var asked []string
	rules := Rules{Unit: Chunks, Filter: func(p string, info vfs.Info) Decision {
		asked = append(asked, p)
		return map[string]Decision{
			"skip": {Action: Skip}, "omit": {Action: Omit, Reason: "ignored"}, "empty": {Action: KeepEmpty},
		}[p]
	}}
	tree := l.capture("tree", rules, nil)
	want(t, "paths", l.paths(tree.Manifest), []string{"d .", "r -first", "d a", "d a/sub", "r a/sub/y", "r a/x", "r a-b", "r a.b", "d empty", "o omit", "r \xff"})
	want(t, "asked", asked, []string{"-first", "a", "a/sub", "a/sub/y", "a/x", "a-b", "a.b", "empty", "omit", "skip", "\xff"})
	want(t, "omitted", []any{tree.Omitted[0].Path, tree.Omitted[0].Reason, len(tree.Omitted)}, []any{"omit", "ignored", 1})
	if s := tree.Stats; s.Files != 6 || s.ReadFiles != 6 || s.Bytes != s.ReadBytes {
		t.Errorf("%+v", s)
	}
}

func TestScanStarts(t *testing.T) {
	l := newMemLab(t)
	for _, name := range []string{"src/a/x", "src/b", "lib/deep/er/y", "lib/other", "top", "alone"} {
		l.write("tree/"+name, []byte(name))
	}
	l.ok(l.fs.Symlink("lib", l.path("tree/via")))
	rules := Rules{Unit: Chunks, Starts: []string{"src", "lib/deep/er/", "src/a", "top", "gone", "gone/too", "via/other", "top/below"}}
	tree := l.capture("tree", rules, nil)
	want(t, "paths", l.paths(tree.Manifest), []string{"d .", "d lib", "d lib/deep", "d lib/deep/er", "r lib/deep/er/y", "d src", "d src/a", "r src/a/x", "r src/b", "r top"})
	rules.Starts = []string{}
	want(t, "no starts", l.paths(l.capture("tree", rules, nil).Manifest), []string{"d ."})
	for _, start := range []string{"../x", "/abs", "a//../../b", "", "x\x00"} {
		rules.Starts = []string{start}
		if _, err := captureWith(l.s, l.root("tree"), rules, nil); start != "" && fault.KindOf(err) != fault.Usage {
			t.Errorf("start %q: %v", start, err)
		}
	}
}

func TestSpecialFilesAreOmitted(t *testing.T) {
	l := newLab(t, vfs.OS(), diskDir(t))
	l.write("tree/file", nil)
	l.ok(syscall.Mkfifo(l.path("tree/fifo"), 0o600))
	// The name of a socket is short; that of a test's directory may not be.
	t.Chdir(l.path("tree"))
	listener, err := net.Listen("unix", "socket")
	l.ok(err)
	defer listener.Close()
	tree := l.capture("tree", Rules{Unit: Chunks}, nil)
	want(t, "paths", l.paths(tree.Manifest), []string{"d .", "o fifo", "r file", "o socket"})
	want(t, "reasons", []string{tree.Omitted[0].Reason, tree.Omitted[1].Reason}, []string{"fifo", "socket"})
	// A patch leaves alone what is where something was omitted.
	l.ok(l.fs.Remove(l.path("tree/file")))
	l.patch("tree", tree.Manifest, PatchOptions{})
	want(t, "afterwards", l.paths(l.capture("tree", Rules{Unit: Chunks}, nil).Manifest), []string{"d .", "o fifo", "r file", "o socket"})
}

func TestUnreadableFileFailsByName(t *testing.T) {
	l := newMemLab(t)
	l.write("tree/dir/good", []byte("x"))
	l.write("tree/dir/secret", []byte("x"))
	for _, moving := range []bool{false, true} {
		in := vfs.Inject(l.fs, vfs.Rule{Nth: 1, Err: syscall.EACCES,
			Match: func(c vfs.Call) bool { return c.Op == vfs.OpOpen && strings.HasSuffix(c.Name, "secret") }})
		root, err := in.OpenRoot("/lab/tree")
		l.ok(err)
		_, err = captureWith(l.s, root, Rules{Unit: Pages, Moving: moving}, nil)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "dir/secret") {
			t.Errorf("moving %v: %v", moving, err)
		}
	}
}

// hooked runs do once, at the first call that match picks.
func hooked(fsys vfs.FS, match func(vfs.Call) bool, do func()) vfs.FS {
	var once sync.Once
	return vfs.Hook(fsys, func(c vfs.Call) error {
		if match(c) {
			once.Do(do)
		}
		return nil
	})
}

func TestFileThatChangesIsReadAgain(t *testing.T) {
	for _, size := range []int{10_000, 2*partBytes + 5} {
		l := newMemLab(t)
		l.write("tree/f", make([]byte, size))
		reading := func(c vfs.Call) bool { return c.Op == vfs.OpRead && strings.HasSuffix(c.Name, "/f") }
		fsys := hooked(l.fs, reading, func() { l.poke("tree/f", 9000, []byte("new")) })
		root, err := fsys.OpenRoot("/lab/tree")
		l.ok(err)
		tree, err := captureWith(l.s, root, Rules{Unit: Pages}, nil)
		l.ok(err)
		if again := l.capture("tree", Rules{Unit: Pages}, nil); again.Manifest != tree.Manifest {
			t.Errorf("%d bytes: the file was stored as it never was", size)
		}
	}
}

func TestFileThatNeverHoldsStill(t *testing.T) {
	l := newMemLab(t)
	l.write("tree/f", []byte("start"))
	l.write("tree/g", []byte("other"))
	var n atomic.Int64
	restless := vfs.Hook(l.fs, func(c vfs.Call) error {
		if c.Op == vfs.OpRead && strings.HasSuffix(c.Name, "/f") {
			l.write("tree/f", fmt.Append(nil, n.Add(1)))
		}
		return nil
	})
	root, err := restless.OpenRoot("/lab/tree")
	l.ok(err)
	_, err = captureWith(l.s, root, Rules{Unit: Chunks}, nil)
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "f changes") || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	// A running server's file is kept as it was read, and not trusted.
	tree, err := captureWith(l.s, root, Rules{Unit: Chunks, Moving: true}, nil)
	l.ok(err)
	if _, ok := tree.Memory.Content("f", mustLstat(t, l.fs, "/lab/tree/f")); ok {
		t.Error("a file that changed while it was read is trusted")
	}
}

func mustLstat(t *testing.T, fsys vfs.FS, name string) vfs.Info {
	t.Helper()
	info, err := fsys.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestFilesThatVanish(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpOpen, vfs.OpLstat} {
		l := newMemLab(t)
		l.write("tree/d/f", []byte("f"))
		l.write("tree/d/g", []byte("g"))
		at := func(c vfs.Call) bool { return c.Op == op && strings.HasSuffix(c.Name, "/f") }
		fsys := hooked(l.fs, at, func() { l.ok(l.fs.Remove("/lab/tree/d/f")) })
		root, err := fsys.OpenRoot("/lab/tree")
		l.ok(err)
		tree, err := captureWith(l.s, root, Rules{Unit: Pages, Moving: true}, nil)
		l.ok(err)
		want(t, string(op), l.paths(tree.Manifest), []string{"d .", "d d", "r d/g"})
	}
}

func TestZeroedStretches(t *testing.T) {
	l := newMemLab(t)
	r := seeded(t)
	data := noise(r, 40_000)
	l.write("tree/wal", data)
	rules := Rules{Unit: Pages, Zero: map[string][]Range{"wal": {{10_000, 20_000}, {39_000, 99_000}}}}
	tree := l.capture("tree", rules, nil)
	l.mkdir("out")
	l.patch("out", tree.Manifest, PatchOptions{})
	clear(data[10_000:20_000])
	clear(data[39_000:])
	if string(l.read("out/wal")) != string(data) {
		t.Error("other bytes")
	}
	// The same bytes under other rules are another content, remembered or not.
	rules.Zero = nil
	if got := l.capture("tree", rules, tree.Memory); got.Manifest == tree.Manifest || got.Stats.ReadFiles != 1 {
		t.Error("the memory of other rules was used")
	}
	// A slot that has more than the manifest says where it keeps zeros.
	l.write("slot/wal", l.read("tree/wal"))
	l.patch("slot", tree.Manifest, PatchOptions{Have: tree.Manifest, Inexact: map[string]bool{"wal": true}})
	if string(l.read("slot/wal")) != string(data) {
		t.Error("an inexact file was left as it was")
	}
}

func TestMemory(t *testing.T) {
	l := newMemLab(t)
	for i := range 20 {
		l.write(fmt.Sprintf("tree/f%02d", i), make([]byte, i*5000))
	}
	rules := Rules{Unit: Pages}
	first := l.capture("tree", rules, nil)
	l.ok(l.s.SaveMemory("/lab/memory", "boot 1", first.Memory))
	read := func(what string, m *Memory, files int) {
		t.Helper()
		tree := l.capture("tree", rules, m)
		if tree.Manifest != first.Manifest || tree.Stats.ReadFiles != files {
			t.Errorf("%s: %d files read, not %d", what, tree.Stats.ReadFiles, files)
		}
	}
	read("its own", first.Memory, 0)
	read("loaded", l.s.LoadMemory("/lab/memory", "boot 1"), 0)
	read("of another boot", l.s.LoadMemory("/lab/memory", "boot 2"), 20)
	read("of no boot", l.s.LoadMemory("/lab/memory", ""), 20)
	read("absent", l.s.LoadMemory("/lab/nothing", "boot 1"), 20)
	if other, err := Create(t.Context(), l.fs, "/lab/other"); err != nil || other.LoadMemory("/lab/memory", "boot 1") != nil {
		t.Error("a memory of another store was loaded", err)
	}
	whole := l.read("memory")
	for i := range whole {
		torn := slices.Clone(whole)
		torn[i] ^= 4
		l.write("memory", torn)
		if l.s.LoadMemory("/lab/memory", "boot 1") != nil {
			t.Fatalf("a memory that is damaged at %d was loaded", i)
		}
		l.write("memory", whole[:i])
		if l.s.LoadMemory("/lab/memory", "boot 1") != nil {
			t.Fatalf("a memory that ends at %d was loaded", i)
		}
	}
	// Same size and time, other bytes: the inode's own time tells.
	info := mustLstat(t, l.fs, "/lab/tree/f05")
	l.poke("tree/f05", 1, []byte{1})
	l.ok(l.fs.Chtimes("/lab/tree/f05", info.Mtime))
	if got := l.capture("tree", rules, first.Memory); got.Manifest == first.Manifest || got.Stats.ReadFiles != 1 {
		t.Error("a change with the old time was missed")
	}
}

// After a patch the next scan reads only what the patch cannot vouch for, and
// what was touched since.
func TestRemember(t *testing.T) {
	l := newMemLab(t)
	r := seeded(t)
	for i := range 20 {
		l.write(fmt.Sprintf("tree/d%d/f%d", i%3, i), noise(r, i*4000))
	}
	rules := Rules{Unit: Pages}
	tree := l.capture("tree", rules, nil)
	l.mkdir("slot")
	l.patch("slot", tree.Manifest, PatchOptions{})
	m, err := l.s.Remember(t.Context(), l.root("slot"), tree.Manifest, Pages, map[string]bool{"d1/f7": true})
	l.ok(err)
	got := l.capture("slot", rules, m)
	if got.Manifest != tree.Manifest || got.Stats.ReadFiles != 1 {
		t.Errorf("%d files were read", got.Stats.ReadFiles)
	}
	l.ok(l.s.SaveMemory("/lab/memory", "boot", m))
	l.poke("slot/d2/f8", 5, []byte("new"))
	got = l.capture("slot", rules, l.s.LoadMemory("/lab/memory", "boot"))
	if fresh := l.capture("slot", rules, nil); got.Manifest != fresh.Manifest || got.Stats.ReadFiles != 2 {
		t.Errorf("%d files were read, manifest %s, not %s", got.Stats.ReadFiles, got.Manifest, fresh.Manifest)
	}
	l.write("slot/d2/f8", nil)
	if _, err := l.s.Remember(t.Context(), l.root("slot"), tree.Manifest, Pages, nil); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("another tree was remembered: %v", err)
	}
}

func TestMemoryOfAnAbortedWriterIsIgnored(t *testing.T) {
	l := newMemLab(t)
	l.write("tree/f", []byte("content"))
	w, err := l.s.NewWriter(t.Context())
	l.ok(err)
	tree, err := w.Scan(t.Context(), l.root("tree"), Rules{Unit: Pages}, nil)
	l.ok(err)
	if again, err := w.Scan(t.Context(), l.root("tree"), Rules{Unit: Pages}, tree.Memory); err != nil || again.Stats.ReadFiles != 0 {
		t.Errorf("the same writer reads again: %v", err)
	}
	if err := l.s.SaveMemory("/lab/memory", "boot", tree.Memory); err == nil {
		t.Error("the memory of a writer that is not committed was saved")
	}
	w.Abort()
	later := l.capture("tree", Rules{Unit: Pages}, tree.Memory)
	if later.Stats.ReadFiles != 1 {
		t.Error("content that was never stored is trusted")
	}
	l.mkdir("out")
	l.patch("out", later.Manifest, PatchOptions{})
}

// The first pass reads all while a server runs, the second only what was
// touched meanwhile.
func TestTwoPasses(t *testing.T) {
	l := newMemLab(t)
	r := seeded(t)
	for i := range 10 {
		l.write(fmt.Sprintf("tree/%d", i), noise(r, 600_000))
	}
	w, err := l.s.NewWriter(t.Context())
	l.ok(err)
	defer w.Abort()
	hot, err := w.Scan(t.Context(), l.root("tree"), Rules{Unit: Pages, Moving: true}, nil)
	l.ok(err)
	l.poke("tree/4", 300_000, []byte("late"))
	cold, err := w.Scan(t.Context(), l.root("tree"), Rules{Unit: Pages}, hot.Memory)
	l.ok(err)
	if cold.Stats.ReadFiles != 1 || cold.Stats.ReadBytes != 600_000 {
		t.Errorf("%+v", cold.Stats)
	}
	l.ok(w.Commit(t.Context()))
	if fresh := l.capture("tree", Rules{Unit: Pages}, nil); fresh.Manifest != cold.Manifest {
		t.Error("two passes give another manifest than one")
	}
	if w.AddedBytes() < 6_000_000 || w.AddedBytes() > 6_200_000 {
		t.Errorf("%d bytes added for 6 MB of noise", w.AddedBytes())
	}
}

func TestCanceledScan(t *testing.T) {
	l := newMemLab(t)
	for i := range 50 {
		l.write(fmt.Sprintf("tree/%d/f", i), make([]byte, 100_000))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	fsys := vfs.Hook(l.fs, func(c vfs.Call) error {
		if n.Add(1) == 60 {
			cancel()
		}
		return nil
	})
	root, err := fsys.OpenRoot("/lab/tree")
	l.ok(err)
	w, err := l.s.NewWriter(t.Context())
	l.ok(err)
	defer w.Abort()
	if _, err := w.Scan(ctx, root, Rules{Unit: Pages}, nil); fault.KindOf(err) != fault.Canceled {
		t.Errorf("%v", err)
	}
}

// A file that is remembered and not read again has the mode that it has now.
func TestModeThatChangesIsSeen(t *testing.T) {
	labs(t, func(t *testing.T, l *lab) {
		l.write("tree/file", []byte("text"))
		l.ok(l.fs.Mkdir(l.path("tree/dir"), 0o775))
		before := l.capture("tree", bothUnits["chunks"], nil)
		for _, mode := range []uint32{0o4755, 0o2755, 0o1755, 0o755} {
			l.ok(l.fs.Chmod(l.path("tree/file"), vfs.FileMode(mode)))
			l.ok(l.fs.Chmod(l.path("tree/dir"), vfs.FileMode(mode)))
			now := l.capture("tree", bothUnits["chunks"], before.Memory)
			for _, name := range []string{"file", "dir"} {
				if e, ok, err := l.s.Lookup(t.Context(), now.Manifest, name); err != nil || !ok || e.Mode != mode {
					t.Errorf("%s of mode %04o is saved as %+v, %v", name, mode, e, err)
				}
			}
			before = now
		}
	})
}

func TestEntriesMakesTheSameManifest(t *testing.T) {
	l := newMemLab(t)
	r := seeded(t)
	l.mkdir("tree")
	m := &meddler{r, l.root("tree")}
	for range 60 {
		m.meddle()
	}
	tree := l.capture("tree", bothUnits["chunks"], nil)
	w, err := l.s.NewWriter(t.Context())
	l.ok(err)
	defer w.Abort()
	id, err := w.Entries(t.Context(), l.s.Walk(t.Context(), tree.Manifest))
	if err != nil || id != tree.Manifest {
		t.Errorf("%s, not %s: %v", id, tree.Manifest, err)
	}
	one := func(e Entry) error {
		_, err := w.Entries(t.Context(), func(yield func(Entry, error) bool) { yield(e, nil) })
		return err
	}
	bad := []Entry{
		{Path: "a/b", Type: Directory}, {Path: "../a", Type: Directory}, {Path: "a", Type: 9}, {Path: "a", Type: Regular},
		{Path: "a", Type: Symlink}, {Path: "a", Type: Directory, Mode: 0o11777}, {Path: ".", Type: Symlink, Target: "x"},
		{Path: "a", Type: Regular, Size: 5, Content: Content{Pages, 0, ID{1}}}, {Path: strings.Repeat("x", 5000), Type: Directory},
	}
	for _, e := range bad {
		if err := one(e); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// A path that comes or goes changes its own run and the nodes above, not the
// runs behind it.
func TestManifestsChangeWhereTheTreeChanges(t *testing.T) {
	nodes := map[ID]int{}
	build := func(paths []string) (fresh int) {
		t.Helper()
		b := treeBuilder{put: func(node []byte) (ID, error) {
			id := pack.Sum(node)
			if nodes[id]++; nodes[id] == 1 {
				fresh++
			}
			return id, nil
		}}
		for _, p := range paths {
			if err := b.add(Entry{Path: p, Type: Directory}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.finish(); err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	var paths []string
	for i := range 20_000 {
		paths = append(paths, fmt.Sprintf("file-%06d", i*7))
	}
	all := build(paths)
	if all < 500 || all > 900 {
		t.Errorf("20,000 entries make %d nodes", all)
	}
	r := seeded(t)
	for range 50 {
		i := r.IntN(len(paths))
		without := slices.Delete(slices.Clone(paths), i, i+1)
		if n := build(without); n > 8 {
			t.Errorf("without %s there are %d new nodes", path.Base(paths[i]), n)
		}
	}
}
