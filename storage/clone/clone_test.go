package clone

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"forklift/storage/vfs"
)

// pair makes a source with content and an empty destination.
func pair(t *testing.T, fsys vfs.FS, dir string, content []byte) (dst, src vfs.File) {
	t.Helper()
	open := func(name string) vfs.File {
		f, err := fsys.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	dst, src = open("dst"), open("src")
	if _, err := src.Write(content); err != nil {
		t.Fatal(err)
	}
	return dst, src
}

// check compares the two.
func check(t *testing.T, dst vfs.File, want []byte) {
	t.Helper()
	got, err := io.ReadAll(io.NewSectionReader(dst, 0, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, want %d others", len(got), len(want))
	}
}

// contents are files of telling sizes.
func contents(t *testing.T) [][]byte {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var all [][]byte
	for _, size := range []int{0, 1, 4096, 8192*3 + 5, copyBytes, copyBytes*2 + 1} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		all = append(all, b)
	}
	return all
}

func TestFile(t *testing.T) {
	for _, want := range contents(t) {
		for dir, fsys := range map[string]vfs.FS{t.TempDir(): vfs.OS(), "/": vfs.NewMem()} {
			dst, src := pair(t, fsys, dir, want)
			if err := File(dst, src); err != nil {
				t.Fatal(err)
			}
			check(t, dst, want)
		}
	}
}

// TestMethods tries each way alone, also where a better one exists.
func TestMethods(t *testing.T) {
	for _, want := range contents(t) {
		for _, copyBy := range methods {
			dst, src := pair(t, vfs.OS(), t.TempDir(), want)
			done, next, err := copyBy(osFile(dst), osFile(src), int64(len(want)))
			if err != nil {
				t.Fatal(err)
			}
			if !next && done != int64(len(want)) {
				t.Fatalf("done after %d of %d bytes", done, len(want))
			}
			check(t, dst, want[:done])
			if err := byHand(dst, src, done); err != nil {
				t.Fatal(err)
			}
			check(t, dst, want)
		}
	}
}

func TestErrors(t *testing.T) {
	dst, src := pair(t, vfs.OS(), t.TempDir(), []byte("x"))
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if err := File(dst, src); !errors.Is(err, os.ErrClosed) && !errors.Is(err, syscall.EBADF) {
		t.Errorf("a closed source gave %v", err)
	}
	m := vfs.NewMem()
	for n := 1; ; n++ {
		bad := vfs.Inject(m, vfs.Rule{Nth: n, Err: syscall.ENOSPC, Match: func(c vfs.Call) bool {
			return c.Op == vfs.OpWrite && c.Name == "/dst"
		}})
		dst, src := pair(t, bad, "/", make([]byte, copyBytes+1))
		err := File(dst, src)
		if len(bad.Failed()) == 0 {
			if err != nil || n != 3 {
				t.Fatalf("run %d: %v", n, err)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("a full disk gave %v", err)
		}
	}
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	t.Logf("%s shares blocks: %v", dir, Probe(vfs.OS(), dir))
	if Probe(vfs.NewMem(), "/") {
		t.Error("the memory shares blocks")
	}
	if Probe(vfs.OS(), filepath.Join(dir, "absent")) {
		t.Error("an absent directory shares blocks")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestAcrossFileSystems copies from memory-backed storage to the disk, where
// the machine has such.
func TestAcrossFileSystems(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "clone-test-")
	if err != nil {
		other = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(other) })
	for _, want := range contents(t) {
		dst, _ := pair(t, vfs.OS(), t.TempDir(), nil)
		_, src := pair(t, vfs.OS(), other, want)
		if err := File(dst, src); err != nil {
			t.Fatal(err)
		}
		check(t, dst, want)
	}
}
