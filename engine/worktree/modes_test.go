package worktree

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"forklift/storage"
	"forklift/storage/vfs"
)

const (
	suid   = fs.ModeSetuid
	sgid   = fs.ModeSetgid
	sticky = fs.ModeSticky
)

// TestSpecialModesComeBack restores, takes back and restores again a tree with
// setuid, setgid and sticky bits: made, removed, and set on what stays.
func TestSpecialModesComeBack(t *testing.T) {
	with := tree{
		"src/shared": dirOf(sgid | 0o775), "src/shared/child": dirOf(0o755), "src/shared/child/heir": dirOf(sgid | 0o755), "src/shared/new": file("new"),
		"src/scratch": dirOf(sticky | 0o777), "src/all": dirOf(suid | sgid | sticky | 0o700), "src/closed": dirOf(sgid | 0o555), "src/closed/a": file("old"),
		"src/tool": fileMode("#!", suid|0o755), "src/game": fileMode("score", sgid|0o755), "src/same": fileMode("same", suid|sgid|0o711),
		"src/was": fileMode("was", 0o755), "src/stays": dirOf(sgid | 0o750),
	}
	without := tree{
		"src/closed": dirOf(sgid | 0o555), "src/closed/b": file("new"), "src/tool": fileMode("#! 2", 0o755), "src/same": fileMode("same", 0o711),
		"src/was": fileMode("was", suid|0o755), "src/stays": dirOf(0o750), "src/stays/x": fileMode("x", sticky|0o644),
		"src/here": dirOf(sgid | 0o775), "src/here/y": fileMode("y", sgid|0o755),
	}
	for _, c := range []struct{ what, target, present string }{{"come", "with", "without"}, {"go", "without", "with"}} {
		trees := map[string]tree{"with": with.merge(), "without": without.merge()}
		target, present := trees[c.target], trees[c.present]
		places := map[string]func(t *testing.T, w *world) (vfs.FS, string){
			"memory": func(t *testing.T, w *world) (vfs.FS, string) { return w.memory(present), top },
			"disk": func(t *testing.T, w *world) (vfs.FS, string) {
				dir := t.TempDir()
				check(t, os.Mkdir(dir+"/.git", 0o755))
				t.Cleanup(func() { _ = os.Chmod(dir+"/src/closed", 0o700) }) // or nobody but root can remove it
				plant(t, vfs.OS(), dir, present)
				return vfs.OS(), dir
			},
		}
		for name, place := range places {
			t.Run(c.what+"/"+name, func(t *testing.T) {
				w := newWorld(t)
				fsys, dir := place(t, w)
				want := w.checkpoint(target, sel("src"))
				before := harvest(t, fsys, dir)
				safety := w.safety(fsys, dir, sel("src"), nil, want)
				_, err := w.restore(w.options(fsys, dir, safety, want))
				check(t, err)
				wantTree(t, fsys, dir, target)
				undo := w.safety(fsys, dir, sel("src"), nil, safety)
				if undo.Manifest != want.Manifest {
					wantEntries(t, w, undo, want)
				}
				_, err = w.restore(w.options(fsys, dir, undo, safety))
				check(t, err)
				wantTree(t, fsys, dir, before)
			})
		}
	}
}

// wantEntries fails the test if two checkpoints differ in more than times.
func wantEntries(t *testing.T, w *world, got, want storage.SourceState) {
	t.Helper()
	for d, err := range Differences(w.store.Walk(t.Context(), got.Manifest), w.store.Walk(t.Context(), want.Manifest)) {
		check(t, err)
		t.Errorf("%+v is not %+v", d.Old, d.New)
	}
}

// stingy is a file system that lets nobody set setgid on a directory, as for one
// whose group is none of the user's: it leaves the bit out, or refuses.
type stingy struct {
	vfs.FS
	refuse bool
}

type stingyRoot struct {
	stingy
	root vfs.Root
}

func (s stingy) Chmod(name string, mode fs.FileMode) error {
	info, err := s.FS.Lstat(name)
	if err == nil && info.IsDir() && mode&sgid != 0 {
		if s.refuse {
			return &fs.PathError{Op: "chmod", Path: name, Err: syscall.EPERM}
		}
		mode &^= sgid
	}
	return s.FS.Chmod(name, mode)
}

func (s stingy) Mkdir(name string, mode fs.FileMode) error { return s.FS.Mkdir(name, mode&^sgid) }

func (s stingy) OpenRoot(name string) (vfs.Root, error) {
	r, err := s.FS.OpenRoot(name)
	return stingyRoot{stingy{r, s.refuse}, r}, err
}

func (r stingyRoot) Close() error { return r.root.Close() }

// TestSetgidThatTheSystemWithholds: the restore ends without the bit and says
// so, at once and after it was cut off; nothing of the directory's other bits is lost.
func TestSetgidThatTheSystemWithholds(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		w := newWorld(t)
		target := w.checkpoint(tree{"src/old": dirOf(sgid | sticky | 0o770), "src/new": dirOf(sgid | 0o775), "src/new/f": file("f")}, sel("src"))
		m := w.memory(tree{"src/old": dirOf(0o755), "src/g": file("g")})
		fsys := stingy{m, refuse}
		saved := w.safety(fsys, top, sel("src"), nil, target)
		in, err := Stage(t.Context(), w.options(fsys, top, saved, target))
		check(t, err)
		for range 2 {
			_, err = in.Run(t.Context())
			check(t, err)
			check(t, in.Verify(t.Context()))
			if list := in.Warnings(); len(list) != 2 || !strings.Contains(list[0], "src/new") || !strings.Contains(list[1], "src/old") {
				t.Errorf("warnings %q", list)
			}
			in, err = OpenInstall(t.Context(), fsys, top, w.store, w.clock, operation, false)
			check(t, err)
		}
		wantTree(t, m, top, tree{"src/old": dirOf(sticky | 0o770), "src/new": dirOf(0o775), "src/new/f": file("f")})
		// Any other bit that is missing is a failure.
		_, err = in.Run(t.Context())
		check(t, err)
		check(t, m.Chmod(top+"/src/new", 0o755))
		if err := in.Verify(t.Context()); err == nil {
			t.Error("a lost bit was not found")
		}
	}
}

// TestSetuidOfOthersIsNotTaken: a setuid program that somebody else put among
// the sources comes back as ours, and so without the bit.
func TestSetuidOfOthersIsNotTaken(t *testing.T) {
	w := newWorld(t)
	m := w.memory(tree{"src/mine": fileMode("mine", suid|sgid|0o755), "src/theirs": fileMode("theirs", 0o755), "src/group": fileMode("group", 0o755), "src/shared": dirOf(0o775)})
	uid, gid := os.Geteuid(), os.Getegid()
	check(t, m.Chown(top+"/src/theirs", uid+1, gid))
	check(t, m.Chown(top+"/src/group", -1, gid+1))
	check(t, m.Chown(top+"/src/shared", uid+1, gid+1))
	check(t, m.Chmod(top+"/src/theirs", suid|sgid|sticky|0o755))
	check(t, m.Chmod(top+"/src/group", suid|sgid|0o755))
	check(t, m.Chmod(top+"/src/shared", suid|sgid|0o775))
	saved := w.scan(m, top, sel("src"), nil, nil)
	for p, want := range map[string]uint32{"src/mine": 0o6755, "src/theirs": 0o1755, "src/group": 0o4755, "src/shared": 0o6775} {
		if e, ok, err := w.store.Lookup(t.Context(), saved.Manifest, p); err != nil || !ok || e.Mode != want {
			t.Errorf("%s is saved as %+v, %v; want mode %04o", p, e, err, want)
		}
	}
	opt := ChangeOptions{FS: m, Dir: top, Store: w.store, Manifest: saved.Manifest, Limit: 10}
	var err error
	opt.Rules, err = Rules(RuleOptions{FS: m, Dir: top, Selection: sel("src")})
	check(t, err)
	if list, n, err := Changes(t.Context(), opt); err != nil || n != 0 {
		t.Errorf("changed: %v, %v", list, err)
	}
	// What became somebody else's keeps its content; nothing is to be done.
	check(t, m.Chown(top+"/src/mine", uid+1, -1))
	check(t, m.Remove(top+"/src/theirs"))
	safety := w.safety(m, top, sel("src"), nil, saved)
	_, err = w.restore(w.options(m, top, safety, saved))
	check(t, err)
	for p, want := range map[string]uint32{"src/mine": 0o755, "src/theirs": 0o1755, "src/group": 0o4755} {
		info, err := m.Lstat(top + "/" + p)
		check(t, err)
		if got := storage.Mode(info); got != want {
			t.Errorf("%s has mode %04o, want %04o", p, got, want)
		}
	}
}
