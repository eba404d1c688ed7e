package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openDir opens a directory for the tests of the ways that this kernel does
// not need.
func openDir(t *testing.T, name string) int {
	t.Helper()
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func TestWalkBeneath(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"a/within": "b", "a/out": "/", "a/up": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a/f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	top := openDir(t, dir)
	want := map[string]error{"a": nil, "a/b/c": nil, "a/no/c": syscall.ENOENT, "a/f": syscall.ENOTDIR, "a/f/c": syscall.ENOTDIR,
		"a/within": syscall.ELOOP, "a/within/c": syscall.ELOOP, "a/out/etc": syscall.ELOOP, "a/up/a": syscall.ELOOP}
	for name, wantErr := range want {
		for way, open := range map[string]func(int, string) (int, error){"walk": walkBeneath, "openat2": openBeneath} {
			fd, err := open(top, name)
			if err == nil {
				_ = unix.Close(fd)
			}
			if err == syscall.ENOTDIR && wantErr == syscall.ELOOP {
				continue // the walk cannot tell a link from a file
			}
			if err != wantErr {
				t.Errorf("%s %s: %v, want %v", way, name, err, wantErr)
			}
		}
	}
}

func TestChmodProc(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "f"), filepath.Join(dir, "l")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", link); err != nil {
		t.Fatal(err)
	}
	top := openDir(t, dir)
	if err := chmodProc(top, "f", 0o4751); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o751|fs.ModeSetuid {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := chmodProc(top, "l", 0o600); err != syscall.ELOOP {
		t.Errorf("a link gave %v", err)
	}
	if err := chmodProc(top, "no", 0o600); err != syscall.ENOENT {
		t.Errorf("nothing gave %v", err)
	}
}

func TestReleaseReports(t *testing.T) {
	for release, want := range map[string]bool{"6.18.44-x": true, "5.8.0": true, "5.7.19": false, "4.19.0": false, "10.0": true, "5": false, "": false, "x.y": false} {
		if got := releaseReports(release); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}

// dirent is one entry as getdents gives it.
func dirent(inode byte, kind byte, name string) []byte {
	b := make([]byte, (direntMin+len(name)+1+7)/8*8)
	b[0], b[16], b[18] = inode, byte(len(b)), kind
	copy(b[direntMin:], name)
	return b
}

func TestParseDirents(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	fd := openDir(t, dir)
	var b []byte
	for _, d := range [][]byte{dirent(1, unix.DT_DIR, "."), dirent(1, unix.DT_DIR, ".."), dirent(9, unix.DT_REG, "f"), dirent(0, unix.DT_REG, "deleted"),
		dirent(9, unix.DT_LNK, "link"), dirent(9, unix.DT_FIFO, "fifo"), dirent(9, unix.DT_UNKNOWN, "sub"), dirent(9, unix.DT_UNKNOWN, "gone")} {
		b = append(b, d...)
	}
	list, err := parseDirents(nil, fd, b)
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{"f", 0}, {"link", fs.ModeSymlink}, {"fifo", fs.ModeNamedPipe}, {"sub", fs.ModeDir}}
	if len(list) != len(want) {
		t.Fatalf("got %v", list)
	}
	for i := range want {
		if list[i] != want[i] {
			t.Errorf("got %v, want %v", list[i], want[i])
		}
	}
	bad := dirent(9, unix.DT_REG, "x")
	bad[16] = 200
	if _, err := parseDirents(nil, fd, bad); !errors.Is(err, syscall.EIO) {
		t.Errorf("a wrong length gave %v", err)
	}
}
