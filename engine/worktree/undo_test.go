package worktree

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// cycle restores target in m and then undoes it; s is the present selection.
func (w *world) cycle(m *vfs.Mem, s config.Selection, ignored []string, target storage.SourceState, want tree) {
	w.t.Helper()
	before := harvest(w.t, m, top)
	safety := w.safety(m, top, s, ignored, target)
	_, err := w.restore(w.options(m, top, safety, target))
	check(w.t, err)
	wantTree(w.t, m, top, want)
	undo := w.safety(m, top, s, ignored, safety)
	_, err = w.restore(w.options(m, top, undo, safety))
	check(w.t, err)
	wantTree(w.t, m, top, before)
	_, err = w.restore(w.options(m, top, safety, undo)) // redo
	check(w.t, err)
	wantTree(w.t, m, top, want)
}

// TestUndoOfWiderCheckpoint restores a checkpoint that holds more than the
// present selection: what it writes is saved before, and undo removes what it
// created.
func TestUndoOfWiderCheckpoint(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old"), "lib/x": file("old lib"), "lib/new/y": file("y"), "deep/er/z": file("z"), "top.txt": file("old top")},
		sel("src", "lib", "deep/er", "top.txt"))
	m := w.memory(tree{"src/a": file("new"), "src/b": file("b"), "lib/x": file("new lib"), "lib/mine": file("never captured"), "top.txt": file("new top"), "other": file("o")})
	w.cycle(m, sel("src"), nil, target, tree{"src/a": file("old"), "lib/x": file("old lib"), "lib/new/y": file("y"), "lib/mine": file("never captured"),
		"deep/er/z": file("z"), "top.txt": file("old top"), "other": file("o")})
}

// TestUndoWhenTypesDiffer restores, outside the present selection, a file
// over a directory and a directory over a file.
func TestUndoWhenTypesDiffer(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"lib": file("a file"), "conf/x": file("x"), "l": link("lib")}, sel("lib", "conf", "l"))
	m := w.memory(tree{"src/a": file("a"), "lib/deep/x": file("x"), "lib/y": fileMode("y", 0o600), "conf": link("src"), "l": file("l")})
	w.cycle(m, sel("src"), nil, target, tree{"src/a": file("a"), "lib": file("a file"), "conf/x": file("x"), "l": link("lib")})
}

// TestIgnoredFiles covers what the present selection, the target's or git
// ignores.
func TestIgnoredFiles(t *testing.T) {
	w := newWorld(t)
	logs := sel("src")
	logs.Ignore = []string{"*.log", "cache/"}

	// The target ignores logs: those of now stay, also where it has none.
	target := w.checkpoint(tree{"src/a": file("old"), "src/x.log": file("log of then"), "src/cache/c": file("c"), "src/d/y.log": file("y")}, logs)
	m := w.memory(tree{"src/a": file("new"), "src/x.log": file("log of now"), "src/z.log": file("z"), "src/cache/n": file("n"), "src/e/f": file("f"), "src/e/q.log": file("q")})
	w.cycle(m, logs, nil, target, tree{"src/a": file("old"), "src/x.log": file("log of now"), "src/z.log": file("z"), "src/cache/n": file("n"), "src/d": dirOf(0o755), "src/e/q.log": file("q")})

	// Only the target ignores them: saved now, but not the target's to remove.
	m = w.memory(tree{"src/a": file("new"), "src/z.log": file("z")})
	w.cycle(m, sel("src"), nil, target, tree{"src/a": file("old"), "src/z.log": file("z"), "src/d": dirOf(0o755)})

	// Only the present rules ignore them: what the restore writes is saved.
	all := w.checkpoint(tree{"src/a": file("old"), "src/x.log": file("log of then"), "src/cache/c": file("c")}, sel("src"))
	m = w.memory(tree{"src/a": file("new"), "src/x.log": file("log of now"), "src/mine.log": file("mine"), "src/cache/n": file("n")})
	w.cycle(m, logs, nil, all, tree{"src/a": file("old"), "src/x.log": file("log of then"), "src/mine.log": file("mine"), "src/cache/n": file("n"), "src/cache/c": file("c")})

	// The same with git's answer.
	m = w.memory(tree{"src/a": file("new"), "src/x.log": file("log of now"), "src/mine.log": file("mine"), "src/cache/n": file("n")})
	w.cycle(m, sel("src"), []string{"src/x.log", "src/mine.log", "src/cache"}, all,
		tree{"src/a": file("old"), "src/x.log": file("log of then"), "src/mine.log": file("mine"), "src/cache/n": file("n"), "src/cache/c": file("c")})
}

// TestIgnoredNowIncludedThen asks git when the safety pair holds ignored
// files and the target left such files out.
func TestIgnoredNowIncludedThen(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old")}, sel("src"))
	include := sel("src")
	include.Gitignored = config.Include
	m := w.memory(tree{"src/a": file("new"), "src/node_modules/x": file("x"), "src/b": file("b")})
	saved := w.safety(m, top, include, []string{"src/node_modules"}, target)
	opt := w.options(m, top, saved, target)
	git := &fixedGit{ignored: []string{"src/node_modules"}}
	opt.Git = git
	_, err := w.restore(opt)
	check(t, err)
	wantTree(t, m, top, tree{"src/a": file("old"), "src/node_modules/x": file("x")})
	if git.asked != 1 {
		t.Errorf("git was asked %d times", git.asked)
	}
}

// TestNamedSourceCounts has a source that git ignores: who names it wants it.
func TestNamedSourceCounts(t *testing.T) {
	w := newWorld(t)
	s := sel("dist", "src")
	s.Ignore = []string{"*.map", "/dist"}
	target := w.checkpoint(tree{"dist/a": file("old"), "dist/a.map": file("m")}, s, "dist")
	m := w.memory(tree{"dist/a": file("new"), "dist/b": file("b"), "dist/b.map": file("m")})
	w.cycle(m, s, []string{"dist"}, target, tree{"dist/a": file("old"), "dist/b.map": file("m")})
}

// TestRandomSelections restores and undoes between random trees with random
// selections on both sides: undo must bring back exactly what was there.
func TestRandomSelections(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	refused := 0
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		w := newWorld(t)
		then, now := randomSelection(rng), randomSelection(rng)
		a := randomTree(rng, "src", 2).merge(randomTree(rng, "lib", 2))
		if a["src/a"].typ == fs.ModeSymlink {
			delete(a, "src/a") // a source must not be reached through a link
		}
		b := randomTree(rng, "src", 2).merge(randomTree(rng, "lib", 2))
		if b["src/a"].typ == fs.ModeSymlink {
			delete(b, "src/a")
		}
		target := w.checkpoint(b, then, "src/a", "lib/b")
		m := w.memory(a)
		safety := w.safety(m, top, now, []string{"src/b", "lib/a"}, target)
		_, err := w.restore(w.options(m, top, safety, target))
		if err != nil {
			if len(fault.ItemsOf(err)) == 0 {
				t.Fatalf("round %d: %v", round, err)
			}
			refused++
			wantTree(t, m, top, a)
			noLeftovers(t, m, top)
			continue
		}
		// Everything that the target holds is there.
		got := harvest(t, m, top)
		for e, err := range w.store.Walk(context.Background(), target.Manifest) {
			check(t, err)
			if e.Path != "." && e.Type != storage.Omitted && got[e.Path].typ.IsDir() != (e.Type == storage.Directory) {
				t.Fatalf("round %d: %q is not restored", round, e.Path)
			}
		}
		undo := w.safety(m, top, now, []string{"src/b", "lib/a"}, safety)
		_, err = w.restore(w.options(m, top, undo, safety))
		if err != nil {
			t.Fatalf("round %d: undo: %v", round, err)
		}
		if got := harvest(t, m, top); got.String() != a.parents().String() {
			t.Fatalf("round %d: selections %+v and %+v: undo leaves\n%swant\n%sthe target was\n%s", round, then, now, got, a, b)
		}
	}
	t.Logf("%d of %d were refused by name", refused, rounds)
}

func randomSelection(rng *rand.Rand) config.Selection {
	sources := [][]string{{"src"}, {"lib"}, {"src", "lib"}, {"."}, {"src/a", "lib"}, {"src/a/b", "src/b"}, {"lib/d e", "src"}}
	ignores := [][]string{nil, nil, {"a"}, {"src/b"}, {"d e/"}, {"/lib/*", "!/lib/b"}}
	return config.Selection{
		Source: sources[rng.IntN(len(sources))], Ignore: ignores[rng.IntN(len(ignores))],
		Gitignored: []string{config.Skip, config.Include}[rng.IntN(2)],
	}
}

func TestCoveredList(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("a"), "lib/new/y": file("y"), "lib/\xff": file("b"), "one": file("1")}, sel("src", "lib", "one"))
	target.Covered = []string{"src/gone", "lib/there", "dir/"}
	m := w.memory(tree{"src/a": file("a"), "lib/there": file("t"), "one/x": file("x")})
	now := w.scan(m, top, sel("src", "lib/there"), nil, nil)
	got, err := Covered(context.Background(), w.store, now.Manifest, target)
	check(t, err)
	want := []string{`"lib/\xff"`, "dir/", "lib/new/", "lib/new/y", "one", "src/gone"}
	if !slices.Equal(got, want) {
		t.Errorf("covered %q, want %q", got, want)
	}
	// What is covered as a file and is a directory is saved with all in it.
	saved := w.scan(m, top, sel("src"), nil, got)
	if _, ok, err := w.store.Lookup(context.Background(), saved.Manifest, "one/x"); !ok || err != nil {
		t.Errorf("one/x: %v, %v", ok, err)
	}
}

func TestQuotedPaths(t *testing.T) {
	for _, p := range []string{"a", "ä b", "a\nb", "\xff", `"a"`, `"`, "a\ufffdb", "a\x00b", strings.Repeat("x", 5000)} {
		got, err := UnquotePath(QuotePath(p))
		if err != nil || got != p {
			t.Errorf("%q becomes %q, %v", p, got, err)
		}
	}
	if _, err := UnquotePath(`"a`); err == nil {
		t.Error("half a quote was read")
	}
}
