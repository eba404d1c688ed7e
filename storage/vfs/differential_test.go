package vfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"forklift/storage/vfs"
)

// TestMemDoesWhatTheDiskDoes makes the same random calls in a directory of
// the disk and in memory, and compares every answer and what is left.
func TestMemDoesWhatTheDiskDoes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range uint64(20) {
		dir, m := t.TempDir(), vfs.NewMem()
		if err := m.Mkdir("/d", 0o700); err != nil {
			t.Fatal(err)
		}
		// The whole file system follows links in the middle of names.
		a := &walker{fsys: vfs.OS(), rand: rand.New(rand.NewPCG(seed, round)), dir: dir + "/"}
		b := &walker{fsys: m, rand: rand.New(rand.NewPCG(seed, round)), dir: "/d/"}
		compare(t, a, b)
		// A Root does not.
		disk, err := vfs.OS().OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		mem, err := vfs.NewMem().OpenRoot("/")
		if err != nil {
			t.Fatal(err)
		}
		a.fsys, a.dir, b.fsys, b.dir = disk, "", mem, ""
		compare(t, a, b)
		if err := errors.Join(disk.Close(), mem.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// compare lets two walkers go the same way.
func compare(t *testing.T, disk, mem *walker) {
	t.Helper()
	var calls []string
	for range 400 {
		call, got := disk.step()
		_, want := mem.step()
		calls = append(calls, call+" = "+got)
		if got != want {
			t.Fatalf("the disk says %s, the memory %s, after\n%s", got, want, strings.Join(calls, "\n"))
		}
	}
	if got, want := disk.tree("."), mem.tree("."); got != want {
		t.Fatalf("left on the disk\n%s\nin memory\n%s\nafter\n%s", got, want, strings.Join(calls, "\n"))
	}
}

// walker makes random calls.
type walker struct {
	fsys vfs.FS
	rand *rand.Rand
	dir  string // before all names
}

// name picks one of few names, so that calls meet each other.
func (w *walker) name() string {
	elems := []string{"a", "b", "c", "d/a", "d/b", "d", "d/e", "d/e/a", "l", "l/a", "a/b", "."}
	return elems[w.rand.IntN(len(elems))]
}

// step makes one call and gives it and its answer as text.
func (w *walker) step() (call, answer string) {
	from, to := w.name(), w.name()
	a, b := w.dir+from, w.dir+to
	switch w.rand.IntN(16) {
	case 0, 1:
		return "mkdir " + from, say("", w.fsys.Mkdir(a, 0o700))
	case 2:
		return "remove " + from, say("", w.fsys.Remove(a))
	case 3, 4:
		return "rename " + from + " " + to, say("", w.fsys.Rename(a, b))
	case 5:
		answer = say("", w.fsys.Link(a, b))
		if answer == "ELOOP or ENOTDIR" {
			answer = syscall.ENOENT.Error() // which of two wrong names is named is open
		}
		return "link " + from + " " + to, answer
	case 6:
		return "symlink " + from + " " + to, say("", w.fsys.Symlink(from, b))
	case 7:
		mode := fs.FileMode(w.rand.IntN(0o1000))
		return "chmod " + from, say("", w.fsys.Chmod(a, mode))
	case 8:
		target, err := w.fsys.Readlink(a)
		return "readlink " + from, say(target, err)
	case 9:
		list, err := w.fsys.ReadDir(a)
		return "readdir " + from, say(fmt.Sprint(list), err)
	case 10:
		info, err := w.fsys.Lstat(a)
		return "lstat " + from, say(describe(info), err)
	case 11:
		root, err := w.fsys.OpenRoot(a)
		if err == nil {
			err = root.Close()
		}
		return "openroot " + from, say("", err)
	}
	flags := []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_EXCL,
		os.O_RDWR | os.O_CREATE | os.O_TRUNC, os.O_WRONLY | os.O_APPEND | os.O_CREATE}
	flag := flags[w.rand.IntN(len(flags))]
	return fmt.Sprintf("open %s %x", from, flag), w.use(a, flag)
}

// use opens a file and makes a few calls with it.
func (w *walker) use(name string, flag int) string {
	size, off, cut := w.rand.IntN(6000), w.rand.Int64N(9000), w.rand.Int64N(9000)
	f, err := w.fsys.OpenFile(name, flag, 0o600)
	if err != nil {
		return say("", err)
	}
	n, err := f.Write(make([]byte, size))
	answers := []string{say(fmt.Sprint(n), err)}
	n, err = f.WriteAt([]byte("at"), off)
	answers = append(answers, say(fmt.Sprint(n), err), say("", f.Truncate(cut)))
	n, err = f.ReadAt(make([]byte, 100), off)
	answers = append(answers, say(fmt.Sprint(n), err))
	n, err = f.Read(make([]byte, 100))
	answers = append(answers, say(fmt.Sprint(n), err))
	info, err := f.Stat()
	answers = append(answers, say(describe(info), err), say("", f.Close()))
	return strings.Join(answers, ", ")
}

// describe tells what both file systems must agree on.
func describe(i vfs.Info) string {
	if i.IsDir() || i.IsSymlink() {
		return fmt.Sprint(i.Name, i.Mode.Type())
	}
	return fmt.Sprint(i.Name, i.Mode, i.Size, i.Nlink)
}

// say gives an answer or its error, with the errors that file systems choose
// freely between made one.
func say(answer string, err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return answer + " ok"
	case err == io.EOF:
		return answer + " EOF"
	case errors.Is(err, fs.ErrInvalid):
		return "invalid"
	case !errors.As(err, &errno):
		return "error"
	case slices.Contains([]syscall.Errno{syscall.ELOOP, syscall.ENOTDIR}, errno):
		return "ELOOP or ENOTDIR"
	case slices.Contains([]syscall.Errno{syscall.ENOTEMPTY, syscall.EEXIST}, errno):
		return "ENOTEMPTY or EEXIST"
	}
	return errno.Error()
}

// tree is all there is as text.
func (w *walker) tree(dir string) string {
	list, err := w.fsys.ReadDir(w.dir + dir)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, e := range list {
		name := strings.TrimPrefix(dir+"/"+e.Name, "./")
		info, err := w.fsys.Lstat(w.dir + name)
		fmt.Fprintln(&b, name, describe(info), err)
		switch {
		case e.Type.IsDir():
			b.WriteString(w.tree(name))
		case e.Type.IsRegular():
			f, err := w.fsys.OpenFile(w.dir+name, os.O_RDONLY, 0)
			if err != nil {
				return err.Error()
			}
			data, err := io.ReadAll(f)
			fmt.Fprintln(&b, strings.ReplaceAll(string(data), "\x00", ""), len(data), err, f.Close())
		}
	}
	return b.String()
}
