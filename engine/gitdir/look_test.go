package gitdir

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestLookAtWhatBecameOfWorktrees(t *testing.T) {
	ctx, rd := context.Background(), New()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(dir, "main")
	git(t, dir, "init", "-q", main)
	git(t, main, "commit", "-q", "--allow-empty", "-m", "first")
	for _, name := range []string{"kept", "moved", "deleted", "locked", "replaced"} {
		git(t, main, "worktree", "add", "-q", filepath.Join(dir, name))
	}
	git(t, main, "worktree", "move", filepath.Join(dir, "moved"), filepath.Join(dir, "moved here"))
	git(t, main, "worktree", "lock", filepath.Join(dir, "locked"))
	for _, name := range []string{"deleted", "locked", "replaced"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "-q", filepath.Join(dir, "replaced"))
	repo, err := rd.Find(ctx, main)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := rd.GitDirs(ctx, repo)
	if err != nil || len(dirs) != 6 {
		t.Fatalf("git directories %v, %v", dirs, err)
	}
	for name, want := range map[string]Place{
		"":         {Exists: true, Worktree: main, Alive: true},
		"kept":     {Exists: true, Worktree: filepath.Join(dir, "kept"), Alive: true},
		"moved":    {Exists: true, Worktree: filepath.Join(dir, "moved here"), Alive: true},
		"deleted":  {Exists: true, Worktree: filepath.Join(dir, "deleted")},
		"locked":   {Exists: true, Worktree: filepath.Join(dir, "locked"), Locked: true},
		"replaced": {Exists: true, Worktree: filepath.Join(dir, "replaced")},
		"never":    {},
	} {
		want.GitDir = filepath.Join(main, ".git")
		if name != "" {
			want.GitDir = filepath.Join(want.GitDir, "worktrees", name)
		}
		got, err := rd.Look(ctx, want.GitDir)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// hostileRepo is a repository whose hooks and filters leave a trace.
func hostileRepo(t *testing.T, dir string) Repo {
	t.Helper()
	main := filepath.Join(dir, "main")
	git(t, dir, "init", "-q", main)
	for name, text := range map[string]string{".gitattributes": "* filter=evil\n", "file": "content\n"} {
		if err := os.WriteFile(filepath.Join(main, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, main, "add", "-A")
	git(t, main, "commit", "-q", "-m", "first")
	script := filepath.Join(dir, "evil")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat\necho >>"+filepath.Join(dir, "ran")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction"} {
		if err := os.Symlink(script, filepath.Join(main, ".git/hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"filter.evil.smudge", "filter.evil.clean", "core.fsmonitor"} {
		git(t, main, "config", key, script)
	}
	git(t, main, "config", "filter.evil.required", "true")
	repo, err := New().Find(context.Background(), main)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func TestAddWorktreeRunsNothing(t *testing.T) {
	ctx, rd := context.Background(), New()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := hostileRepo(t, dir)
	if got, err := rd.Filters(ctx, repo); err != nil || len(got) != 1 || got[0] != "evil" {
		t.Errorf("filters %v, %v", got, err)
	}
	path := filepath.Join(dir, "new one")
	made, err := rd.AddWorktree(ctx, repo, AddOptions{Path: path, Branch: "topic"})
	if err != nil || made.Worktree != path || !made.Linked() {
		t.Fatalf("made %+v, %v", made, err)
	}
	if text, err := os.ReadFile(filepath.Join(path, "file")); err != nil || string(text) != "content\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if _, branch, err := rd.Head(ctx, made); err != nil || branch != "topic" {
		t.Errorf("on %q, %v", branch, err)
	}
	// A path that is taken, a branch that is taken, a commit that is not
	// there: an error, and nothing is left.
	for name, opt := range map[string]AddOptions{
		"path": {Path: path}, "branch": {Path: path + "2", Branch: "topic"}, "commit": {Path: path + "2", Branch: "other", Commit: "0123456789012345678901234567890123456789"},
	} {
		if _, err := rd.AddWorktree(ctx, repo, opt); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Lstat(path + "2"); err == nil {
			t.Errorf("%s: a directory is left", name)
		}
	}
	if has, err := rd.HasBranch(ctx, repo, "other"); has || err != nil {
		t.Errorf("the branch is left: %v, %v", has, err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := rd.AddWorktree(canceled, repo, AddOptions{Path: path + "2", Branch: "other"}); err == nil {
		t.Error("an ended context made a worktree")
	}
	if err := rd.RemoveWorktree(ctx, repo, path); err != nil {
		t.Error(err)
	}
	if err := rd.DeleteBranch(ctx, repo, "topic"); err != nil {
		t.Error(err)
	}
	if has, err := rd.HasBranch(ctx, repo, "topic"); has || err != nil {
		t.Errorf("the branch is left: %v, %v", has, err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the directory is left")
	}
	head, _, _ := rd.Head(ctx, repo)
	for id, want := range map[string]bool{head: true, "0123456789012345678901234567890123456789": false} {
		if has, err := rd.HasCommit(ctx, repo, id); has != want || err != nil {
			t.Errorf("HasCommit(%s) is %v, %v", id, has, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a hook or a filter has run")
	}
}
