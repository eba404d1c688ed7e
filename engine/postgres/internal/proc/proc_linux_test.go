package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// child starts a program that ends with the test, in a directory, with a file open.
func child(t *testing.T, dir string, file *os.File) int {
	t.Helper()
	cmd := exec.Command("cat")
	cmd.Dir, cmd.ExtraFiles = dir, []*os.File{file}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

func TestWhoHasWhat(t *testing.T) {
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "lock")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pid := child(t, dir, file)

	holders, err := Holders(name)
	if err != nil || !slices.Equal(holders, []int{pid}) {
		t.Errorf("holders %v %v, want %d", holders, err, pid)
	}
	if has, err := Holds(pid, name); err != nil || !has {
		t.Errorf("holds: %v %v", has, err)
	}
	if has, err := Holds(pid, dir); err != nil || has {
		t.Errorf("holds what it does not: %v %v", has, err)
	}
	in, err := InDir(dir)
	if err != nil || !slices.Equal(in, []int{pid}) {
		t.Errorf("in the directory %v %v, want %d", in, err, pid)
	}
	if same, err := SameDir(pid, t.TempDir()); err != nil || same {
		t.Errorf("in another directory: %v %v", same, err)
	}
	if _, err := SameDir(1<<30, dir); err == nil {
		t.Error("it is known where a process works that is not there")
	}
	if got := Command(pid); got != "cat" {
		t.Errorf("command %q", got)
	}
	if children, err := Children(os.Getpid()); err == nil && !slices.Contains(children, pid) {
		// A child belongs to the thread that started it; the main one has others.
		t.Logf("children of the main thread: %v", children)
	}
	if !strings.HasPrefix(Namespace(), "pid:[") {
		t.Errorf("namespace %q", Namespace())
	}
}
