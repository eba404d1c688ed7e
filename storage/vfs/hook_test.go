package vfs_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"forklift/storage/vfs"
)

// everyCall makes each kind of call once, in a Root and out of it. It goes
// on after errors and gives them all.
func everyCall(fsys vfs.FS) []error {
	var errs []error
	try := func(err error) { errs = append(errs, err) }
	try(fsys.Mkdir("/d", 0o700))
	r, err := fsys.OpenRoot("/d")
	try(err)
	if err != nil {
		return errs
	}
	defer r.Close()
	f, err := r.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o600)
	try(err)
	if err == nil {
		buf := make([]byte, 2)
		try(errOf(f.Write([]byte("abc"))))
		try(errOf(f.WriteAt([]byte("xy"), 1)))
		try(f.Truncate(2))
		try(f.Sync())
		_, err = f.Read(buf)
		if err == io.EOF {
			err = nil
		}
		try(err)
		try(errOf(f.ReadAt(buf, 0)))
		try(errOf2(f.Stat()))
		try(f.Close())
	}
	f, err = r.OpenFile("f", os.O_WRONLY|os.O_TRUNC, 0)
	try(err)
	if err == nil {
		try(f.Close())
	}
	f, err = r.OpenFile("f", os.O_RDONLY, 0)
	try(err)
	if err == nil {
		try(f.Close())
	}
	try(r.Rename("f", "g"))
	try(r.Link("g", "h"))
	try(r.Symlink("g", "l"))
	try(errOf2(r.Readlink("l")))
	try(errOf2(r.Lstat("g")))
	try(errOf2(r.ReadDir(".")))
	try(r.Chmod("g", 0o400))
	try(r.Chown("g", 1, 2))
	try(r.Chtimes("g", 5))
	try(r.SetXattr("g", vfs.Xattr{Name: "user.x"}))
	try(errOf2(r.Xattrs("g")))
	try(errOf2(r.Space(".")))
	l, err := r.Lock("lock", true)
	try(err)
	if err == nil {
		try(l.Unlock())
	}
	l, err = r.Lock("lock", false)
	try(err)
	if err == nil {
		try(l.Unlock())
	}
	try(r.Remove("h"))
	try(r.SyncDir("."))
	try(fsys.SyncFS("/"))
	return errs
}

const everyChange = `mkdir /d
create /d/f
write /d/f 3
write /d/f 2
truncate /d/f 2
sync /d/f
truncate /d/f 0
rename /d/f /d/g
link /d/g /d/h
symlink /d/l -> g
chmod /d/g
chown /d/g
utimes /d/g
setxattr /d/g
create /d/lock
remove /d/h
syncdir /d
syncfs /
`

func TestLog(t *testing.T) {
	var b strings.Builder
	fsys := vfs.Log(vfs.NewMem(), func(line string) { b.WriteString(line + "\n") })
	for _, err := range everyCall(fsys) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if b.String() != everyChange {
		t.Errorf("got\n%s", b.String())
	}
	b.Reset()
	_ = fsys.Mkdir("/.tmp-0123456789abcdef", 0o700)
	if got := b.String(); got != "mkdir /.tmp-*\n" {
		t.Errorf("got %q", got)
	}
}

// TestMemCountsWhatLogShows compares the two ways to count.
func TestMemCountsWhatLogShows(t *testing.T) {
	m := vfs.NewMem()
	everyCall(m)
	if want := strings.Count(everyChange, "\n"); m.Calls() != want {
		t.Errorf("%d calls, want %d", m.Calls(), want)
	}
}

// TestInjectEveryCall fails each call in turn, reading ones too.
func TestInjectEveryCall(t *testing.T) {
	all := func(vfs.Call) bool { return true }
	seen := map[vfs.Op]bool{}
	for n := 1; ; n++ {
		bad := vfs.Inject(vfs.NewMem(), vfs.Rule{Match: all, Nth: n, Err: syscall.EIO})
		errs := everyCall(bad)
		failed := bad.Failed()
		if len(failed) == 0 {
			if bad.Calls() != n-1 {
				t.Errorf("%d calls, want %d", bad.Calls(), n-1)
			}
			break
		}
		seen[failed[0].Op] = true
		found := false
		for _, err := range errs {
			found = found || errors.Is(err, syscall.EIO)
		}
		if !found {
			t.Errorf("%v failed, and nobody was told", failed[0])
		}
	}
	if len(seen) != 25 {
		t.Errorf("%d kinds of calls, want 25: %v", len(seen), seen)
	}
}

func TestInjectSticky(t *testing.T) {
	writes := func(c vfs.Call) bool { return c.Op == vfs.OpWrite }
	m := vfs.NewMem()
	bad := vfs.Inject(m, vfs.Rule{Match: writes, Nth: 2, Err: syscall.ENOSPC, Sticky: true})
	p := &place{bad, t, ""}
	f, err := bad.OpenFile("/f", os.O_RDWR|os.O_CREATE, 0o600)
	p.ok(err)
	_, err = f.Write([]byte("1"))
	p.ok(err)
	for range 3 {
		p.fails(errOf(f.Write([]byte("2"))), syscall.ENOSPC)
	}
	p.ok(f.Sync())
	p.equal(p.read("/f"), "1")
	p.equal(bad.Calls(), 4)
	p.equal(len(bad.Failed()), 3)
}

func TestInjectShortWrite(t *testing.T) {
	bad := vfs.Inject(vfs.NewMem(), vfs.Rule{Nth: 2, Err: &vfs.ShortWrite{Err: syscall.ENOSPC}})
	p := &place{bad, t, ""}
	f, err := bad.OpenFile("/f", os.O_RDWR|os.O_CREATE, 0o600)
	p.ok(err)
	n, err := f.Write([]byte("abcdef"))
	p.equal(n, 3)
	p.fails(err, syscall.ENOSPC)
	n, err = f.Write([]byte("DEF"))
	p.equal(n, 3)
	p.ok(err)
	p.equal(p.read("/f"), "abcDEF")
}

// TestHookActsInBetween plants a file just before an exclusive creation.
func TestHookActsInBetween(t *testing.T) {
	m := vfs.NewMem()
	fsys := vfs.Hook(m, func(c vfs.Call) error {
		if c.Op == vfs.OpCreate {
			return m.Symlink("elsewhere", c.Name)
		}
		return nil
	})
	p := &place{fsys, t, ""}
	p.fails(errOf2(fsys.OpenFile("/f", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)), os.ErrExist)
}
