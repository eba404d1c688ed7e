package gitdir

import (
	"os"
	"path/filepath"
	"testing"

	"forklift/storage/fault"
)

func TestFindMainWorktreeFromBelow(t *testing.T) {
	isolate(t)
	dir := repository(t)
	want := Repo{Worktree: dir, GitDir: dir + "/.git", CommonDir: dir + "/.git"}
	for _, at := range []string{dir, dir + "/src"} {
		if got := mustFind(t, at); got != want {
			t.Errorf("Find(%s) = %+v, want %+v", at, got, want)
		}
	}
	link := filepath.Join(realTemp(t), "link")
	if err := os.Symlink(dir+"/src", link); err != nil {
		t.Fatal(err)
	}
	if got := mustFind(t, link); got != want {
		t.Errorf("through a link: %+v", got)
	}
	if want.Linked() {
		t.Error("the main worktree is not a linked one")
	}
}

func TestFindLinkedWorktreeAndItsMoves(t *testing.T) {
	isolate(t)
	dir := repository(t)
	other := filepath.Join(realTemp(t), "other tree")
	git(t, dir, "worktree", "add", "-q", "-b", "feature", other)
	r := mustFind(t, other)
	if r.Worktree != other || r.CommonDir != dir+"/.git" || filepath.Dir(r.GitDir) != dir+"/.git/worktrees" || !r.Linked() {
		t.Fatalf("Find = %+v", r)
	}
	dev, ino, err := New().SameWorktree(r)
	if err != nil {
		t.Fatal(err)
	}

	moved := filepath.Join(realTemp(t), "moved")
	git(t, dir, "worktree", "move", other, moved)
	r2 := mustFind(t, moved)
	dev2, ino2, err := New().SameWorktree(r2)
	if err != nil || dev != dev2 || ino != ino2 || r2.GitDir != r.GitDir || r2.Worktree != moved {
		t.Errorf("after worktree move: %+v (%d,%d), want the git directory of before (%d,%d)", r2, dev2, ino2, dev, ino)
	}

	plain := filepath.Join(realTemp(t), "plain")
	if err := os.Rename(moved, plain); err != nil {
		t.Fatal(err)
	}
	_, err = New().Find(t.Context(), plain)
	wantKind(t, err, fault.Untrusted)
	git(t, plain, "worktree", "repair")
	if r3 := mustFind(t, plain); r3.GitDir != r.GitDir {
		t.Errorf("after repair: %+v", r3)
	}
}

func TestFindRelativeBackPointer(t *testing.T) {
	isolate(t)
	dir := repository(t)
	other := filepath.Join(dir, "..", "beside")
	git(t, dir, "worktree", "add", "-q", "-b", "feature", other)
	// What newer versions write with worktree.useRelativePaths.
	write(t, dir+"/.git/worktrees/beside/gitdir", "../../../../beside/.git\n")
	write(t, filepath.Clean(other)+"/.git", "gitdir: ../repo/.git/worktrees/beside\n")
	if r := mustFind(t, other); r.Worktree != filepath.Clean(other) {
		t.Errorf("Find = %+v", r)
	}
}

func TestFindWorktreeOfBareRepository(t *testing.T) {
	isolate(t)
	dir := repository(t)
	base := realTemp(t)
	git(t, base, "clone", "-q", "--bare", dir, "store.git")
	_, err := New().Find(t.Context(), base+"/store.git")
	wantKind(t, err, fault.Unsupported)
	_, err = New().Find(t.Context(), base+"/store.git/refs")
	wantKind(t, err, fault.Unsupported)
	git(t, base+"/store.git", "worktree", "add", "-q", base+"/tree", "main")
	if r := mustFind(t, base+"/tree"); r.CommonDir != base+"/store.git" {
		t.Errorf("Find = %+v", r)
	}
	_, err = New().Find(t.Context(), dir+"/.git/refs")
	wantKind(t, err, fault.Unsupported)
	git(t, dir, "config", "core.bare", "true")
	_, err = New().Find(t.Context(), dir)
	wantKind(t, err, fault.Unsupported)
}

func TestFindOutside(t *testing.T) {
	isolate(t)
	dir := realTemp(t)
	_, err := New().Find(t.Context(), dir)
	wantKind(t, err, fault.NotFound)
	if fault.HintOf(err) == "" {
		t.Error("no hint")
	}
	_, err = New().Find(t.Context(), dir+"/absent")
	wantKind(t, err, fault.NotFound)
	if err := os.Mkdir(dir+"/.git", 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = New().Find(t.Context(), dir)
	wantKind(t, err, fault.NotFound) // an empty .git is no repository
}

func TestFindSubmodule(t *testing.T) {
	isolate(t)
	dir, lib := repository(t), repository(t)
	git(t, dir, "submodule", "--quiet", "add", lib, "libs/sub")
	r := mustFind(t, dir+"/libs/sub")
	if r.Worktree != dir+"/libs/sub" || r.GitDir != dir+"/.git/modules/libs/sub" {
		t.Errorf("Find = %+v", r)
	}
	if r := mustFind(t, dir+"/libs"); r.Worktree != dir {
		t.Errorf("above the submodule: %+v", r)
	}
	// The same git directory claimed by another worktree is not believed.
	fake := realTemp(t)
	write(t, fake+"/.git", "gitdir: "+r.GitDir+"\n")
	_, err := New().Find(t.Context(), fake)
	wantKind(t, err, fault.Untrusted)
}

func TestFindSeparateGitDirectory(t *testing.T) {
	isolate(t)
	base := realTemp(t)
	git(t, base, "init", "-q", "--separate-git-dir", base+"/elsewhere.git", base+"/tree")
	_, err := New().Find(t.Context(), base+"/tree")
	wantKind(t, err, fault.Untrusted) // nothing in it points back
	git(t, base+"/tree", "config", "core.worktree", base+"/tree")
	if r := mustFind(t, base+"/tree"); r.GitDir != base+"/elsewhere.git" || r.Linked() {
		t.Errorf("Find = %+v", r)
	}
}

func TestFindIgnoresTheEnvironment(t *testing.T) {
	isolate(t)
	dir, other := repository(t), repository(t)
	t.Setenv("GIT_DIR", other+"/.git")
	t.Setenv("GIT_WORK_TREE", other)
	t.Setenv("GIT_COMMON_DIR", other+"/.git")
	t.Setenv("GIT_INDEX_FILE", other+"/.git/index")
	r := mustFind(t, dir)
	if r.Worktree != dir || r.GitDir != dir+"/.git" {
		t.Errorf("Find = %+v", r)
	}
	os.Unsetenv("GIT_DIR")
	write(t, dir+"/only-here.txt", "x")
	for _, name := range []string{"GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"} {
		os.Unsetenv(name)
	}
	git(t, dir, "add", "only-here.txt")
	t.Setenv("GIT_DIR", other+"/.git")
	got, err := New().Tracked(t.Context(), r)
	if err != nil || len(got) != 2 || got[0] != "only-here.txt" {
		t.Errorf("Tracked = %q, %v", got, err)
	}
}
