package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if got != want {
		t.Fatalf("got %#v, want %#v", got, want)
	}
}

// TestOnTheDisk runs every scenario on the real disk.
func TestOnTheDisk(t *testing.T) {
	for _, s := range scenarios {
		base := t.TempDir()
		root, err := vfs.OS().OpenRoot(base)
		ok(t, err)
		// The scenarios say "/"; here that is the temporary directory.
		under := &chroot{root}
		ok(t, s.prepare(under))
		ok(t, s.run(under))
		equal(t, tree(under, "/"), s.after)
		left, err := filepath.Glob(filepath.Join(base, "*", ".tmp-*"))
		ok(t, err)
		equal(t, len(left), 0)
		ok(t, root.Close())
	}
}

// chroot takes absolute names in a Root.
type chroot struct{ vfs.FS }

func (c *chroot) in(name string) string {
	if name = strings.TrimPrefix(name, "/"); name == "" {
		return "."
	}
	return name
}
func (c *chroot) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := c.FS.OpenFile(c.in(name), flag, perm)
	if err != nil {
		return nil, err
	}
	return named{f}, nil
}
func (c *chroot) Mkdir(name string, perm fs.FileMode) error { return c.FS.Mkdir(c.in(name), perm) }
func (c *chroot) Remove(name string) error                  { return c.FS.Remove(c.in(name)) }
func (c *chroot) Rename(a, b string) error                  { return c.FS.Rename(c.in(a), c.in(b)) }
func (c *chroot) Link(a, b string) error                    { return c.FS.Link(c.in(a), c.in(b)) }
func (c *chroot) Symlink(target, name string) error         { return c.FS.Symlink(target, c.in(name)) }
func (c *chroot) Readlink(name string) (string, error)      { return c.FS.Readlink(c.in(name)) }
func (c *chroot) Lstat(name string) (vfs.Info, error)       { return c.FS.Lstat(c.in(name)) }
func (c *chroot) ReadDir(name string) ([]vfs.Entry, error)  { return c.FS.ReadDir(c.in(name)) }
func (c *chroot) SyncDir(name string) error                 { return c.FS.SyncDir(c.in(name)) }
func (c *chroot) SyncFS(name string) error                  { return c.FS.SyncFS(c.in(name)) }
func (c *chroot) OpenRoot(name string) (vfs.Root, error)    { return c.FS.OpenRoot(c.in(name)) }

// named is a file with its absolute name.
type named struct{ vfs.File }

func (n named) Name() string { return "/" + n.File.Name() }

// TestGoldenOperations pins what the functions do to the file system, in
// order.
func TestGoldenOperations(t *testing.T) {
	want := map[string]string{
		"WriteFile over another":               "create /d/.tmp-*; write /d/.tmp-* 3; sync /d/.tmp-*; rename /d/.tmp-* /d/f; syncdir /d",
		"CreateFile":                           "create /d/.tmp-*; write /d/.tmp-* 3; sync /d/.tmp-*; link /d/.tmp-* /d/f; remove /d/.tmp-*; syncdir /d",
		"MkdirAll":                             "syncdir /; mkdir /a/b; syncdir /a; mkdir /a/b/c; syncdir /a/b; mkdir /a/b/c/d; syncdir /a/b/c",
		"Rename in a directory":                "rename /a /b; syncdir /",
		"Rename of a directory to another one": "rename /a/x /b/y; syncdir /b; syncdir /a",
		"Remove":                               "remove /a; syncdir /",
		"Append to nothing":                    "create /log; syncdir /; write /log 4; sync /log",
		"Append":                               "write /log 4; sync /log",
		"Truncate":                             "truncate /log 2; sync /log",
		"SyncTree":                             "mkdir /d/e; create /d/e/f; write /d/e/f 1; symlink /d/l -> x; syncfs /d",
	}
	for _, s := range scenarios {
		if want[s.name] == "" {
			continue
		}
		var lines []string
		ok(t, s.run(vfs.Log(s.start(t), func(line string) { lines = append(lines, line) })))
		if got := strings.Join(lines, "; "); got != want[s.name] {
			t.Errorf("%s:\ngot  %s\nwant %s", s.name, got, want[s.name])
		}
		delete(want, s.name)
	}
	equal(t, len(want), 0)
}

func TestCreateFileOnce(t *testing.T) {
	for base, fsys := range map[string]vfs.FS{t.TempDir(): vfs.OS(), "": vfs.NewMem()} {
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				err := durable.CreateFile(fsys, base+"/f", fmt.Appendf(nil, "%d", i), 0o600)
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		equal(t, won.Load(), int32(1))
		list, err := fsys.ReadDir(base + "/")
		ok(t, err)
		equal(t, len(list), 1) // no temporary files
	}
}

func TestMkdirAllSyncsWhatExists(t *testing.T) {
	m := vfs.NewMem()
	ok(t, m.Mkdir("/a", 0o700)) // made by one who was killed before its sync
	ok(t, durable.MkdirAll(m, "/a", 0o700))
	equal(t, tree(m.CrashClone(vfs.CrashOptions{}), "/"), "/a/")
	ok(t, m.Mkdir("/b", 0o700))
	ok(t, durable.MkdirAll(m, "/b/c/", 0o750))
	after := m.CrashClone(vfs.CrashOptions{})
	equal(t, tree(after, "/"), "/a/ /b/ /b/c/")
	i, err := after.Lstat("/b/c")
	ok(t, err)
	equal(t, i.Mode, fs.ModeDir|0o750)
}

func TestMkdirAllInTheWay(t *testing.T) {
	m := vfs.NewMem()
	ok(t, m.Mkdir("/d", 0o700))
	ok(t, put(m, "/f", ""))
	ok(t, m.Symlink("d", "/link"))
	ok(t, m.Symlink("f", "/wrong"))
	for _, name := range []string{"/f", "/f/x", "/wrong", "/wrong/x"} {
		if err := durable.MkdirAll(m, name, 0o700); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ok(t, durable.MkdirAll(m, "/link", 0o700))
	ok(t, durable.MkdirAll(m, "/link/x", 0o700))
	equal(t, tree(m, "/"), "/d/ /d/x/ /f= /link->d /wrong->f")
	root, err := m.OpenRoot("/")
	ok(t, err)
	ok(t, durable.MkdirAll(root, "d/y/z", 0o700))
	ok(t, durable.MkdirAll(root, ".", 0o700))
	if err := durable.MkdirAll(root, "link/q", 0o700); !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link in a Root: %v", err)
	}
}

func TestMkdirAllWhereTheParentIsClosed(t *testing.T) {
	m := vfs.NewMem()
	ok(t, m.Mkdir("/home", 0o711))
	ok(t, m.Mkdir("/home/me", 0o700))
	closed := vfs.Hook(m, func(c vfs.Call) error {
		if c.Op == vfs.OpSyncDir && c.Name == "/home" {
			return syscall.EACCES // to sync a directory it must be read
		}
		return nil
	})
	ok(t, durable.MkdirAll(closed, "/home/me/data", 0o700))
}

func TestAbsentIsRemoved(t *testing.T) {
	m := vfs.NewMem()
	ok(t, put(m, "/f", ""))
	ok(t, m.SyncFS("/"))
	ok(t, m.Remove("/f")) // by one who was killed before its sync
	ok(t, durable.Remove(m, "/f"))
	equal(t, tree(m.CrashClone(vfs.CrashOptions{}), "/"), "")
	ok(t, durable.Remove(m, "/no/f"))
	ok(t, durable.RemoveAll(m, "/f"))
	ok(t, durable.RemoveAll(m, "/no/f"))
	ok(t, m.Mkdir("/d", 0o700))
	ok(t, put(m, "/d/f", ""))
	if err := durable.Remove(m, "/d"); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("a full directory: %v", err)
	}
}

// TestRemoveAllOfProtectedDirectories refuses what a directory's mode would
// forbid to a user who is not root.
func TestRemoveAllOfProtectedDirectories(t *testing.T) {
	m := vfs.NewMem()
	for _, d := range []string{"/t", "/t/unreadable", "/t/unwritable"} {
		ok(t, m.Mkdir(d, 0o700))
	}
	ok(t, put(m, "/t/unreadable/f", ""))
	ok(t, put(m, "/t/unwritable/f", ""))
	ok(t, m.Chmod("/t/unreadable", 0o300))
	ok(t, m.Chmod("/t/unwritable", 0o500))
	strict := vfs.Hook(m, func(c vfs.Call) error {
		forbids := func(dir string, bit fs.FileMode) error {
			if i, err := m.Lstat(dir); err == nil && i.Mode&bit == 0 {
				return syscall.EACCES
			}
			return nil
		}
		switch c.Op {
		case vfs.OpReadDir:
			return forbids(c.Name, 0o400)
		case vfs.OpRemove:
			return forbids(filepath.Dir(c.Name), 0o200)
		}
		return nil
	})
	ok(t, durable.RemoveAll(strict, "/t"))
	equal(t, tree(m, "/"), "")
	// What stays forbidden is an error.
	ok(t, m.Mkdir("/t", 0o700))
	ok(t, put(m, "/t/f", ""))
	never := vfs.Inject(m, vfs.Rule{Nth: 1, Sticky: true, Err: syscall.EACCES, Match: func(c vfs.Call) bool {
		return c.Op == vfs.OpRemove && c.Name == "/t/f"
	}})
	if err := durable.RemoveAll(never, "/t"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

// TestRemoveAllAndAPlantedLink replaces a directory by a link to another
// one just when it is about to be entered.
func TestRemoveAllAndAPlantedLink(t *testing.T) {
	m := vfs.NewMem()
	for _, d := range []string{"/precious", "/t", "/t/d"} {
		ok(t, m.Mkdir(d, 0o700))
	}
	ok(t, put(m, "/precious/f", ""))
	ok(t, put(m, "/t/d/f", ""))
	planted := false
	evil := vfs.Hook(m, func(c vfs.Call) error {
		if c.Op == vfs.OpOpenRoot && c.Name == "/t/d" && !planted {
			planted = true
			ok(t, m.Rename("/t/d", "/t/e"))
			ok(t, m.Symlink("/precious", "/t/d"))
		}
		return nil
	})
	err := durable.RemoveAll(evil, "/t")
	if err != nil {
		err = durable.RemoveAll(evil, "/t")
	}
	ok(t, err)
	equal(t, tree(m, "/"), "/precious/ /precious/f=")
}

// TestSyncTreeOneByOne checks the way of systems that cannot sync a whole file
// system, with every call failing once.
func TestSyncTreeOneByOne(t *testing.T) {
	all := func(vfs.Call) bool { return true }
	for n := 1; ; n++ {
		m := vfs.NewMem()
		ok(t, m.Mkdir("/d", 0o700))
		ok(t, m.SyncDir("/"))
		ok(t, m.Mkdir("/d/e", 0o700))
		ok(t, put(m, "/d/e/f", "x"))
		ok(t, m.Symlink("nowhere", "/d/l"))
		bad := vfs.Inject(m, vfs.Rule{Match: all, Nth: n, Err: syscall.EIO})
		err := durable.SyncTree(withoutSyncFS(bad), "/d")
		if len(bad.Failed()) == 0 {
			ok(t, err)
			equal(t, tree(m.CrashClone(vfs.CrashOptions{}), "/"), "/d/ /d/e/ /d/e/f=x /d/l->nowhere")
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("%v failed: %v", bad.Failed()[0], err)
		}
	}
}

func TestReadFile(t *testing.T) {
	m := vfs.NewMem()
	ok(t, put(m, "/f", "0123456789"))
	for _, limit := range []int64{10, 11, 1 << 40} {
		data, err := durable.ReadFile(m, "/f", limit)
		ok(t, err)
		equal(t, string(data), "0123456789")
	}
	_, err := durable.ReadFile(m, "/f", 9)
	equal(t, fault.KindOf(err), fault.Corrupt)
	_, err = durable.ReadFile(m, "/", 9)
	equal(t, fault.KindOf(err), fault.Corrupt)
	_, err = durable.ReadFile(m, "/no", 9)
	equal(t, errors.Is(err, fs.ErrNotExist), true)
	// A file that grows while it is read.
	grows := vfs.Hook(m, func(c vfs.Call) error {
		if c.Op != vfs.OpRead {
			return nil
		}
		f, err := m.OpenFile("/f", os.O_WRONLY|os.O_APPEND, 0)
		ok(t, err)
		defer f.Close()
		_, err = f.Write(make([]byte, 100))
		return err
	})
	_, err = durable.ReadFile(grows, "/f", 1000)
	equal(t, fault.KindOf(err), fault.Corrupt)
	for _, op := range []vfs.Op{vfs.OpOpen, vfs.OpStat, vfs.OpRead} {
		bad := vfs.Inject(m, vfs.Rule{Nth: 1, Err: syscall.EIO, Match: func(c vfs.Call) bool { return c.Op == op }})
		if _, err := durable.ReadFile(bad, "/f", 1<<20); !errors.Is(err, syscall.EIO) {
			t.Errorf("a failed %s: %v", op, err)
		}
	}
}

func TestTempNames(t *testing.T) {
	name := durable.TempName()
	equal(t, durable.IsTemp(name), true)
	equal(t, name == durable.TempName(), false)
	for _, not := range []string{"", ".tmp-", ".tmp-0123", ".tmp-0123456789abcdeg", ".tmp-0123456789ABCDEF", "x.tmp-0123456789abcdef", ".tmp-0123456789abcdef0"} {
		equal(t, durable.IsTemp(not), false)
	}
}

func TestSyncFile(t *testing.T) {
	m := vfs.NewMem()
	ok(t, put(m, "/f", "x"))
	ok(t, m.SyncDir("/"))
	equal(t, tree(m.CrashClone(vfs.CrashOptions{}), "/"), "/f=")
	ok(t, durable.SyncFile(m, "/f"))
	equal(t, tree(m.CrashClone(vfs.CrashOptions{}), "/"), "/f=x")
	if err := durable.SyncFile(m, "/no"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
