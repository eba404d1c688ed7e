package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// SameDir reports that pid's working directory is dir, which all processes of
// a server have. An error means that it cannot be told.
func SameDir(pid int, dir string) (bool, error) {
	var theirs, ours syscall.Stat_t
	if err := syscall.Stat(dir, &ours); err != nil {
		return false, fmt.Errorf("stat %s: %w", dir, err)
	}
	if err := syscall.Stat(fmt.Sprintf("/proc/%d/cwd", pid), &theirs); err != nil {
		return false, fmt.Errorf("working directory of process %d: %w", pid, err)
	}
	return theirs.Dev == ours.Dev && theirs.Ino == ours.Ino, nil
}

// InDir lists the processes that work in dir.
func InDir(dir string) ([]int, error) {
	var found []int
	err := each(func(pid int) {
		if same, err := SameDir(pid, dir); err == nil && same {
			found = append(found, pid)
		}
	})
	return found, err
}

// Holds reports that pid has the file name open.
func Holds(pid int, name string) (bool, error) {
	var ours syscall.Stat_t
	if err := syscall.Stat(name, &ours); err != nil {
		return false, fmt.Errorf("stat %s: %w", name, err)
	}
	return holds(pid, ours)
}

func holds(pid int, ours syscall.Stat_t) (bool, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("open files of process %d: %w", pid, err)
	}
	for _, e := range entries {
		var theirs syscall.Stat_t
		if syscall.Stat(filepath.Join(dir, e.Name()), &theirs) == nil && theirs.Dev == ours.Dev && theirs.Ino == ours.Ino {
			return true, nil
		}
	}
	return false, nil
}

// Holders lists the processes that have the file name open, as far as they
// are ours to look at; this one is not among them.
func Holders(name string) ([]int, error) {
	var ours syscall.Stat_t
	if err := syscall.Stat(name, &ours); err != nil {
		return nil, fmt.Errorf("stat %s: %w", name, err)
	}
	var found []int
	err := each(func(pid int) {
		if pid == os.Getpid() {
			return
		}
		if has, err := holds(pid, ours); err == nil && has {
			found = append(found, pid)
		}
	})
	return found, err
}

// Listeners lists the processes that listen on a TCP port, as far as they are
// ours to look at.
func Listeners(port int) []int {
	sockets := map[string]bool{}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line) // number, local address, remote address, state, ..., inode
			if len(f) > 9 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	var found []int
	_ = each(func(pid int) {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && sockets[to] {
				found = append(found, pid)
				return
			}
		}
	})
	return found
}

// Children lists the child processes of pid.
func Children(pid int) ([]int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, fmt.Errorf("children of process %d: %w", pid, err)
	}
	var found []int
	for _, f := range strings.Fields(string(data)) {
		if child, err := strconv.Atoi(f); err == nil {
			found = append(found, child)
		}
	}
	return found, nil
}

// Command is the command line of pid, its parts separated by spaces; "" when
// it cannot be told.
func Command(pid int) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCommandBytes))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(bytes.ReplaceAll(data, []byte{0}, []byte{' '})))
}

// Namespace names the pid namespace of this process: process numbers of
// another one mean nothing here.
func Namespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// each calls f with every process number.
func each(f func(pid int)) error {
	dir, err := os.Open("/proc")
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil {
				f(pid)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list processes: %w", err)
		}
	}
}
