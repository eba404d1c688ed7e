package gitdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHead(t *testing.T) {
	isolate(t)
	dir := repository(t)
	r := mustFind(t, dir)
	want := git(t, dir, "rev-parse", "HEAD")
	check := func(commit, branch string) {
		t.Helper()
		c, b, err := New().Head(t.Context(), r)
		if err != nil || c != commit || b != branch {
			t.Errorf("Head = %q, %q, %v; want %q, %q", c, b, err, commit, branch)
		}
	}
	check(want, "main")
	git(t, dir, "switch", "-q", "-c", "feature/x y"[:9])
	check(want, "feature/x")
	git(t, dir, "tag", "main2")
	git(t, dir, "switch", "-q", "-c", "main2") // ambiguous: git would print heads/main2
	check(want, "main2")
	git(t, dir, "pack-refs", "--all")
	check(want, "main2")
	git(t, dir, "switch", "-q", "--detach")
	check(want, "")
	git(t, dir, "switch", "-q", "--orphan", "empty")
	check("", "empty")
}

func TestTracked(t *testing.T) {
	isolate(t)
	dir := repository(t)
	write(t, dir+"/README.md", "x")
	write(t, dir+"/untracked/x", "x")
	odd := "odd \n\xff name"
	write(t, dir+"/"+odd, "x")
	git(t, dir, "add", "README.md", odd)
	git(t, dir, "submodule", "--quiet", "add", repository(t), "sub")
	got, err := New().Tracked(t.Context(), mustFind(t, dir))
	want := []string{".gitmodules", "README.md", odd, "src"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Tracked = %q, %v; want %q", got, err, want)
	}
	empty := filepath.Join(realTemp(t), "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, empty, "init", "-q")
	if got, err := New().Tracked(t.Context(), mustFind(t, empty)); err != nil || len(got) != 0 {
		t.Errorf("empty repository: %q, %v", got, err)
	}
}

func TestIgnored(t *testing.T) {
	isolate(t)
	dir := repository(t)
	write(t, dir+"/.gitignore", "*.o\nign/\n/top.txt\n!keep.o\n")
	for _, name := range []string{
		"build/a.o", "build/sub/b.o", "ign/x", "ign/y/z", "mixed/a.o", "mixed/b.c", "src/ign/tracked", "src/ign/not",
		"top.txt", "src/top.txt", "src/keep.o", "src/new\n\xffline.o", ":(glob)*.o", "lone/ign/x", "sp ace/*.o",
	} {
		write(t, dir+"/"+name, "x")
	}
	git(t, dir, "add", "-f", "src/ign/tracked")
	if err := os.MkdirAll(dir+"/emptydir", 0o755); err != nil {
		t.Fatal(err)
	}
	r := mustFind(t, dir)
	check := func(paths []string, want ...string) {
		t.Helper()
		got, err := New().Ignored(t.Context(), r, paths)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Ignored(%q) = %q, %v; want %q", paths, got, err, want)
		}
	}
	check([]string{"src"}, "src/ign/not", "src/new\n\xffline.o")
	check([]string{"build"}, "build/a.o", "build/sub/b.o") // build is not ignored itself
	check([]string{"lone", "ign"}, "lone/ign", "ign")
	check([]string{"sp ace"}, "sp ace/*.o")
	check([]string{"absent"})
	check([]string{"top.txt"}, "top.txt")
	check(nil)
	check([]string{"."}, "src/ign/not", "src/new\n\xffline.o", "build/a.o", "build/sub/b.o", "lone/ign", "ign", "sp ace/*.o", "top.txt", ":(glob)*.o", "mixed/a.o")

	// A name that would be a pattern is only a name.
	write(t, dir+"/[ab]/x.o", "")
	write(t, dir+"/a/x.o", "")
	check([]string{"[ab]"}, "[ab]/x.o")

	var many []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf("%s/%d", strings.Repeat("d", 40), i))
	}
	check(append(many, "src"), "src/ign/not", "src/new\n\xffline.o")
}

func TestTrackedIn(t *testing.T) {
	isolate(t)
	dir := repository(t)
	odd := "src/odd \n\xff name"
	for _, name := range []string{"src/d/x", "src/d/untracked", "[ab]/x", "a/x", odd} {
		write(t, dir+"/"+name, "x")
	}
	git(t, dir, "add", "src/d/x", odd, ":(literal)[ab]/x", "a/x")
	r := mustFind(t, dir)
	for _, c := range []struct{ paths, want []string }{
		{nil, nil}, {[]string{"absent"}, nil}, {[]string{"src/d"}, []string{"src/d/x"}}, {[]string{"src/d/untracked"}, nil},
		{[]string{"[ab]", odd}, []string{"[ab]/x", odd}}, {append(slices.Repeat([]string{strings.Repeat("d", 200)}, 400), "a"), []string{"a/x"}},
	} {
		got, err := New().TrackedIn(t.Context(), r, c.paths)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("TrackedIn(%q) = %q, %v; want %q", c.paths, got, err, c.want)
		}
	}
}

// TestExcludes looks for the lines where git itself does, and asks git.
func TestExcludes(t *testing.T) {
	isolate(t)
	dir := repository(t)
	r := mustFind(t, dir)
	home := os.Getenv("HOME")
	check := func(ignored string, want ...string) {
		t.Helper()
		got, err := New().Excludes(t.Context(), r)
		got = slices.DeleteFunc(got, func(line string) bool { return line == "" || strings.HasPrefix(line, "#") })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Excludes = %q, %v; want %q", got, err, want)
		}
		if out := git(t, dir, "check-ignore", ignored); out != ignored {
			t.Errorf("git does not ignore %q", ignored)
		}
	}
	write(t, dir+"/.git/info/exclude", "*.own\n")
	check("x.own", "*.own")
	write(t, home+"/.config/git/ignore", "*.user\n!*.own\n")
	check("x.user", "*.user", "!*.own", "*.own")
	check("x.own", "*.user", "!*.own", "*.own")
	write(t, home+"/xdg/git/ignore", "*.xdg\n")
	t.Setenv("XDG_CONFIG_HOME", home+"/xdg")
	check("x.xdg", "*.xdg", "*.own")
	write(t, home+"/mine", "*.mine\n")
	git(t, dir, "config", "core.excludesFile", "~/mine")
	check("x.mine", "*.mine", "*.own")
	git(t, dir, "config", "core.excludesFile", "/nowhere")
	check("x.own", "*.own")
	git(t, dir, "config", "core.excludesFile", "")
	check("x.own", "*.own")
}

// TestSettingsFiles has git take settings from every place, and asks it where each
// comes from.
func TestSettingsFiles(t *testing.T) {
	isolate(t)
	dir, home := repository(t), os.Getenv("HOME")
	r := mustFind(t, dir)
	has := func(want ...string) {
		t.Helper()
		got, err := New().SettingsFiles(t.Context(), r)
		if err != nil || !slices.IsSorted(got) {
			t.Errorf("SettingsFiles = %q, %v", got, err)
		}
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%s is not among %q", name, got)
			}
		}
	}
	own := []string{home + "/.gitconfig", home + "/.config/git/config", dir + "/.git/config", dir + "/.git/config.worktree"}
	has(own...) // those that are not there, too
	git(t, dir, "config", "--global", "include.path", "more/one")
	write(t, home+"/more/one", "[include]\n\tpath = two\n[includeIf \"onbranch:x/\"]\n\tpath = ~/three\n")
	write(t, home+"/more/two", "[core]\n\texcludesFile = /elsewhere\n")
	has(append(own, home+"/more/one", home+"/more/two", home+"/three")...)
	if name, err := New().ExcludesFile(t.Context(), r); err != nil || name != "/elsewhere" {
		t.Errorf("git takes %q, %v from the included file", name, err)
	}
	t.Setenv("XDG_CONFIG_HOME", home+"/xdg")
	has(home+"/xdg/git/config", home+"/.gitconfig")
}

func TestCanceledQuery(t *testing.T) {
	isolate(t)
	dir := repository(t)
	r := mustFind(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New().Tracked(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestGitThatSaysNothingUseful has programs for git that end too early.
func TestGitThatSaysNothingUseful(t *testing.T) {
	isolate(t)
	dir := repository(t)
	r := mustFind(t, dir)
	says := func(script string) *Reader {
		name := filepath.Join(t.TempDir(), "git")
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return &Reader{git: name}
	}
	_, version := says("exit 0").Version(t.Context())
	_, tracked := says(`printf 'src/a\0src/cut'`).Tracked(t.Context(), r)
	removed := says("exit 1").RemoveWorktree(t.Context(), r, dir)
	for want, err := range map[string]error{"it says nothing": version, "the last path is cut off": tracked, "it failed without a word": removed} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestCoreConfig(t *testing.T) {
	cases := map[string]core{
		"[core]\n\tbare = true\n":                                  {bare: true},
		"[core]\nbare\n":                                           {bare: true},
		"[Core] bare = YES # comment\n":                            {bare: true},
		"[core \"x\"]\nbare = true\n":                              {},
		"[other]\nbare = true\n":                                   {},
		"[core]\n; bare = true\n worktree = ../a b ; c\n":          {worktree: "../a b"},
		"[core]\n worktree = \"/x # y\\\\z\" \n":                   {worktree: `/x # y\z`},
		"[core]\n worktree = /one\n[user]\n[core]\nworktree=/two":  {worktree: "/two"},
		"[core]\n bare = true\n bare = false\n worktree = \"a\" b": {worktree: "a b"},
	}
	for text, want := range cases {
		var got core
		got.parse(text)
		if got != want {
			t.Errorf("parse(%q) = %+v, want %+v", text, got, want)
		}
	}
}

func FuzzCoreConfig(f *testing.F) {
	f.Add("[core]\n\tbare = true\n worktree = \"a\\n\" ; x\n")
	f.Fuzz(func(t *testing.T, text string) {
		var c core
		c.parse(text)
	})
}
