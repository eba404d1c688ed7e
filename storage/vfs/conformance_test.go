package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"forklift/storage/vfs"
)

// place is a file system under test and an empty directory in it.
type place struct {
	vfs.FS
	t   *testing.T
	dir string // "" in a Root
}

// at is the full name of something in the directory.
func (p *place) at(name string) string {
	if p.dir == "" {
		return name
	}
	return p.dir + "/" + name
}

// everywhere runs a test on all four file systems, and through a hook.
func everywhere(t *testing.T, test func(p *place)) {
	mem := func(t *testing.T) vfs.FS {
		m := vfs.NewMem()
		if err := m.Mkdir("/d", 0o700); err != nil {
			t.Fatal(err)
		}
		return m
	}
	root := func(t *testing.T, base vfs.FS, dir string) vfs.FS {
		r, err := base.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	pass := func(base vfs.FS) vfs.FS { return vfs.Hook(base, func(vfs.Call) error { return nil }) }
	t.Run("OS", func(t *testing.T) { test(&place{vfs.OS(), t, t.TempDir()}) })
	t.Run("OSRoot", func(t *testing.T) { test(&place{root(t, vfs.OS(), t.TempDir()), t, ""}) })
	t.Run("Mem", func(t *testing.T) { test(&place{mem(t), t, "/d"}) })
	t.Run("MemRoot", func(t *testing.T) { test(&place{root(t, mem(t), "/d"), t, ""}) })
	t.Run("HookRoot", func(t *testing.T) { test(&place{root(t, pass(vfs.OS()), t.TempDir()), t, ""}) })
}

func (p *place) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// fails checks that an error is one of those wanted, in a PathError.
func (p *place) fails(err error, want ...error) {
	p.t.Helper()
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		p.t.Fatalf("got %v, want a PathError with one of %v", err, want)
	}
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	p.t.Fatalf("got %v, want one of %v", err, want)
}

func (p *place) write(name, content string) {
	p.t.Helper()
	f, err := p.OpenFile(p.at(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	p.ok(err)
	_, err = f.Write([]byte(content))
	p.ok(err)
	p.ok(f.Close())
}

func (p *place) read(name string) string {
	p.t.Helper()
	f, err := p.OpenFile(p.at(name), os.O_RDONLY, 0)
	p.ok(err)
	defer f.Close()
	data, err := io.ReadAll(f)
	p.ok(err)
	return string(data)
}

func (p *place) stat(name string) vfs.Info {
	p.t.Helper()
	i, err := p.Lstat(p.at(name))
	p.ok(err)
	return i
}

func (p *place) equal(got, want any) {
	p.t.Helper()
	if got != want {
		p.t.Fatalf("got %#v, want %#v", got, want)
	}
}

// list is the names of a directory in order, with a slash after directories
// and an @ after links.
func (p *place) list(name string) string {
	p.t.Helper()
	entries, err := p.ReadDir(p.at(name))
	p.ok(err)
	var b strings.Builder
	for i, e := range entries {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(e.Name)
		switch {
		case e.Type.IsDir():
			b.WriteByte('/')
		case e.Type&fs.ModeSymlink != 0:
			b.WriteByte('@')
		}
	}
	return b.String()
}

// dot is the directory itself.
func (p *place) dot() string {
	if p.dir == "" {
		return "."
	}
	return p.dir
}

func TestOpenFile(t *testing.T) {
	everywhere(t, func(p *place) {
		open := func(name string, flag int) error {
			f, err := p.OpenFile(p.at(name), flag, 0o600)
			if err == nil {
				p.ok(f.Close())
				p.fails(errOf(f.Read(make([]byte, 1))), fs.ErrClosed)
			}
			return err
		}
		p.fails(open("f", os.O_RDONLY), fs.ErrNotExist)
		p.fails(open("no/f", os.O_RDWR|os.O_CREATE), fs.ErrNotExist)
		p.write("f", "abc")
		p.equal(p.stat("f").Mode, fs.FileMode(0o600))
		p.fails(open("f", os.O_WRONLY|os.O_CREATE|os.O_EXCL), fs.ErrExist)
		p.fails(open("f/g", os.O_RDONLY), syscall.ENOTDIR)
		p.ok(open("f", os.O_WRONLY|os.O_CREATE))
		p.equal(p.read("f"), "abc")
		p.ok(open("f", os.O_WRONLY|os.O_TRUNC))
		p.equal(p.read("f"), "")
		p.ok(p.Mkdir(p.at("dir"), 0o700))
		p.fails(open("dir", os.O_WRONLY), syscall.EISDIR)
		p.ok(open("dir", os.O_RDONLY))
		p.fails(open("f", os.O_RDONLY|syscall.O_DIRECTORY), syscall.ENOTDIR)
		p.ok(p.Symlink("f", p.at("link")))
		p.fails(open("link", os.O_RDONLY), syscall.ELOOP)
		p.fails(open("link", os.O_WRONLY|os.O_CREATE), syscall.ELOOP)
		p.fails(open("link", os.O_WRONLY|os.O_CREATE|os.O_EXCL), fs.ErrExist)
		p.ok(p.Symlink("new", p.at("dangling")))
		p.fails(open("dangling", os.O_WRONLY|os.O_CREATE), syscall.ELOOP)
		p.equal(p.list("."), "dangling@ dir/ f link@")
	})
}

// errOf drops the first result.
func errOf(_ int, err error) error { return err }

func TestReadWrite(t *testing.T) {
	everywhere(t, func(p *place) {
		f, err := p.OpenFile(p.at("f"), os.O_RDWR|os.O_CREATE, 0o600)
		p.ok(err)
		p.equal(f.Name(), p.at("f"))
		n, err := f.WriteAt([]byte("xyz"), 10000)
		p.ok(err)
		p.equal(n, 3)
		i, err := f.Stat()
		p.ok(err)
		p.equal(i, p.stat("f"))
		p.equal(i.Size, int64(10003))
		if i.Blocks*512 >= i.Size {
			t.Errorf("%d blocks: the hole takes room", i.Blocks)
		}
		_, err = f.Write([]byte("abc"))
		p.ok(err)
		buf := make([]byte, 5)
		n, err = f.ReadAt(buf, 0)
		p.ok(err)
		p.equal(string(buf[:n]), "abc\x00\x00")
		n, err = f.ReadAt(buf, 10001)
		p.equal(string(buf[:n]), "yz")
		p.equal(err, io.EOF)
		n, err = f.ReadAt(buf, 20000)
		p.equal(n, 0)
		p.equal(err, io.EOF)
		p.ok(f.Truncate(2))
		p.ok(f.Truncate(5))
		n, err = f.ReadAt(buf, 0)
		p.ok(err)
		p.equal(string(buf[:n]), "ab\x00\x00\x00")
		p.ok(f.Sync())
		p.ok(p.Remove(p.at("f")))
		n, err = f.Read(buf) // on from 3, of a file without a name
		p.ok(err)
		p.equal(string(buf[:n]), "\x00\x00")
		p.equal(errOf(f.Read(buf)), io.EOF)
		i, err = f.Stat()
		p.ok(err)
		p.equal(i.Nlink, uint64(0))
		p.ok(f.Close())
		p.fails(f.Close(), fs.ErrClosed)
	})
}

func TestAppendAndModesOfOpening(t *testing.T) {
	everywhere(t, func(p *place) {
		p.write("f", "abc")
		a, err := p.OpenFile(p.at("f"), os.O_WRONLY|os.O_APPEND, 0)
		p.ok(err)
		b, err := p.OpenFile(p.at("f"), os.O_WRONLY|os.O_APPEND, 0)
		p.ok(err)
		for _, f := range []vfs.File{a, b, a} {
			_, err = f.Write([]byte("+"))
			p.ok(err)
		}
		if _, err := a.WriteAt([]byte("x"), 0); err == nil {
			t.Error("WriteAt worked on a file open for appending")
		}
		p.fails(errOf(a.Read(make([]byte, 1))), syscall.EBADF)
		p.ok(a.Close())
		p.ok(b.Close())
		p.equal(p.read("f"), "abc+++")
		r, err := p.OpenFile(p.at("f"), os.O_RDONLY, 0)
		p.ok(err)
		p.fails(errOf(r.Write([]byte("x"))), syscall.EBADF)
		p.fails(r.Truncate(0), syscall.EINVAL)
		p.ok(r.Close())
		d, err := p.OpenFile(p.dot(), os.O_RDONLY, 0)
		p.ok(err)
		p.fails(errOf(d.Read(make([]byte, 1))), syscall.EISDIR)
		p.ok(d.Sync())
		p.ok(d.Close())
	})
}

func TestMkdirRemove(t *testing.T) {
	everywhere(t, func(p *place) {
		for _, mode := range []fs.FileMode{0o700, 0o777, 0o500, 0o770 | fs.ModeSticky} {
			p.ok(p.Mkdir(p.at("d"), mode))
			p.equal(p.stat("d").Mode, mode|fs.ModeDir)
			p.fails(p.Mkdir(p.at("d"), mode), fs.ErrExist)
			p.ok(p.Remove(p.at("d")))
		}
		p.fails(p.Mkdir(p.at("no/d"), 0o700), fs.ErrNotExist)
		p.fails(p.Remove(p.at("d")), fs.ErrNotExist)
		p.write("f", "")
		p.fails(p.Mkdir(p.at("f"), 0o700), fs.ErrExist)
		p.fails(p.Mkdir(p.at("f/d"), 0o700), syscall.ENOTDIR)
		p.ok(p.Mkdir(p.at("d"), 0o700))
		p.write("d/f", "x")
		p.fails(p.Remove(p.at("d")), syscall.ENOTEMPTY)
		p.ok(p.Symlink("f", p.at("link")))
		p.fails(p.Mkdir(p.at("link"), 0o700), fs.ErrExist)
		p.ok(p.Remove(p.at("link")))
		p.ok(p.Remove(p.at("d/f")))
		p.ok(p.Remove(p.at("d")))
		p.equal(p.list("."), "f")
	})
}

func TestRename(t *testing.T) {
	everywhere(t, func(p *place) {
		for _, d := range []string{"d", "d/sub", "full", "full/x", "empty"} {
			p.ok(p.Mkdir(p.at(d), 0o700))
		}
		p.write("a", "a")
		p.write("b", "b")
		rename := func(from, to string) error { return p.Rename(p.at(from), p.at(to)) }
		p.fails(rename("no", "x"), fs.ErrNotExist)
		p.fails(rename("a", "no/x"), fs.ErrNotExist)
		p.fails(rename("a", "d"), syscall.EISDIR)
		p.fails(rename("d", "a"), syscall.ENOTDIR)
		p.fails(rename("d", "full"), syscall.ENOTEMPTY, syscall.EEXIST)
		p.fails(rename("d", "d/sub/x"), syscall.EINVAL)
		was := p.stat("a")
		p.ok(rename("a", "b"))
		p.equal(p.read("b"), "a")
		now := p.stat("b")
		p.equal(now.Ino, was.Ino)
		p.equal(now.Mtime, was.Mtime)
		p.ok(rename("b", "d/sub/c"))
		p.ok(rename("d", "empty"))
		p.equal(p.list("."), "empty/ full/")
		p.equal(p.read("empty/sub/c"), "a")
		p.ok(p.Symlink("nowhere", p.at("link")))
		p.ok(rename("link", "link2"))
		p.ok(rename("empty/sub/c", "link2")) // over a link, not through it
		p.ok(p.Link(p.at("link2"), p.at("same")))
		p.ok(rename("link2", "same")) // two names of one file: nothing happens
		p.equal(p.list("."), "empty/ full/ link2 same")
	})
}

func TestLinks(t *testing.T) {
	everywhere(t, func(p *place) {
		p.write("a", "1")
		p.ok(p.Mkdir(p.at("d"), 0o700))
		p.ok(p.Link(p.at("a"), p.at("d/b")))
		p.equal(p.stat("a").Nlink, uint64(2))
		p.equal(p.stat("d/b").Ino, p.stat("a").Ino)
		p.fails(p.Link(p.at("a"), p.at("d/b")), fs.ErrExist)
		p.fails(p.Link(p.at("no"), p.at("c")), fs.ErrNotExist)
		p.fails(p.Link(p.at("d"), p.at("c")), syscall.EPERM)
		p.write("d/b", "two")
		p.equal(p.read("a"), "two")
		p.ok(p.Remove(p.at("a")))
		p.equal(p.stat("d/b").Nlink, uint64(1))

		long := strings.Repeat("../long\xff\n", 100)
		for _, target := range []string{"d", "/", "no where", "../x", long} {
			p.ok(p.Symlink(target, p.at("l")))
			got, err := p.Readlink(p.at("l"))
			p.ok(err)
			p.equal(got, target)
			i := p.stat("l")
			p.equal(i.Mode.Type(), fs.ModeSymlink)
			p.equal(i.Size, int64(len(target)))
			if !i.IsSymlink() || i.IsDir() || i.IsRegular() {
				t.Error("a link is not a link")
			}
			p.fails(p.Symlink("x", p.at("l")), fs.ErrExist)
			p.ok(p.Remove(p.at("l")))
		}
		p.ok(p.Symlink("d", p.at("l")))
		p.fails(errOf2(p.ReadDir(p.at("l"))), syscall.ELOOP, syscall.ENOTDIR)
		p.fails(errOf2(p.OpenRoot(p.at("l"))), syscall.ELOOP, syscall.ENOTDIR)
		p.fails(errOf2(p.Readlink(p.at("d"))), syscall.EINVAL)
		p.fails(errOf2(p.Readlink(p.at("no"))), fs.ErrNotExist)
		p.ok(p.Link(p.at("l"), p.at("l2"))) // a second name of the link itself
		p.equal(p.list("."), "d/ l@ l2@")
		p.equal(p.list("d"), "b")
	})
}

func errOf2[T any](_ T, err error) error { return err }

func TestReadDir(t *testing.T) {
	everywhere(t, func(p *place) {
		p.equal(p.list("."), "")
		names := []string{"B", "a", "a.b", "a0", "\xff\xfe", "line\nbreak", "sp ace", "\u00e9", strings.Repeat("n", 255)}
		for _, n := range names {
			p.write(n, n)
		}
		for i := range 700 { // more than one buffer of the kernel
			p.write("many"+strings.Repeat("-", 40)+string(rune('a'+i%26))+strings.Repeat("y", i/26), "")
		}
		list, err := p.ReadDir(p.dot())
		p.ok(err)
		p.equal(len(list), len(names)+700)
		for i := 1; i < len(list); i++ {
			if list[i-1].Name >= list[i].Name {
				t.Fatalf("%q is before %q", list[i-1].Name, list[i].Name)
			}
		}
		for _, n := range names {
			p.equal(p.read(n), n)
			p.equal(p.stat(n).Name, n)
		}
		p.fails(errOf2(p.ReadDir(p.at("a"))), syscall.ENOTDIR)
		p.fails(errOf2(p.ReadDir(p.at("no"))), fs.ErrNotExist)
		p.fails(errOf2(p.Lstat(p.at(strings.Repeat("n", 256)))), syscall.ENAMETOOLONG)
		p.fails(errOf2(p.Lstat(p.at("a\x00b"))), syscall.EINVAL)
	})
}

func TestAttributes(t *testing.T) {
	everywhere(t, func(p *place) {
		p.write("f", "x")
		p.ok(p.Mkdir(p.at("d"), 0o700))
		p.ok(p.Symlink("f", p.at("l")))
		for _, mode := range []fs.FileMode{0o640, 0o777, 0, 0o4755&0o777 | fs.ModeSetuid, 0o755 | fs.ModeSetgid} {
			p.ok(p.Chmod(p.at("f"), mode))
			p.equal(p.stat("f").Mode, mode)
		}
		p.ok(p.Chmod(p.at("d"), 0o500))
		p.equal(p.stat("d").Mode, fs.ModeDir|0o500)
		for bits := range uint32(0o10) {
			mode := vfs.FileMode(bits<<9 | 0o750)
			p.ok(p.Chmod(p.at("d"), mode))
			p.equal(p.stat("d").Mode, fs.ModeDir|mode)
			p.ok(p.Chmod(p.at("f"), mode))
			p.equal(p.stat("f").Bits(), bits<<9|0o750)
			p.equal(vfs.Bits(mode), bits<<9|0o750)
		}
		p.fails(p.Chmod(p.at("l"), 0o600), syscall.ELOOP)
		p.fails(p.Chmod(p.at("no"), 0o600), fs.ErrNotExist)

		before := p.stat("f")
		p.ok(p.Chtimes(p.at("l"), 123_456_789))
		p.equal(p.stat("l").Mtime, int64(123_456_789))
		p.equal(p.stat("f"), before)
		p.ok(p.Chtimes(p.at("f"), 1_700_000_000_987_654_321))
		after := p.stat("f")
		p.equal(after.Mtime, int64(1_700_000_000_987_654_321))
		if after.Ctime <= before.Ctime-20_000_000 {
			t.Errorf("ctime went back from %d to %d", before.Ctime, after.Ctime)
		}
		p.fails(p.Chtimes(p.at("no"), 0), fs.ErrNotExist)

		if os.Geteuid() == 0 {
			p.ok(p.Chown(p.at("l"), 12, 34))
			i := p.stat("l")
			p.equal(i.UID, uint32(12))
			p.equal(i.GID, uint32(34))
			p.ok(p.Chown(p.at("f"), -1, 56))
			p.equal(p.stat("f").UID, before.UID)
			p.equal(p.stat("f").GID, uint32(56))
		}
		space, err := p.Space(p.at("f"))
		p.ok(err)
		if space.FreeBytes <= 0 || space.FreeBytes > space.TotalBytes {
			t.Errorf("space %+v", space)
		}
		p.fails(errOf2(p.Space(p.at("no"))), fs.ErrNotExist)
	})
}

// What is made in a setgid directory has its group, and exactly the mode that
// was asked for; writing and chown take setuid and setgid from a file.
func TestSetgidDirectories(t *testing.T) {
	everywhere(t, func(p *place) {
		p.ok(p.Mkdir(p.at("d"), 0o777|fs.ModeSetgid))
		group := p.stat("d").GID
		if os.Geteuid() == 0 {
			group = 1234
			p.ok(p.Chown(p.at("d"), -1, int(group)))
			p.equal(p.stat("d").Bits(), uint32(0o2777))
		}
		for name, mode := range map[string]uint32{"a": 0o755, "b": 0o2755, "c": 0o7750, "e": 0o1777} {
			p.ok(p.Mkdir(p.at("d/"+name), vfs.FileMode(mode)))
			p.equal(p.stat("d/"+name).Bits(), mode)
			p.equal(p.stat("d/"+name).GID, group)
		}
		p.write("d/f", "x")
		p.equal(p.stat("d/f").GID, group)
		p.ok(p.Chmod(p.at("d/f"), vfs.FileMode(0o6755)))
		p.ok(p.Chown(p.at("d/f"), os.Geteuid(), -1))
		p.equal(p.stat("d/f").Bits(), uint32(0o755))
		p.ok(p.Chmod(p.at("d/f"), vfs.FileMode(0o6755)))
		p.write("d/f", "y")
		if strings.Contains(p.t.Name(), "/Mem") || os.Geteuid() != 0 {
			p.equal(p.stat("d/f").Bits(), uint32(0o755))
		}
	})
}

func TestXattrs(t *testing.T) {
	everywhere(t, func(p *place) {
		p.ok(p.Mkdir(p.at("d"), 0o700))
		p.write("d/f", "x")
		p.ok(p.Symlink("f", p.at("d/l")))
		err := p.SetXattr(p.at("d/f"), vfs.Xattr{Name: "user.b", Value: []byte("\x00\xff")})
		if errors.Is(err, syscall.ENOTSUP) {
			t.Skip("the file system of the temporary directory has no extended attributes")
		}
		p.ok(err)
		big := bytes.Repeat([]byte("v"), 3000)
		p.ok(p.SetXattr(p.at("d/f"), vfs.Xattr{Name: "user.a", Value: big}))
		p.ok(p.SetXattr(p.at("d/f"), vfs.Xattr{Name: "user.empty"}))
		p.ok(p.SetXattr(p.at("d/f"), vfs.Xattr{Name: "user.b", Value: []byte("again")}))
		list, err := p.Xattrs(p.at("d/f"))
		p.ok(err)
		p.equal(len(list), 3)
		p.equal(list[0].Name+list[1].Name+list[2].Name, "user.auser.buser.empty")
		p.equal(string(list[0].Value), string(big))
		p.equal(string(list[1].Value), "again")
		p.equal(len(list[2].Value), 0)
		for _, none := range []string{"d", "d/l"} {
			list, err = p.Xattrs(p.at(none))
			p.ok(err)
			p.equal(len(list), 0)
		}
		p.fails(errOf2(p.Xattrs(p.at("d/no"))), fs.ErrNotExist)
		p.fails(p.SetXattr(p.at("d/f"), vfs.Xattr{Name: "trusted.x"}), fs.ErrInvalid)
		p.fails(p.SetXattr(p.at("d/l"), vfs.Xattr{Name: "user.x"}), syscall.EPERM)
	})
}

func TestSync(t *testing.T) {
	everywhere(t, func(p *place) {
		p.write("f", "x")
		p.ok(p.SyncDir(p.dot()))
		p.fails(p.SyncDir(p.at("f")), syscall.ENOTDIR)
		p.fails(p.SyncDir(p.at("no")), fs.ErrNotExist)
		if err := p.SyncFS(p.dot()); !errors.Is(err, errors.ErrUnsupported) {
			p.ok(err)
		}
		p.fails(p.SyncFS(p.at("no")), fs.ErrNotExist)
		p.ok(p.Mkdir(p.at("d"), 0o700))
		p.ok(p.Symlink("d", p.at("l")))
		p.ok(p.Symlink("f", p.at("lf")))
		if p.dir != "" {
			p.ok(p.SyncDir(p.at("l")))
			_, err := p.Space(p.at("l"))
			p.ok(err)
			p.fails(p.SyncDir(p.at("lf")), syscall.ENOTDIR)
		} else {
			p.fails(p.SyncDir(p.at("l")), syscall.ELOOP, syscall.ENOTDIR)
			p.fails(p.SyncDir(p.at("lf")), syscall.ELOOP, syscall.ENOTDIR)
		}
	})
}

func TestLock(t *testing.T) {
	everywhere(t, func(p *place) {
		name := p.at("lock")
		one, err := p.Lock(name, true)
		p.ok(err)
		p.equal(p.stat("lock").Mode, fs.FileMode(0o600))
		for _, exclusive := range []bool{true, false} {
			p.fails(errOf2(p.Lock(name, exclusive)), vfs.ErrLocked)
		}
		p.ok(one.Unlock())
		p.fails(one.Unlock(), fs.ErrClosed)
		a, err := p.Lock(name, false)
		p.ok(err)
		b, err := p.Lock(name, false)
		p.ok(err)
		p.fails(errOf2(p.Lock(name, true)), vfs.ErrLocked)
		p.ok(a.Unlock())
		p.fails(errOf2(p.Lock(name, true)), vfs.ErrLocked)
		// A lock file that is removed and made again is another one.
		p.ok(p.Remove(name))
		c, err := p.Lock(name, true)
		p.ok(err)
		p.ok(b.Unlock())
		p.fails(errOf2(p.Lock(name, true)), vfs.ErrLocked)
		p.ok(c.Unlock())
		p.ok(p.Symlink("lock", p.at("link")))
		p.fails(errOf2(p.Lock(p.at("link"), true)), syscall.ELOOP)
		p.fails(errOf2(p.Lock(p.at("no/lock"), true)), fs.ErrNotExist)
		p.fails(errOf2(p.Lock(p.dot(), true)), syscall.EISDIR)
	})
}

func TestRoot(t *testing.T) {
	everywhere(t, func(p *place) {
		p.ok(p.Mkdir(p.at("d"), 0o700))
		p.write("outside", "secret")
		r, err := p.OpenRoot(p.at("d"))
		p.ok(err)
		in := &place{r, t, ""}
		in.ok(r.Mkdir("a", 0o700))
		in.ok(r.Mkdir("a/b", 0o700))
		in.write("a/b/c", "deep")
		sub, err := r.OpenRoot("a/b")
		p.ok(err)
		p.equal((&place{sub, t, ""}).read("c"), "deep")
		for _, bad := range []string{"", "..", "../outside", "a/../../outside", "a/..", "/etc", "/", "a//b", "./a", "a/.", "a/"} {
			p.fails(errOf2(r.Lstat(bad)), fs.ErrInvalid)
			p.fails(r.Remove(bad), fs.ErrInvalid)
			p.fails(r.Rename("a/b/c", bad), fs.ErrInvalid)
			p.fails(errOf2(r.OpenFile(bad, os.O_RDWR|os.O_CREATE, 0o600)), fs.ErrInvalid)
		}
		// The Root is the directory, whatever its name is.
		p.ok(p.Rename(p.at("d"), p.at("moved")))
		p.equal((&place{sub, t, ""}).read("c"), "deep")
		in.write("a/b/d", "new")
		p.equal(p.read("moved/a/b/d"), "new")
		p.equal(in.list("."), "a/")
		p.equal(r.Close(), nil)
		p.fails(errOf2(r.Lstat("a")), fs.ErrClosed)
		p.fails(errOf2(r.OpenFile("a/x", os.O_WRONLY|os.O_CREATE, 0o600)), fs.ErrClosed)
		p.equal(errors.Is(r.Close(), fs.ErrClosed), true)
		p.equal((&place{sub, t, ""}).read("c"), "deep")
		p.ok(sub.Close())
		p.fails(errOf2(p.OpenRoot(p.at("outside"))), syscall.ENOTDIR)
		p.fails(errOf2(p.OpenRoot(p.at("no"))), fs.ErrNotExist)
	})
}

// TestRootFollowsNothing plants links in the way of every method.
func TestRootFollowsNothing(t *testing.T) {
	everywhere(t, func(p *place) {
		p.ok(p.Mkdir(p.at("out"), 0o700))
		p.write("out/f", "secret")
		p.ok(p.Mkdir(p.at("in"), 0o700))
		r, err := p.OpenRoot(p.at("in"))
		p.ok(err)
		defer r.Close()
		p.ok(r.Mkdir("real", 0o700))
		(&place{r, t, ""}).write("real/f", "mine")
		was := p.stat("out/f")
		abs := p.at("out")
		if !path.IsAbs(abs) {
			abs = "/"
		}
		for link, target := range map[string]string{"up": "../out", "abs": abs, "within": "real", "deep": "real/../../out"} {
			p.ok(r.Symlink(target, link))
			name := link + "/f"
			two := func(err error) { p.t.Helper(); p.fails(err, syscall.ELOOP, syscall.ENOTDIR) }
			two(errOf2(r.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)))
			two(r.Mkdir(link+"/d", 0o700))
			two(r.Remove(name))
			two(r.Rename(name, "x"))
			two(r.Rename("real/f", name))
			two(r.Link(name, "x"))
			two(r.Link("real/f", link+"/g"))
			two(r.Symlink("x", link+"/l"))
			two(errOf2(r.Readlink(name)))
			two(errOf2(r.Lstat(name)))
			two(errOf2(r.ReadDir(link)))
			two(r.Chmod(name, 0o777))
			two(r.Chmod(link, 0o777))
			two(r.Chown(name, 1, 1))
			two(r.Chtimes(name, 1))
			two(errOf2(r.Xattrs(name)))
			two(r.SetXattr(name, vfs.Xattr{Name: "user.x"}))
			two(r.SyncDir(link))
			two(errOf2(r.Lock(name, true)))
			two(errOf2(r.OpenRoot(link)))
			two(errOf2(r.OpenRoot(link + "/d")))
		}
		p.equal(p.stat("out/f"), was)
		p.equal(p.list("out"), "f")
		p.equal(p.read("in/real/f"), "mine")
	})
}

func TestNamesOfTheWholeDiskAreAbsolute(t *testing.T) {
	for _, fsys := range []vfs.FS{vfs.OS(), vfs.NewMem()} {
		if _, err := fsys.Lstat("relative"); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("a relative name gave %v", err)
		}
		if _, err := fsys.Lstat("/"); err != nil {
			t.Error(err)
		}
	}
}
