package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/vfs"
)

// changes lists what differs as "change path" lines.
func (w *world) changes(fsys vfs.FS, dir string, s config.Selection, ignored []string, then storage.ID, memory Remembered, limit int) (string, int) {
	w.t.Helper()
	rules, err := Rules(RuleOptions{FS: fsys, Dir: dir, Selection: s, Ignored: ignored})
	check(w.t, err)
	list, count, err := Changes(context.Background(), ChangeOptions{FS: fsys, Dir: dir, Store: w.store, Rules: rules, Manifest: then, Memory: memory, Limit: limit})
	check(w.t, err)
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s %s\n", c.Change, c.Path)
	}
	return b.String(), count
}

func TestChanges(t *testing.T) {
	w := newWorld(t)
	m := w.memory(tree{
		"src/a": file("a"), "src/b": file("b"), "src/c": file("c"), "src/mode": file("m"), "src/same": file("s"), "src/touched": file("t"), "src/size": file("1"),
		"src/gone/x": file("x"), "src/empty": dirOf(0o755), "src/gone-empty": dirOf(0o755), "src/l": link("a"), "src/d.x": file("x"), "src/d/y": file("y"),
		"lib/z": file("z"), "top": file("top"), "src/type": file("f"), "src/ign.log": file("log"),
	})
	s := sel("src", "lib")
	s.Ignore = []string{"*.log"}
	then := w.scan(m, top, s, nil, nil)
	if got, n := w.changes(m, top, s, nil, then.Manifest, nil, 100); n != 0 {
		t.Errorf("nothing changed, but: %s", got)
	}
	m.Advance(1e9)
	write(t, m, top+"/src/a", "A")
	write(t, m, top+"/src/size", "22")
	check(t, m.Chmod(top+"/src/mode", 0o755))
	check(t, m.Chtimes(top+"/src/touched", 5))
	for _, p := range []string{"/src/gone/x", "/src/gone", "/src/gone-empty", "/src/b", "/src/l", "/src/type", "/lib/z", "/lib"} {
		check(t, m.Remove(top+p))
	}
	check(t, m.Symlink("b", top+"/src/l"))
	plant(t, m, top, tree{"src/added/deep/q": file("q"), "src/new-empty": dirOf(0o755), "src/type": dirOf(0o755), "src/odd\xff": file("o"), "src/more.log": file("log"), "top2": file("x")})
	check(t, m.Chmod(top+"/src/d", 0o700))
	want := `modified src/a
added src/added/deep/q
removed src/b
mode src/d/
removed src/gone/x
removed src/gone-empty/
modified src/l
mode src/mode
added src/new-empty/
added "src/odd\xff"
modified src/size
modified src/type/
removed lib/z
`
	// "lib" sorts before "src".
	want = "removed lib/z\n" + strings.TrimSuffix(want, "removed lib/z\n")
	got, n := w.changes(m, top, s, nil, then.Manifest, nil, 100)
	if got != want || n != strings.Count(want, "\n") {
		t.Errorf("%d changes\n%swant\n%s", n, got, want)
	}
	if got, n := w.changes(m, top, s, nil, then.Manifest, nil, 2); n != 13 || strings.Count(got, "\n") != 2 {
		t.Errorf("limited to 2: %d\n%s", n, got)
	}
	// What is ignored now, and what a narrower selection leaves out, is gone.
	if got, n := w.changes(m, top, sel("src/d"), []string{"src/d/y"}, then.Manifest, nil, 100); !strings.Contains(got, "removed src/d/y\n") || n == 0 {
		t.Errorf("narrower:\n%s", got)
	}
}

// TestChangesBelieveTheMemory has a file that keeps its size and time, which
// proves nothing, and one that the memory knows, which is not opened.
func TestChangesBelieveTheMemory(t *testing.T) {
	w := newWorld(t)
	m := w.memory(tree{"src/a": file("one"), "src/b": file("two")})
	m.Advance(10e9)
	rules, err := Rules(RuleOptions{FS: m, Dir: top, Selection: sel("src")})
	check(t, err)
	root, err := m.OpenRoot(top)
	check(t, err)
	defer root.Close()
	writer, err := w.store.NewWriter(context.Background())
	check(t, err)
	then, err := writer.Scan(context.Background(), root, rules, nil)
	check(t, err)
	check(t, writer.Commit(context.Background()))
	writer.Abort()
	info, err := m.Lstat(top + "/src/a")
	check(t, err)
	m.Advance(10e9)
	write(t, m, top+"/src/a", "eno")
	check(t, m.Chtimes(top+"/src/a", info.Mtime))
	if got, _ := w.changes(m, top, sel("src"), nil, then.Manifest, nil, 9); got != "modified src/a\n" {
		t.Errorf("without a memory: %q", got)
	}
	if _, ok := then.Memory.Content("src/b", mustLstat(t, m, top+"/src/b")); !ok {
		t.Fatal("the memory remembers nothing")
	}
	opened := ""
	hooked := vfs.Hook(m, func(c vfs.Call) error {
		if c.Op == vfs.OpOpen {
			opened += c.Name + " "
		}
		return nil
	})
	got, _ := w.changes(hooked, top, sel("src"), nil, then.Manifest, then.Memory, 9)
	if got != "modified src/a\n" || strings.Contains(opened, "src/b") {
		t.Errorf("with a memory: %q, opened %s", got, opened)
	}
	var none *storage.Memory
	if got, n := w.changes(m, top, sel("src"), nil, then.Manifest, none, 9); n != 1 {
		t.Errorf("with a nil memory: %q", got)
	}
}

func mustLstat(t testing.TB, fsys vfs.FS, name string) vfs.Info {
	t.Helper()
	info, err := fsys.Lstat(name)
	check(t, err)
	return info
}

// TestChangesCloseWhatTheyOpen ends comparisons in the middle, where directories are
// being read ahead, and at the end: no directory stays open.
func TestChangesCloseWhatTheyOpen(t *testing.T) {
	w, fsys := newWorld(t), vfs.OS()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	content := tree{}
	for i := range 60 {
		content[fmt.Sprintf("src/a%d/b%d/c%d/f", i/20, i/4, i)] = file(fmt.Sprint(i))
	}
	plant(t, fsys, dir, content)
	then := w.scan(fsys, dir, sel("src"), nil, nil)
	write(t, fsys, dir+"/src/a1/b7/c30/f", "changed")
	rules, err := Rules(RuleOptions{FS: fsys, Dir: dir, Selection: sel("src")})
	check(t, err)
	open := func() int {
		list, err := os.ReadDir("/dev/fd")
		check(t, err)
		return len(list)
	}
	for _, end := range []int{1, 2, 5, 17, 40, 1000} {
		before, told := open(), 0
		ctx, cancel := context.WithCancel(t.Context())
		list, n, err := Changes(ctx, ChangeOptions{FS: fsys, Dir: dir, Store: w.store, Rules: rules, Manifest: then.Manifest, Limit: 9,
			Follow: func(string, vfs.Info, bool) {
				if told++; told == end {
					cancel()
				}
			}})
		if whole := told < end; whole && (err != nil || n != 1 || list[0] != (Change{"src/a1/b7/c30/f", Modified})) || !whole && !errors.Is(err, context.Canceled) {
			t.Errorf("ended at directory %d of %d: %v, %v", end, told, list, err)
		}
		cancel()
		if now := open(); now > before {
			t.Errorf("ended at directory %d: %d descriptors are open, %d were before", end, now, before)
		}
	}
}
