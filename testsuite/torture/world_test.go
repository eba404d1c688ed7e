package torture

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// saved is a copy of a directory tree to which the original can be put back
// quickly: only what changed since is written again. A file counts as
// unchanged while its inode and its change time are, which no program can
// set, so that what Forklift remembers about files stays as true as it was.
type saved struct {
	live, copy string
	known      map[string]stamp
}

// stamp identifies a version of a file.
type stamp struct {
	ino         uint64
	ctime       int64
	mode        fs.FileMode
	size, mtime int64
}

// save copies everything in live to copy, which must not exist.
func save(t *testing.T, live, copyDir string) *saved {
	t.Helper()
	s := &saved{live: live, copy: copyDir}
	s.known = map[string]stamp{}
	s.mirror(t, live, copyDir, func(string) bool { return true }, nil)
	s.stampAll(t)
	return s
}

// reset makes live what it was when it was saved.
func (s *saved) reset(t *testing.T) {
	t.Helper()
	changed := func(rel string) bool {
		now, err := stampOf(filepath.Join(s.live, rel))
		return err != nil || now != s.known[rel]
	}
	s.prune(t)
	again := map[string]bool{}
	s.mirror(t, s.copy, s.live, changed, again)
	for rel := range again {
		now, err := stampOf(filepath.Join(s.live, rel))
		if err != nil {
			t.Fatal(err)
		}
		s.known[rel] = now
	}
}

// prune removes what live has and copy has not, or has as another type.
func (s *saved) prune(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(s.live, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.live, name)
		if err != nil {
			return err
		}
		info, err := os.Lstat(filepath.Join(s.copy, rel))
		if err == nil && info.Mode().Type() == d.Type() {
			return nil
		}
		if err := os.RemoveAll(name); err != nil {
			return err
		}
		if d.IsDir() {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mirror copies from one tree to the other what changed says, and notes those
// paths in again.
func (s *saved) mirror(t *testing.T, from, to string, changed func(string) bool, again map[string]bool) {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			dirs = append(dirs, rel)
			now, err := os.Lstat(target)
			if err == nil && now.Mode() == info.Mode() {
				return nil
			}
			if err := os.Mkdir(target, 0o700); err != nil && !os.IsExist(err) {
				return err
			}
			return os.Chmod(target, info.Mode()&^fs.ModeType)
		}
		if !changed(rel) {
			return nil
		}
		if again != nil {
			again[rel] = true
		}
		return copyOne(name, target, info)
	})
	if err != nil {
		t.Fatal(err)
	}
	// Directories get their times last, innermost first.
	for i := len(dirs) - 1; i >= 0; i-- {
		info, err := os.Stat(filepath.Join(from, dirs[i]))
		if err != nil {
			t.Fatal(err)
		}
		// Those that are right are left alone: Forklift looks at change times.
		target := filepath.Join(to, dirs[i])
		if now, err := os.Stat(target); err == nil && now.ModTime().Equal(info.ModTime()) {
			continue
		}
		if err := os.Chtimes(target, time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
}

// copyOne makes target a new file (or link) that equals name; sockets and
// FIFOs are not part of a world at rest.
func copyOne(name, target string, info fs.FileInfo) error {
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := os.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(link, target)
	case !info.Mode().IsRegular():
		return nil
	}
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	if err := os.Chmod(target, info.Mode()&^fs.ModeType); err != nil {
		return err
	}
	return os.Chtimes(target, time.Time{}, info.ModTime())
}

// stampAll notes every file of live.
func (s *saved) stampAll(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(s.live, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.live, name)
		if err != nil {
			return err
		}
		s.known[rel], err = stampOf(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stampOf identifies the present version of a file.
func stampOf(name string) (stamp, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return stamp{}, err
	}
	sys := info.Sys().(*syscall.Stat_t)
	return stamp{ino: uint64(sys.Ino), ctime: ctime(sys), mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}, nil
}

func TestResetPutsEverythingBack(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(live, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/one", "1")
	write("a/two", "2")
	write("b/deep/three", "3")
	if err := os.Symlink("a/one", filepath.Join(live, "link")); err != nil {
		t.Fatal(err)
	}
	want := describeTree(t, live)
	s := save(t, live, filepath.Join(dir, "copy"))
	for range 2 {
		write("a/one", "changed")
		write("a/new", "new")
		for _, name := range []string{"a/two", "b", "link"} {
			if err := os.RemoveAll(filepath.Join(live, name)); err != nil {
				t.Fatal(err)
			}
		}
		write("b", "a file where a directory was")
		write("link/x", "a directory where a link was")
		s.reset(t)
		if got := describeTree(t, live); got != want {
			t.Fatalf("after reset:\n%s\nwant:\n%s", got, want)
		}
	}
}
