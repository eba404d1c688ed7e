package worktree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// repository makes a git repository on the real disk whose tracked and other
// files are outside of src, and gives its directory.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	git(t, dir, "init", "-q")
	plant(t, vfs.OS(), dir, tree{"README": file("readme"), "lib/x": file("lib"), "lib/bin": fileMode("#!", 0o755), ".forklift.json": file("{}"), "untracked": file("u")})
	git(t, dir, "add", "README", "lib")
	git(t, dir, "commit", "-q", "-m", "one")
	write(t, vfs.OS(), dir+"/README", "changed")
	git(t, dir, "stash", "-q")
	write(t, vfs.OS(), dir+"/lib/x", "staged")
	git(t, dir, "add", "lib/x")
	return dir
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// fingerprint describes everything in dir but the given top-level names:
// types, modes, times, contents.
func fingerprint(t testing.TB, dir string, but ...string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		check(t, err)
		rel, err := filepath.Rel(dir, p)
		check(t, err)
		for _, name := range but {
			if rel == name {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		info, err := d.Info()
		check(t, err)
		if rel == "." {
			return nil // its time changes with what is made and removed in it
		}
		fmt.Fprintf(&b, "%q %v %d %d", rel, info.Mode(), info.ModTime().UnixNano(), info.Sys().(*syscall.Stat_t).Ino)
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			check(t, err)
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			check(t, err)
			fmt.Fprintf(&b, " -> %q", target)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// oddTree has everything that a source tree can have.
func oddTree() tree {
	return tree{
		"src/plain":                             file("plain"),
		"src/sp ace":                            file("space"),
		"src/new\nline":                         file("newline"),
		"src/\xff\xfe":                          file("bytes"),
		"src/ünïcode":                           file("unicode"),
		"src/-dash":                             file("dash"),
		"src/[a]*?":                             file("pattern"),
		"src/exec":                              fileMode("#!/bin/sh\n", 0o755),
		"src/private":                           fileMode("secret", 0o600),
		"src/readonly":                          fileMode("ro", 0o444),
		"src/empty file":                        file(""),
		"src/empty dir":                         dirOf(0o755),
		"src/locked":                            dirOf(0o555),
		"src/locked/in":                         file("in a read-only directory"),
		"src/deep/er/and/deeper":                file("deep"),
		"src/link":                              link("plain"),
		"src/dangling":                          link("../nowhere"),
		"src/outside":                           link("/etc/passwd"),
		"src/up":                                link(".."),
		"src/loop":                              link("loop"),
		"src/large":                             file(strings.Repeat("0123456789abcdef", 1<<17)),
		"src/" + strings.Repeat("long", 60):     file("long"),
		"src/dir\xff/x":                         file("in a directory of bytes"),
		"src/a":                                 dirOf(0o755),
		"src/a.b":                               file("sorts between a and a/..."),
		"src/a/b":                               file("b"),
		"src/.hidden":                           file("hidden"),
		"src/.gitignore":                        file("*.o\n"),
		"src/git":                               file("not .git"),
		"migrations/001.sql":                    file("create table t ();"),
		"migrations/sub/.keep":                  file(""),
		"src/" + strings.Repeat("n/", 40) + "x": file("nested"),
	}.parents()
}

// TestOddTreeComesBack saves everything, changes everything, restores, and
// undoes, on the real disk, and wants everything outside the sources byte for
// byte and with their times.
func TestOddTreeComesBack(t *testing.T) {
	dir, fsys, w := repository(t), vfs.OS(), newWorld(t)
	want := oddTree()
	if err := tryXattr(fsys, dir); err == nil {
		x := file("with an attribute")
		x.xattrs = "user.comment=\x00bytes\xff"
		want["src/attr"] = x
	}
	plant(t, fsys, dir, want)
	rules := sel("src", "migrations")
	target := w.scan(fsys, dir, rules, nil, nil)
	outside := fingerprint(t, dir, "src", "migrations")

	// Change a part, turn some into something else, add and remove.
	check(t, os.Chmod(dir+"/src/locked", 0o755))
	check(t, os.Remove(dir+"/src/locked/in"))
	check(t, os.RemoveAll(dir+"/src/deep"))
	write(t, fsys, dir+"/src/deep", "now a file")
	check(t, os.Remove(dir+"/src/plain"))
	check(t, os.MkdirAll(dir+"/src/plain/now/a dir", 0o755))
	check(t, os.Remove(dir+"/src/link"))
	write(t, fsys, dir+"/src/link", "now a file")
	check(t, os.Remove(dir+"/src/up"))
	check(t, os.Mkdir(dir+"/src/up", 0o700))
	check(t, os.Remove(dir+"/src/exec"))
	check(t, os.Symlink("..", dir+"/src/exec"))
	write(t, fsys, dir+"/src/added\n", "added")
	check(t, os.Remove(dir+"/src/\xff\xfe"))
	check(t, os.Chmod(dir+"/src/private", 0o644))
	check(t, os.RemoveAll(dir+"/migrations"))
	changed := harvest(t, fsys, dir)
	kept, err := os.Lstat(dir + "/src/large")
	check(t, err)

	safety := w.safety(fsys, dir, rules, nil, target)
	list, err := w.restore(w.options(fsys, dir, safety, target))
	if err != nil || len(list) > 0 {
		t.Fatal(list, err)
	}
	wantTree(t, fsys, dir, harvest(t, fsys, dir).merge(want))
	for _, gone := range []string{"/src/added\n", "/src/plain/now"} {
		if _, err := os.Lstat(dir + gone); err == nil {
			t.Errorf("%q is still there", gone)
		}
	}
	same, err := os.Lstat(dir + "/src/large")
	if err != nil || !os.SameFile(kept, same) || !kept.ModTime().Equal(same.ModTime()) {
		t.Error("an unchanged file was touched")
	}
	if info, err := os.Lstat(dir + "/src/plain"); err != nil || info.ModTime().Year() != 2030 {
		t.Errorf("a changed file does not have the present time: %v, %v", info.ModTime(), err)
	}

	undo := w.safety(fsys, dir, rules, nil, safety)
	if list, err := w.restore(w.options(fsys, dir, undo, safety)); err != nil || len(list) > 0 {
		t.Fatal(list, err)
	}
	wantTree(t, fsys, dir, changed)
	if got := fingerprint(t, dir, "src", "migrations"); got != outside {
		t.Errorf("outside the sources\n%swant\n%s", got, outside)
	}
	noLeftovers(t, fsys, dir)
}

// tryXattr tells whether user attributes work in dir.
func tryXattr(fsys vfs.FS, dir string) error {
	probe := dir + "/untracked"
	return fsys.SetXattr(probe, vfs.Xattr{Name: "user.probe", Value: []byte("1")})
}

// TestSpecialFilesAreLeftAlone has a socket, a FIFO and nested repositories in
// the sources: they are reported, never entered, never changed.
func TestSpecialFilesAreLeftAlone(t *testing.T) {
	dir, fsys, w := repository(t), vfs.OS(), newWorld(t)
	plant(t, fsys, dir, tree{"src/a": file("a"), "src/nested/code": file("theirs"), "src/d/deep/x": file("x")})
	git(t, dir+"/src/nested", "init", "-q")
	git(t, dir, "submodule", "--quiet", "add", repository(t), "src/sub")
	mkfifo(t, dir+"/src/d/fifo")
	short, err := os.MkdirTemp("", "s")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	mksocket(t, short+"/s")
	check(t, os.Rename(short+"/s", dir+"/src/socket"))

	target := w.scan(fsys, dir, sel("src"), nil, nil)
	omitted := map[string]string{}
	for e, err := range w.store.Walk(context.Background(), target.Manifest) {
		check(t, err)
		if e.Type == storage.Omitted {
			omitted[e.Path] = e.Reason
		}
		if strings.Contains(e.Path, "nested/") || strings.Contains(e.Path, ".git") && e.Path != "src/sub/.git" {
			t.Errorf("%s was saved", e.Path)
		}
	}
	want := map[string]string{"src/nested": "repository", "src/sub": "repository", "src/d/fifo": "fifo", "src/socket": "socket"}
	if fmt.Sprint(omitted) != fmt.Sprint(want) {
		t.Errorf("left out %v, want %v", omitted, want)
	}
	before := fingerprint(t, dir, "src") + fingerprint(t, dir+"/src/nested") + fingerprint(t, dir+"/src/sub")

	// A checkpoint without any of them: they stay. The directory of the FIFO
	// cannot go.
	other := w.checkpoint(tree{"src/a": file("other"), "src/new": file("new")}, sel("src"))
	safety := w.safety(fsys, dir, sel("src"), nil, other)
	_, err = w.restore(w.options(fsys, dir, safety, other))
	check(t, err)
	got := harvestNames(t, dir+"/src")
	if want := "a d d/fifo nested new socket sub"; got != want {
		t.Errorf("the sources hold %q, want %q", got, want)
	}
	if after := fingerprint(t, dir, "src") + fingerprint(t, dir+"/src/nested") + fingerprint(t, dir+"/src/sub"); after != before {
		t.Errorf("something else changed:\n%swant\n%s", after, before)
	}

	// Checkpoints that want something in their place are refused by name.
	for p, content := range map[string]tree{
		"src/nested (repository)":      {"src/nested/code": file("mine")},
		"src/nested/code (it was left": {"src/nested/code": file("mine")},
		"src/socket (socket)":          {"src/socket": file("no")},
		"src/d/fifo (fifo)":            {"src/d": file("no")},
	} {
		bad := w.checkpoint(content, sel("src"))
		safety := w.safety(fsys, dir, sel("src"), nil, bad)
		_, err := Stage(context.Background(), w.options(fsys, dir, safety, bad))
		found := false
		for _, item := range fault.ItemsOf(err) {
			found = found || strings.Contains(item, p)
		}
		if !found && !(p == "src/nested (repository)") {
			t.Errorf("%s: %v, %q", p, err, fault.ItemsOf(err))
		}
		noLeftovers(t, fsys, dir)
	}
}

// harvestNames lists what is in a directory, not entering repositories.
func harvestNames(t testing.TB, dir string) string {
	t.Helper()
	var names []string
	check(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		check(t, err)
		if p == dir {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		check(t, err)
		names = append(names, rel)
		if _, err := os.Lstat(p + "/.git"); err == nil {
			return fs.SkipDir
		}
		return nil
	}))
	return strings.Join(names, " ")
}

// asUser is the variable that makes the test binary run one test as a user
// without rights, in a directory that is his.
const asUser = "FORKLIFT_TEST_WORKTREE_DIR"

// TestReadOnlyDirectoriesAsAUser restores into directories that their modes
// protect, as somebody whom modes bind: root runs it again as another user.
func TestReadOnlyDirectoriesAsAUser(t *testing.T) {
	dir := os.Getenv(asUser)
	if dir == "" && os.Geteuid() == 0 {
		base, err := os.MkdirTemp("", "user")
		check(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(base) })
		check(t, os.Chmod(base, 0o755))
		check(t, os.Mkdir(base+"/work", 0o755))
		check(t, os.Chown(base+"/work", 65534, 65534))
		// A directory that is not his, in a worktree that is.
		plant(t, vfs.OS(), base, tree{"foreign/.git": dirOf(0o755), "foreign/src/theirs/x": file("x"), "foreign/src/a": file("a")})
		for _, name := range []string{"foreign", "foreign/.git", "foreign/src", "foreign/src/a"} {
			check(t, os.Chown(base+"/"+name, 65534, 65534))
		}
		exe, err := os.ReadFile("/proc/self/exe")
		check(t, err)
		check(t, os.WriteFile(base+"/test", exe, 0o755))
		cmd := exec.Command(base+"/test", "-test.run", "^TestReadOnlyDirectoriesAsAUser$", "-test.v")
		cmd.Env = []string{asUser + "=" + base + "/work", "PATH=" + os.Getenv("PATH"), "HOME=" + base + "/work", "TMPDIR=" + base + "/work"}
		cmd.Dir = base + "/work"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("as uid 65534: %v\n%s", err, out)
		}
		return
	}
	if dir == "" {
		dir = t.TempDir()
	}
	readOnlyDirectories(t, dir+"/tree"+strconv.Itoa(os.Getpid()))
	if os.Getenv(asUser) != "" {
		foreignDirectory(t, filepath.Dir(dir)+"/foreign")
	}
}

// foreignDirectory has a directory among the sources that we cannot change:
// it is refused before anything is touched.
func foreignDirectory(t *testing.T, dir string) {
	fsys, w := vfs.OS(), newWorld(t)
	target := w.checkpoint(tree{"src/theirs/x": file("other"), "src/a": file("other")}, sel("src"))
	saved := w.safety(fsys, dir, sel("src"), nil, target)
	_, err := Stage(context.Background(), w.options(fsys, dir, saved, target))
	if err == nil || !strings.Contains(err.Error(), "src/theirs") || fault.HintOf(err) == "" {
		t.Errorf("a directory of somebody else: %v", err)
	}
	noLeftovers(t, fsys, dir)
}

func readOnlyDirectories(t *testing.T, dir string) {
	fsys, w := vfs.OS(), newWorld(t)
	check(t, os.MkdirAll(dir+"/.git", 0o755))
	old := tree{"src": dirOf(0o555), "src/a": file("old"), "src/ro": dirOf(0o500), "src/ro/x": fileMode("x", 0o400), "src/ro/in": dirOf(0o555), "src/ro/in/y": file("y"), "src/gone": dirOf(0o555)}
	plant(t, fsys, dir, old)
	target := w.scan(fsys, dir, sel("src"), nil, nil)
	unlock := func() {
		for _, d := range []string{"/src", "/src/ro", "/src/ro/in", "/src/gone", "/src/f"} {
			_ = os.Chmod(dir+d, 0o755)
		}
	}
	unlock()
	t.Cleanup(unlock)
	check(t, os.RemoveAll(dir+"/src"))
	now := tree{"src": dirOf(0o555), "src/a": file("new"), "src/ro": file("a file"), "src/f": dirOf(0o555), "src/f/z": fileMode("z", 0o000|0o400), "src/f/e": dirOf(0o555)}
	plant(t, fsys, dir, now)

	safety := w.safety(fsys, dir, sel("src"), nil, target)
	list, err := w.restore(w.options(fsys, dir, safety, target))
	if err != nil || len(list) > 0 {
		t.Fatal(list, err)
	}
	wantTree(t, fsys, dir, old)
	undo := w.safety(fsys, dir, sel("src"), nil, safety)
	list, err = w.restore(w.options(fsys, dir, undo, safety))
	if err != nil || len(list) > 0 {
		t.Fatal(list, err)
	}
	wantTree(t, fsys, dir, now)

	if os.Geteuid() == 0 {
		return
	}
	// A top directory that cannot be written to is refused before anything.
	check(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)
	_, err = Stage(context.Background(), w.options(fsys, dir, safety, target))
	if err == nil {
		t.Error("staged into a read-only worktree")
	}
	// An unreadable file fails the capture by name.
	check(t, os.Chmod(dir, 0o755))
	check(t, os.Chmod(dir+"/src/f/z", 0))
	rules, err := Rules(RuleOptions{FS: fsys, Dir: dir, Selection: sel("src")})
	check(t, err)
	root, err := fsys.OpenRoot(dir)
	check(t, err)
	defer root.Close()
	writer, err := w.store.NewWriter(context.Background())
	check(t, err)
	defer writer.Abort()
	if _, err = writer.Scan(context.Background(), root, rules, nil); err == nil || !strings.Contains(err.Error(), "src/f/z") {
		t.Errorf("an unreadable file: %v", err)
	}
}

// TestConfigurationStays has .forklift.json in the sources by ".", where it is
// not saved, and by name, where it is.
func TestConfigurationStays(t *testing.T) {
	for _, named := range []bool{false, true} {
		w := newWorld(t)
		s := sel(".")
		if named {
			s = sel(".", config.Name)
		}
		target := w.checkpoint(tree{"a": file("old"), config.Name: file("old config"), ".hidden": file("h"), "sub/" + config.Name: file("not at the top")}, s)
		m := w.memory(tree{"a": file("new"), config.Name: file("new config"), "b": file("b"), ".forklift-staging-old/new/1": file("left over")})
		saved := w.safety(m, top, s, nil, target)
		_, err := w.restore(w.options(m, top, saved, target))
		check(t, err)
		want := tree{"a": file("old"), config.Name: file("new config"), ".hidden": file("h"), "sub/" + config.Name: file("not at the top")}
		if named {
			want[config.Name] = file("old config")
		}
		wantTree(t, m, top, want)
	}
}
