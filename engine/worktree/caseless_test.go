package worktree

import (
	"context"
	"io/fs"
	"path"
	"strings"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// caselessFS is a file system that keeps the case of names but does not tell
// names apart by it, as macOS's usually does.
type caselessFS struct{ vfs.FS }

// real gives each element of a name the case that it has on disk.
func (c caselessFS) real(name string) string {
	out, rooted := "", strings.HasPrefix(name, "/")
	for e := range strings.SplitSeq(strings.TrimPrefix(name, "/"), "/") {
		dir := out
		if dir == "" {
			dir = "."
			if rooted {
				dir = "/"
			}
		}
		if list, err := c.FS.ReadDir(dir); err == nil {
			for _, d := range list {
				if strings.EqualFold(d.Name, e) {
					e = d.Name
				}
			}
		}
		out = path.Join(out, e)
		if rooted && !strings.HasPrefix(out, "/") {
			out = "/" + out
		}
	}
	return out
}

// fresh is the real directory with the base name as it was asked for.
func (c caselessFS) fresh(name string) string {
	return path.Join(path.Dir(c.real(name)), path.Base(name))
}

func (c caselessFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	return c.FS.OpenFile(c.real(name), flag, perm)
}
func (c caselessFS) Mkdir(name string, perm fs.FileMode) error { return c.FS.Mkdir(c.real(name), perm) }
func (c caselessFS) Remove(name string) error                  { return c.FS.Remove(c.real(name)) }
func (c caselessFS) Link(o, n string) error                    { return c.FS.Link(c.real(o), c.real(n)) }
func (c caselessFS) Symlink(t, name string) error              { return c.FS.Symlink(t, c.real(name)) }
func (c caselessFS) Readlink(name string) (string, error)      { return c.FS.Readlink(c.real(name)) }
func (c caselessFS) Lstat(name string) (vfs.Info, error)       { return c.FS.Lstat(c.real(name)) }
func (c caselessFS) ReadDir(name string) ([]vfs.Entry, error)  { return c.FS.ReadDir(c.real(name)) }
func (c caselessFS) Chmod(name string, m fs.FileMode) error    { return c.FS.Chmod(c.real(name), m) }
func (c caselessFS) Chtimes(name string, m int64) error        { return c.FS.Chtimes(c.real(name), m) }
func (c caselessFS) Xattrs(name string) ([]vfs.Xattr, error)   { return c.FS.Xattrs(c.real(name)) }
func (c caselessFS) SyncDir(name string) error                 { return c.FS.SyncDir(c.real(name)) }

// Rename to a name that differs only in case changes the case.
func (c caselessFS) Rename(o, n string) error {
	from, to := c.real(o), c.real(n)
	if from == to {
		to = c.fresh(n)
	}
	return c.FS.Rename(from, to)
}

func (c caselessFS) OpenRoot(name string) (vfs.Root, error) {
	r, err := c.FS.OpenRoot(c.real(name))
	return caselessRoot{caselessFS{r}, r}, err
}

// caselessRoot is a Root of it.
type caselessRoot struct {
	caselessFS
	root vfs.Root
}

func (c caselessRoot) Close() error { return c.root.Close() }

// TestNamesThatDiffer in case only: a file and a directory change their case
// and back, also when each run is interrupted at every call.
func TestNamesThatDifferInCase(t *testing.T) {
	w := newWorld(t)
	then := tree{"src/Readme": file("old"), "src/Lib/A": file("same"), "src/Lib/b": file("b"), "src/keep": file("k")}
	now := tree{"src/README": file("new"), "src/lib/a": file("same"), "src/lib/c": file("c"), "src/keep": file("k")}
	target := w.checkpoint(then, sel("src"))
	for n := 1; ; n++ {
		m := w.memory(now)
		c := caselessFS{m}
		saved := w.safety(c, top, sel("src"), nil, target)
		in, err := Stage(context.Background(), w.options(c, top, saved, target))
		check(t, err)
		m.CutAt(n)
		list, err := finish(context.Background(), in)
		done := err == nil
		m.CutAt(0)
		if !done {
			again, err := OpenInstall(context.Background(), c, top, w.store, w.clock, operation, false)
			check(t, err)
			if again == nil { // the cut was behind the journal's end
				noJournal(t, c, in)
				continue
			}
			list, err = finish(context.Background(), again)
			check(t, err)
		}
		if len(list) > 0 {
			t.Fatalf("call %d: rescued %v", n, list)
		}
		wantTree(t, m, top, then)
		if done {
			break
		}
	}
}

// noJournal removes what is left when the removal of the staging directory
// was cut off.
func noJournal(t testing.TB, fsys vfs.FS, in *Install) {
	t.Helper()
	check(t, Discard(context.Background(), fsys, top, in.staging))
}

// TestNamesThatCollide are refused on such a file system, and fine elsewhere.
func TestNamesThatCollide(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/Makefile": file("1"), "src/makefile": file("2"), "src/Ä/x": file("x"), "src/ä": file("y")}, sel("src"))
	m := w.memory(tree{"src/a": file("a")})
	saved := w.safety(m, top, sel("src"), nil, target)
	_, err := Stage(context.Background(), w.options(caselessFS{m}, top, saved, target))
	if fault.KindOf(err) != fault.Unsupported || len(fault.ItemsOf(err)) != 2 || !strings.Contains(err.Error(), "this file system takes src/Makefile") {
		t.Errorf("error %v, %q", err, fault.ItemsOf(err))
	}
	noLeftovers(t, m, top)
	_, err = w.restore(w.options(m, top, saved, target))
	check(t, err)
}

// TestUnsavedNameInAnotherCase must not be replaced.
func TestUnsavedNameInAnotherCase(t *testing.T) {
	w := newWorld(t)
	s := sel("src")
	s.Ignore = []string{"NOTES"}
	target := w.checkpoint(tree{"src/notes": file("saved")}, sel("src"))
	m := w.memory(tree{"src/NOTES": file("ignored")})
	c := caselessFS{m}
	saved := w.safety(c, top, s, nil, target)
	_, err := w.restore(w.options(c, top, saved, target))
	got := harvest(t, m, top)
	if err == nil {
		t.Errorf("restored; the worktree holds\n%s", got)
	}
	if got["src/NOTES"].data != "ignored" {
		t.Errorf("error %v; the worktree holds\n%s", err, got)
	}
}
