package worktree

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"path"
	"strings"
	"testing"

	"forklift/engine/config"
	"forklift/engine/gitignore"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// fixedGit is a git with fixed answers.
type fixedGit struct {
	ignored, excludes, tracked []string
	asked                      int // how often for Ignored
}

func (g *fixedGit) Ignored(context.Context, []string) ([]string, error) {
	g.asked++
	return g.ignored, nil
}
func (g *fixedGit) Excludes(context.Context) ([]string, error) { return g.excludes, nil }

func (g *fixedGit) Tracked(_ context.Context, paths []string) ([]string, error) {
	var found []string
	for _, f := range g.tracked {
		for _, p := range paths {
			if config.Within(f, p) {
				found = append(found, f)
				break
			}
		}
	}
	return found, nil
}

// TestTargetsIgnoreFiles has files that only the target's .gitignore files
// ignore: they are saved, and the restore leaves them where they are.
func TestTargetsIgnoreFiles(t *testing.T) {
	now := tree{"src/a": file("new"), "src/x.log": file("x"), "src/build/o": file("o"), "src/build/deep/p": file("p"), "src/b": file("b"),
		"src/sub/x.tmp": file("t"), "src/sub/keep.log": file("k"), "src/c.bak": file("c"), "src/forced.log": file("f")}
	then := func(more tree) tree { return tree{"src/a": file("old")}.merge(more) }
	cases := []struct {
		name   string
		then   tree // the target
		here   tree // beside now, in the worktree
		source []string
		git    fixedGit
		gone   string // what of now the restore removes
	}{
		{"nothing is ignored", then(nil), nil, []string{"src"}, fixedGit{}, "src/x.log src/build src/b src/sub src/c.bak src/forced.log"},
		{"at the top of the source", then(tree{"src/.gitignore": file("\ufeff*.log\r\nbuild/\n")}), nil, []string{"src"}, fixedGit{}, "src/b src/sub/x.tmp src/c.bak"},
		{"further down", then(tree{"src/.gitignore": file("*.log\n"), "src/sub/.gitignore": file("/x.tmp\n!keep.log\n")}), nil, []string{"src"}, fixedGit{},
			"src/build src/b src/sub/keep.log src/c.bak"},
		{"what is tracked is not ignored", then(tree{"src/.gitignore": file("*.log\nbuild\n")}), nil, []string{"src"}, fixedGit{tracked: []string{"src/forced.log", "src/build/o"}},
			"src/build/o src/b src/sub/x.tmp src/c.bak src/forced.log"},
		{"one outside the sources, as it is now", then(nil), tree{".gitignore": file("/src/build\n")}, []string{"src"}, fixedGit{}, "src/x.log src/b src/sub src/c.bak src/forced.log"},
		{"git's own files, and ! takes back", then(tree{"src/.gitignore": file("!/x.log\n")}), nil, []string{"src"}, fixedGit{excludes: []string{"*.log", "src/b"}},
			"src/x.log src/build src/sub/x.tmp src/c.bak"},
		{"one that only the present has is gone", then(nil), tree{"src/.gitignore": file("*.never\n")}, []string{"src"}, fixedGit{}, "src/.gitignore src/x.log src/build src/b src/sub src/c.bak src/forced.log"},
		{"a link is none", then(tree{"src/.gitignore": link("a")}), nil, []string{"src"}, fixedGit{}, "src/x.log src/build src/b src/sub src/c.bak src/forced.log"},
		{"a source that is ignored counts", then(tree{"src/.gitignore": file("*.bak\n")}), tree{".gitignore": file("/src\n")}, []string{"src"}, fixedGit{},
			"src/x.log src/build src/b src/sub src/c.bak src/forced.log"},
		{"an ignore file that is too long ignores all", then(tree{"src/sub/.gitignore": file(strings.Repeat("# x\n", maxIgnoreBytes))}), nil, []string{"src"}, fixedGit{},
			"src/x.log src/build src/b src/c.bak src/forced.log"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			s := sel(c.source...)
			target := w.checkpoint(c.then, s)
			m := w.memory(now.merge(c.here))
			saved := w.safety(m, top, s, nil, target)
			before := harvest(t, m, top)
			opt := w.options(m, top, saved, target)
			opt.Git = &c.git
			_, err := w.restore(opt)
			check(t, err)
			want := now.merge(c.here, c.then).parents()
			for _, gone := range strings.Fields(c.gone) {
				for p := range want.below(gone) {
					delete(want, p)
				}
			}
			wantTree(t, m, top, want)
			// Undo, by the rules of what is there now.
			undo := w.safety(m, top, s, nil, saved)
			_, err = w.restore(w.options(m, top, undo, saved))
			check(t, err)
			if got := harvest(t, m, top); got.String() != before.String() {
				t.Fatalf("undo leaves\n%swant\n%s", got, before)
			}
		})
	}
}

// TestIgnoredInTheWay has the target's file where there is a directory with
// something that only the target ignores: that is refused, by name; behind the
// switch there is no way back, and it goes into the safety checkpoint only.
func TestIgnoredInTheWay(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/.gitignore": file("*.log\n"), "src/d": file("a file")}, sel("src"))
	before := tree{"src/d/x.log": file("x"), "src/d/y": file("y")}
	m := w.memory(before)
	saved := w.safety(m, top, sel("src"), nil, target)
	opt := w.options(m, top, saved, target)
	_, err := w.restore(opt)
	if items := fault.ItemsOf(err); len(items) != 1 || !strings.Contains(items[0], "src/d/x.log") {
		t.Fatalf("error %v with %q, want the file's name", err, items)
	}
	wantTree(t, m, top, before)
	opt.Switched = true
	rescued, err := w.restore(opt)
	if err != nil || len(rescued) > 0 {
		t.Fatalf("behind the switch: %v, %v", rescued, err)
	}
	wantTree(t, m, top, tree{"src/.gitignore": file("*.log\n"), "src/d": file("a file")})
}

// TestUnreadableIgnoreFile has one, outside the sources, that cannot be read:
// it may ignore anything, so nothing is removed.
func TestUnreadableIgnoreFile(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("a")}, sel("src"))
	m := w.memory(tree{"src/b": file("b"), ".gitignore": file("x")})
	saved := w.safety(m, top, sel("src"), nil, target)
	f := vfs.Hook(m, func(c vfs.Call) error {
		if c.Op == vfs.OpOpen && strings.HasSuffix(c.Name, ".gitignore") {
			return fs.ErrPermission
		}
		return nil
	})
	_, err := w.restore(w.options(f, top, saved, target))
	check(t, err)
	wantTree(t, m, top, tree{"src/a": file("a"), "src/b": file("b"), ".gitignore": file("x")})
}

// TestSparerAgreesWithGit compares random ignore files in several directories
// with git check-ignore.
func TestSparerAgreesWithGit(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	patterns := []string{"a", "b/", "/a", "/b", "a/b", "*.x", "!a", "!/b", "!a.x", "*", "!*/", "**/b", "a/**", "!b/a.x"}
	names := []string{"a", "b", "a.x", "c"}
	ignored, all := 0, 0
	for round := range 15 {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		content := tree{}
		for range 12 {
			elems := []string{"src"}
			for range 1 + rng.IntN(3) {
				elems = append(elems, names[rng.IntN(len(names))])
			}
			p := path.Join(elems...)
			if content.parents()[p].typ.IsDir() {
				continue
			}
			free := true
			prefixes(p, func(q string) bool { _, taken := content[q]; free = !taken || content[q].typ.IsDir(); return free })
			if free {
				content[p] = file("x")
			}
		}
		content.parents()
		for _, dir := range append(content.paths(), ".") {
			if content[dir].typ.IsDir() || dir == "." {
				if rng.IntN(3) == 0 {
					lines := ""
					for range 1 + rng.IntN(3) {
						lines += patterns[rng.IntN(len(patterns))] + "\n"
					}
					content[path.Join(dir, ignoreFileName)] = file(lines)
				}
			}
		}
		dir := t.TempDir()
		plant(t, vfs.OS(), dir, content)
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cmd := exec.Command("git", "-c", "core.excludesFile=/dev/null", "check-ignore", "-z", "--stdin")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(content.paths(), "\x00")+"\x00")
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatal(err)
		}
		said := map[string]bool{}
		for p := range bytes.SplitSeq(out, []byte{0}) {
			said[string(p)] = true
		}
		root, err := vfs.OS().OpenRoot(dir)
		check(t, err)
		defer root.Close()
		// A target without sources: the ignore files count as they are.
		target, err := newSelection(config.Selection{}, nil, nil)
		check(t, err)
		s := &sparer{root: root, p: &planner{target: target}, files: map[string]*gitignore.Matcher{}}
		check(t, s.begin(context.Background()))
		for _, p := range content.paths() {
			top, err := s.top(context.Background(), p, content[p].typ.IsDir())
			check(t, err)
			all++
			if top != "" {
				ignored++
			}
			if (top != "") != said[p] {
				t.Fatalf("round %d: %q is ignored: %v, git says %v, in\n%s", round, p, top != "", said[p], content)
			}
		}
	}
	t.Logf("%d of %d paths are ignored", ignored, all)
}
