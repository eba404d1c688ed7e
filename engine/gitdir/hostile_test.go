package gitdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forklift/storage/fault"
)

// TestCraftedPointersAreRefused builds directories that claim to belong to a
// repository they were not made by. Each must be refused as untrusted.
func TestCraftedPointersAreRefused(t *testing.T) {
	isolate(t)
	victim := repository(t)
	real := filepath.Join(realTemp(t), "real")
	git(t, victim, "worktree", "add", "-q", "-b", "feature", real)
	admin := victim + "/.git/worktrees/real"

	cases := map[string]func(t *testing.T, dir string){
		"a .git file that names another worktree's git directory": func(t *testing.T, dir string) {
			write(t, dir+"/.git", "gitdir: "+admin+"\n")
		},
		"a .git file that names a repository": func(t *testing.T, dir string) {
			write(t, dir+"/.git", "gitdir: "+victim+"/.git\n")
		},
		"a .git directory with a commondir of another repository": func(t *testing.T, dir string) {
			write(t, dir+"/.git/HEAD", "ref: refs/heads/main\n")
			write(t, dir+"/.git/commondir", victim+"/.git\n")
			write(t, dir+"/.git/gitdir", dir+"/.git\n")
		},
		"a git directory of its own that names another repository": func(t *testing.T, dir string) {
			write(t, dir+"/.git", "gitdir: meta\n")
			write(t, dir+"/meta/HEAD", "ref: refs/heads/main\n")
			write(t, dir+"/meta/commondir", victim+"/.git\n")
			write(t, dir+"/meta/gitdir", dir+"/.git\n")
		},
		"a worktrees directory of its own beside a foreign commondir": func(t *testing.T, dir string) {
			write(t, dir+"/.git", "gitdir: meta/worktrees/x\n")
			write(t, dir+"/meta/worktrees/x/HEAD", "ref: refs/heads/main\n")
			write(t, dir+"/meta/worktrees/x/commondir", victim+"/.git\n")
			write(t, dir+"/meta/worktrees/x/gitdir", dir+"/.git\n")
		},
		"a symbolic link to a repository": func(t *testing.T, dir string) {
			if err := os.Symlink(victim+"/.git", dir+"/.git"); err != nil {
				t.Fatal(err)
			}
		},
		"core.worktree of another directory": func(t *testing.T, dir string) {
			git(t, dir, "init", "-q")
			git(t, dir, "config", "core.worktree", victim)
		},
		"a pointer to nothing": func(t *testing.T, dir string) {
			write(t, dir+"/.git", "gitdir: /does/not/exist\n")
		},
		"a pointer with a NUL": func(t *testing.T, dir string) {
			write(t, dir+"/.git", "gitdir: "+admin+"\x00x\n")
		},
		"a huge pointer": func(t *testing.T, dir string) {
			write(t, dir+"/.git", "gitdir: "+strings.Repeat("/x", maxPointerBytes)+"\n")
		},
		"no pointer": func(t *testing.T, dir string) {
			write(t, dir+"/.git", "hello\n")
		},
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(realTemp(t), "crafted")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			build(t, dir)
			r, err := New().Find(t.Context(), dir)
			if err == nil {
				t.Fatalf("believed: %+v", r)
			}
			wantKind(t, err, fault.Untrusted)
		})
	}
	if r := mustFind(t, real); r.GitDir != admin {
		t.Errorf("the real one: %+v", r)
	}
}

func TestForeignOwnerIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		for _, c := range []struct {
			owner uint32
			euid  int
			sudo  string
			want  bool
		}{{7, 7, "", true}, {7, 8, "7", false}, {0, 7, "", false}} {
			if ownedBy(c.owner, c.euid, c.sudo) != c.want {
				t.Errorf("ownedBy(%+v), want %v", c, c.want)
			}
		}
		return
	}
	isolate(t)
	t.Setenv("SUDO_UID", "")
	for _, part := range []string{"", "/.git"} {
		dir := repository(t)
		if err := os.Lchown(dir+part, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		_, err := New().Find(t.Context(), dir)
		wantKind(t, err, fault.Untrusted)
		if want := "belongs to user 12345, not to you (0)"; !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		t.Setenv("SUDO_UID", "12345")
		mustFind(t, dir)
		t.Setenv("SUDO_UID", "")
	}
}

// TestNothingOfTheRepositoryRuns configures every program that git starts by
// itself during the queries used here, with a canary.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	isolate(t)
	dir := repository(t)
	// An index entry whose object is nowhere, so that git would have to fetch it.
	object := git(t, dir, "hash-object", "-w", "src/app.py")
	git(t, dir, "update-index", "--add", "--cacheinfo", "100644,"+object+",lazy/.gitignore")
	git(t, dir, "update-index", "--skip-worktree", "lazy/.gitignore")
	if err := os.Remove(filepath.Join(dir, ".git/objects", object[:2], object[2:])); err != nil {
		t.Fatal(err)
	}
	canary := filepath.Join(realTemp(t), "canary")
	script := filepath.Join(realTemp(t), "run.sh")
	write(t, script, "#!/bin/sh\necho \"$0 $*\" >> "+canary+"\nexit 0\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"} {
		write(t, dir+"/.git/hooks/"+hook, "#!/bin/sh\necho hook >> "+canary+"\n")
		if err := os.Chmod(dir+"/.git/hooks/"+hook, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{
		"core.fsmonitor": script, "core.hooksPath": filepath.Dir(script), "core.sshCommand": script, "core.pager": script,
		"core.editor": script, "core.askPass": script, "core.gitProxy": script, "diff.external": script, "credential.helper": "!" + script,
		"filter.x.clean": script, "filter.x.smudge": script, "filter.x.process": script, "filter.x.required": "true",
		"alias.ls-files": "!" + script, "alias.rev-parse": "!" + script, "alias.check-ignore": "!" + script,
		"core.alternateRefsCommand": script, "pager.ls-files": script, "uploadpack.packObjectsHook": script,
		"protocol.ext.allow": "always", "remote.origin.url": "ext::" + script, "remote.origin.promisor": "true",
		"remote.origin.partialclonefilter": "blob:none", "extensions.partialClone": "origin", "core.repositoryformatversion": "1",
	} {
		git(t, dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "config", key, value)
	}
	write(t, dir+"/.gitattributes", "* filter=x\n")
	write(t, dir+"/.gitignore", "*.log\n")
	write(t, dir+"/src/a.log", "x")
	if err := os.RemoveAll(canary); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(dir + "/.git/index")
	if err != nil {
		t.Fatal(err)
	}

	r := mustFind(t, dir)
	if _, _, err := New().Head(t.Context(), r); err != nil {
		t.Error(err)
	}
	if _, err := New().Tracked(t.Context(), r); err != nil {
		t.Error(err)
	}
	write(t, dir+"/lazy/x", "")
	got, err := New().Ignored(t.Context(), r, []string{"."})
	if err != nil || len(got) != 1 || got[0] != "src/a.log" {
		t.Errorf("Ignored = %q, %v", got, err)
	}
	if data, err := os.ReadFile(canary); err == nil {
		t.Errorf("a program of the repository ran:\n%s", data)
	}
	after, err := os.ReadFile(dir + "/.git/index")
	if err != nil || string(before) != string(after) {
		t.Error("the index was written")
	}
}

func TestGitInsideTheWorktreeIsNotUsed(t *testing.T) {
	isolate(t)
	dir := repository(t)
	r := mustFind(t, dir)
	canary := filepath.Join(realTemp(t), "canary")
	write(t, dir+"/bin/git", "#!/bin/sh\ntouch "+canary+"\n")
	if err := os.Chmod(dir+"/bin/git", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+"/bin:.:bin:"+os.Getenv("PATH"))
	if _, _, err := New().Head(t.Context(), r); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("the repository's own git ran")
	}
	t.Setenv("PATH", dir+"/bin:.")
	_, _, err := New().Head(t.Context(), r)
	wantKind(t, err, fault.Unsupported)
}
