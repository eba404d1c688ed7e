package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// TestRefusals has things in the way of a restore: each is refused by name,
// and nothing is changed.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	logs := sel("src")
	logs.Ignore = []string{"*.log"}
	cases := []struct {
		what         string
		before, then tree
		meanwhile    func(m *vfs.Mem) // between the safety pair and the stage
		named        string
	}{
		{"an ignored file in a directory that becomes a file", tree{"src/d/x": file("x"), "src/d/y.log": file("log")}, tree{"src/d": file("f")}, nil, "src/d/y.log"},
		{"a new file in such a directory", tree{"src/d/x": file("x")}, tree{"src/d": file("f")},
			func(m *vfs.Mem) { write(t, m, top+"/src/d/new", "n") }, "src/d/new"},
		{"a new file where one is to be made", tree{"src/a": file("a")}, tree{"src/b": file("b")},
			func(m *vfs.Mem) { write(t, m, top+"/src/b", "mine") }, "src/b"},
		{"a directory that is a file by now", tree{"src/d/x": file("x")}, tree{"src/d/x": file("other")},
			func(m *vfs.Mem) {
				check(t, m.Rename(top+"/src/d", top+"/d"))
				write(t, m, top+"/src/d", "f")
			}, "src/d"},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			target := w.checkpoint(c.then, logs)
			m := w.memory(c.before)
			saved := w.safety(m, top, logs, nil, target)
			if c.meanwhile != nil {
				c.meanwhile(m)
			}
			before := harvest(t, m, top)
			_, err := Stage(context.Background(), w.options(m, top, saved, target))
			if err == nil || !strings.Contains(fmt.Sprint(fault.ItemsOf(err)), c.named) || fault.HintOf(err) == "" {
				t.Errorf("error %v, items %q, want %s in them", err, fault.ItemsOf(err), c.named)
			}
			wantTree(t, m, top, before)
			noLeftovers(t, m, top)
		})
	}
}

func TestTooLittleSpace(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file(strings.Repeat("x", 100_000))}, sel("src"))
	m := w.memory(tree{"src/b": file("b")})
	saved := w.safety(m, top, sel("src"), nil, target)
	m.SetSpace(vfs.Space{FreeBytes: spaceMarginBytes + 50_000, TotalBytes: 1 << 40})
	_, err := Stage(context.Background(), w.options(m, top, saved, target))
	if fault.KindOf(err) != fault.NoSpace || fault.HintOf(err) == "" || !strings.Contains(err.Error(), "are free, the files to restore need") {
		t.Errorf("error %v", err)
	}
	noLeftovers(t, m, top)
	m.SetSpace(vfs.Space{FreeBytes: spaceMarginBytes + 200_000, TotalBytes: 1 << 40})
	_, err = w.restore(w.options(m, top, saved, target))
	check(t, err)
}

// TestNothingToDo makes no staging directory at all.
func TestNothingToDo(t *testing.T) {
	w := newWorld(t)
	m := w.memory(tree{"src/a": file("a"), "src/l": link("a")})
	target := w.scan(m, top, sel("src"), nil, nil)
	check(t, m.Chtimes(top+"/src/a", 1)) // another time is no change
	saved := w.safety(m, top, sel("src"), nil, target)
	calls := m.Calls()
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	list, err := finish(context.Background(), in)
	check(t, err)
	changed, removed, kept := in.Counts()
	if m.Calls() != calls || len(list) != 0 || changed != 0 || removed != 0 || kept != 2 {
		t.Errorf("%d calls, rescued %v, counts %d %d %d", m.Calls()-calls, list, changed, removed, kept)
	}
}

func TestCounts(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("a"), "src/b": file("b"), "src/m": fileMode("m", 0o755), "src/l": link("x"), "src/d/e": dirOf(0o755)}, sel("src"))
	m := w.memory(tree{"src/a": file("a"), "src/b": file("new"), "src/m": file("m"), "src/gone/x": file("x"), "src/gone/y": file("y")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	if changed, removed, kept := in.Counts(); changed != 3 || removed != 2 || kept != 1 {
		t.Errorf("counts %d %d %d, want 3 2 1", changed, removed, kept)
	}
}

// TestStagingDirectoryHidesItself asks git.
func TestStagingDirectoryHidesItself(t *testing.T) {
	dir, fsys, w := repository(t), vfs.OS(), newWorld(t)
	plant(t, fsys, dir, tree{"src/a": file("new")})
	target := w.checkpoint(tree{"src/a": file("old"), "src/odd\xff": file("o")}, sel("src"))
	status := git(t, dir, "status", "--porcelain", "--ignored=no", "--untracked-files=all")
	saved := w.safety(fsys, dir, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(fsys, dir, saved, target))
	check(t, err)
	if got := git(t, dir, "status", "--porcelain", "--ignored=no", "--untracked-files=all"); got != status {
		t.Errorf("git sees\n%s\nbefore\n%s", got, status)
	}
	for _, name := range []string{in.staging, path.Join(in.staging, newDir), path.Join(in.staging, oldDir)} {
		if info, err := os.Lstat(path.Join(dir, name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	check(t, RemoveStaging(context.Background(), fsys, dir, operation))
	noLeftovers(t, fsys, dir)
}

func TestOperationNames(t *testing.T) {
	for _, bad := range []string{"", "a/b", "..", "a-b", "ä", strings.Repeat("x", 65)} {
		if _, err := stagingName(bad, false); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if name, err := stagingName("01ABC_z", true); err != nil || name != ".forklift-staging-01ABC_z-back" {
		t.Errorf("%q, %v", name, err)
	}
}

// TestLostList removes the list, or the whole staging directory, in the
// middle of an install: it is staged again, and what had been displaced is
// kept and reported.
func TestLostList(t *testing.T) {
	for _, all := range []bool{false, true} {
		w := newWorld(t)
		target := w.checkpoint(tree{"src/a": file("old"), "src/b": file("old b")}, sel("src"))
		m := w.memory(tree{"src/a": file("new"), "src/b": file("new b")})
		saved := w.safety(m, top, sel("src"), nil, target)
		in, err := Stage(context.Background(), w.options(m, top, saved, target))
		check(t, err)
		write(t, m, top+"/src/a", "edited")
		placed := 0
		in.fs = vfs.Hook(m, func(c vfs.Call) error {
			if c.Op == vfs.OpLink {
				if placed++; placed == 2 {
					return fs.ErrInvalid
				}
			}
			return nil
		})
		if _, err := in.Run(context.Background()); err == nil {
			t.Fatal("the install was not interrupted")
		}
		staging := path.Join(top, in.staging)
		if all {
			for _, name := range []string{newDir + "/0", newDir + "/1", oldDir + "/0", oldDir + "/1", newDir, oldDir, headName, partName(0), ".gitignore", ""} {
				check(t, m.Remove(path.Join(staging, name)))
			}
		} else {
			write(t, m, path.Join(staging, headName), "damaged")
		}
		again, err := OpenInstall(context.Background(), m, top, w.store, w.clock, operation, false)
		if again != nil || err != nil {
			t.Fatalf("opened %v, %v", again, err)
		}
		opt := w.options(m, top, saved, target)
		opt.Switched = true
		_, err = w.restore(opt)
		check(t, err)
		wantTree(t, m, top, tree{"src/a": file("old"), "src/b": file("old b")})
		names, err := Leftovers(context.Background(), m, top)
		check(t, err)
		if all {
			noLeftovers(t, m, top)
			continue
		}
		if len(names) != 1 {
			t.Fatalf("left over: %q", names)
		}
		manifests := []storage.ID{target.Manifest, saved.Manifest}
		ok, unknown, err := Disposable(context.Background(), m, top, w.store, names[0], manifests)
		if ok || err != nil || len(unknown) != 1 || read(t, m, path.Join(top, unknown[0])) != "edited" {
			t.Errorf("disposable: %v, %q, %v", ok, unknown, err)
		}
		check(t, m.Remove(path.Join(top, unknown[0])))
		if ok, unknown, err := Disposable(context.Background(), m, top, w.store, names[0], manifests); !ok || err != nil {
			t.Errorf("disposable: %v, %q, %v", ok, unknown, err)
		}
		check(t, Discard(context.Background(), m, top, names[0]))
		noLeftovers(t, m, top)
	}
	if err := Discard(context.Background(), vfs.NewMem(), "/", "src"); err == nil {
		t.Error("something else than a staging directory was discarded")
	}
}

// TestDisplacedFilesStopRemoval has displaced files where there should be none.
func TestDisplacedFilesStopRemoval(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old")}, sel("src"))
	m := w.memory(tree{"src/a": file("new")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	_, err = in.Run(context.Background())
	check(t, err)
	if err := RemoveStaging(context.Background(), m, top, operation); err == nil {
		t.Error("displaced files were removed")
	}
	check(t, in.Remove(context.Background()))
	check(t, RemoveStaging(context.Background(), m, top, operation))
}

// TestManySteps needs more than one part of the list, and one flush for all.
func TestManySteps(t *testing.T) {
	w := newWorld(t)
	want := tree{}
	for i := range partSteps + 100 {
		want[fmt.Sprintf("src/d%d/f%d", i%7, i)] = file(fmt.Sprint(i % 50))
	}
	target := w.checkpoint(want, sel("src"))
	m := w.memory(tree{"src/old": file("old")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	calls := m.Calls()
	again, err := OpenInstall(context.Background(), m, top, w.store, w.clock, operation, false)
	check(t, err)
	if len(again.steps) != len(in.steps) {
		t.Errorf("%d steps were read back, not %d", len(again.steps), len(in.steps))
	}
	_, err = finish(context.Background(), again)
	check(t, err)
	wantTree(t, m, top, want)
	t.Logf("%d files installed with %d changing calls", len(want), m.Calls()-calls)
}

// TestListThatIsNotWhole has a head that speaks of other steps than there are.
func TestListThatIsNotWhole(t *testing.T) {
	m := vfs.NewMem()
	check(t, m.Mkdir("/s", 0o755))
	root, err := m.OpenRoot("/")
	check(t, err)
	defer root.Close()
	check(t, writeList(root, "s", head{}, []step{{Path: "src/a"}, {Path: "src/b"}}))
	if _, steps, err := readList(root, "s"); err != nil || len(steps) != 2 {
		t.Fatalf("read back %v, %v", steps, err)
	}
	check(t, record.Write(root, "s/"+headName, headKind, listFormat, head{Parts: 1, Steps: 3}))
	_, _, err = readList(root, "s")
	if fault.KindOf(err) != fault.Corrupt || !strings.Contains(err.Error(), "2 steps, not 3") {
		t.Errorf("error %v", err)
	}
}

// TestModeOnlyKeepsTheFile sets permission bits without touching the file.
func TestModeOnlyKeepsTheFile(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": fileMode("a", 0o755), "src/d": dirOf(0o700), "src/d/x": file("x")}, sel("src"))
	m := w.memory(tree{"src/a": file("a"), "src/d/x": file("x")})
	before, err := m.Lstat(top + "/src/a")
	check(t, err)
	saved := w.safety(m, top, sel("src"), nil, target)
	_, err = w.restore(w.options(m, top, saved, target))
	check(t, err)
	after, err := m.Lstat(top + "/src/a")
	check(t, err)
	if after.Ino != before.Ino || after.Mtime != before.Mtime || after.Mode.Perm() != 0o755 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	wantTree(t, m, top, tree{"src/a": fileMode("a", 0o755), "src/d": dirOf(0o700), "src/d/x": file("x")})
}
