package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"forklift/storage/vfs"
)

func TestFifosAndSockets(t *testing.T) {
	p := &place{vfs.OS(), t, t.TempDir()}
	p.ok(syscall.Mkfifo(p.at("fifo"), 0o600))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	p.ok(err)
	defer syscall.Close(fd)
	p.ok(syscall.Bind(fd, &syscall.SockaddrUnix{Name: p.at("socket")}))
	list, err := p.ReadDir(p.dir)
	p.ok(err)
	p.equal(list[0], vfs.Entry{Name: "fifo", Type: fs.ModeNamedPipe})
	p.equal(list[1], vfs.Entry{Name: "socket", Type: fs.ModeSocket})
	f, err := p.OpenFile(p.at("fifo"), os.O_RDONLY, 0) // nobody writes: must not wait
	p.ok(err)
	i, err := f.Stat()
	p.ok(err)
	p.equal(i.Mode.Type(), fs.ModeNamedPipe)
	p.equal(i.IsRegular(), false)
	p.ok(f.Close())
	p.fails(errOf2(p.OpenFile(p.at("fifo"), os.O_WRONLY, 0)), syscall.ENXIO)
	p.fails(errOf2(p.OpenFile(p.at("socket"), os.O_RDONLY, 0)), syscall.ENXIO, syscall.EOPNOTSUPP)
	i, err = p.Lstat("/dev/null")
	p.ok(err)
	p.equal(i.Mode.Type(), fs.ModeDevice|fs.ModeCharDevice)
}

// TestLockIsInherited checks that a child keeps a lock whose file it was
// given, and that a lock that nobody was given is free at once.
func TestLockIsInherited(t *testing.T) {
	p := &place{vfs.OS(), t, t.TempDir()}
	l, err := p.Lock(p.at("live"), true)
	p.ok(err)
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{l.File()}
	in, err := child.StdinPipe()
	p.ok(err)
	p.ok(child.Start())
	p.ok(l.Unlock())
	p.fails(errOf2(p.Lock(p.at("live"), false)), vfs.ErrLocked)
	p.ok(in.Close())
	p.ok(child.Wait())
	l, err = p.Lock(p.at("live"), true)
	p.ok(err)
	p.ok(l.Unlock())
}

// TestLockFilesThatAreRemoved lets several take turns, each of which removes
// the lock file while it holds the lock. Never do two hold it.
func TestLockFilesThatAreRemoved(t *testing.T) {
	p := &place{vfs.OS(), t, t.TempDir()}
	var inside sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for won := 0; won < 50; {
				l, err := p.Lock(p.at("lock"), true)
				if errors.Is(err, vfs.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				won++
				if !inside.TryLock() {
					t.Error("two hold the lock")
					return
				}
				inside.Unlock()
				if err := p.Remove(p.at("lock")); err != nil {
					t.Error(err)
				}
				if err := l.Unlock(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestRootAgainstAMovingTarget swaps a directory for a link to the outside
// all the time while files are made and removed in it.
func TestRootAgainstAMovingTarget(t *testing.T) {
	base := t.TempDir()
	outside, inside := filepath.Join(base, "out"), filepath.Join(base, "in")
	p := &place{vfs.OS(), t, base}
	p.ok(p.Mkdir(outside, 0o700))
	p.write("out/precious", "x")
	p.ok(p.Mkdir(inside, 0o700))
	p.ok(p.Mkdir(inside+"/d", 0o700))
	p.ok(p.Symlink("../out", inside+"/l"))
	r, err := p.OpenRoot(inside)
	p.ok(err)
	defer r.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			// d is now the directory, now the link.
			for _, move := range [][2]string{{"/d", "/x"}, {"/l", "/d"}, {"/d", "/l"}, {"/x", "/d"}} {
				if err := os.Rename(inside+move[0], inside+move[1]); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	worked := 0
	for range 3000 {
		f, err := r.OpenFile("d/new", os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			worked++
			p.ok(f.Close())
		}
		_ = r.Mkdir("d/dir", 0o700)
		_ = r.Remove("d/dir")
		_ = r.Remove("d/precious")
		_ = r.Rename("d/precious", "stolen")
		_ = r.Chmod("d/precious", 0)
		_ = r.Remove("d/new")
	}
	close(stop)
	wg.Wait()
	t.Logf("%d of 3000 files made", worked)
	p.equal(p.list("out"), "precious")
	p.equal(p.stat("out/precious").Mode, fs.FileMode(0o600))
}

func TestMkdirUndoesTheUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	p := &place{vfs.OS(), t, t.TempDir()}
	p.ok(p.Mkdir(p.at("d"), 0o755))
	p.equal(p.stat("d").Mode, fs.ModeDir|0o755)
	p.write("f", "") // but files are made by the rules of the user
	p.equal(p.stat("f").Mode, fs.FileMode(0o600))
}

func TestFilesOfTheDiskAreFilesOfTheSystem(t *testing.T) {
	type osFile interface{ OSFile() *os.File }
	p := &place{vfs.OS(), t, t.TempDir()}
	for _, fsys := range []vfs.FS{p.FS, vfs.Hook(p.FS, func(vfs.Call) error { return nil })} {
		f, err := fsys.OpenFile(p.at("f"), os.O_WRONLY|os.O_CREATE, 0o600)
		p.ok(err)
		p.equal(f.(osFile).OSFile().Name(), p.at("f"))
		p.ok(f.Close())
	}
	f, err := vfs.Hook(vfs.NewMem(), func(vfs.Call) error { return nil }).OpenFile("/", os.O_RDONLY, 0)
	p.ok(err)
	p.equal(f.(osFile).OSFile() == nil, true)
}

// TestCloseOfARootInUse closes Roots while others work in them. Nobody waits
// forever, and no call lands in another directory.
func TestCloseOfARootInUse(t *testing.T) {
	for _, base := range []vfs.FS{vfs.OS(), vfs.NewMem()} {
		dir := "/"
		if _, mem := base.(*vfs.Mem); !mem {
			dir = t.TempDir()
		}
		for range 50 {
			r, err := base.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for {
						err := r.Rename("a", "b")
						if errors.Is(err, fs.ErrClosed) {
							return
						}
						if !errors.Is(err, fs.ErrNotExist) {
							t.Error(err)
							return
						}
					}
				})
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			wg.Wait()
		}
	}
}
