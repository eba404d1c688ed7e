package worktree

import (
	"context"
	"iter"
	"testing"

	"forklift/storage"
)

// TestPresentIsWhatAScanSaves holds the entries that Present gives against the
// manifest that a scan makes of the same files by the same rules.
func TestPresentIsWhatAScanSaves(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	fsys := w.memory(tree{
		"src/a.txt": file("b"), "src/a/deep": file("c"), "src/link": link("a.txt"), "src/empty": dirOf(0o755),
		"src/vendor/.git": dirOf(0o755), "src/skip.log": file("ignored"), "other/x": file("x"),
	})
	for _, sources := range [][]string{{"src"}, {"."}, {"src/a.txt", "other"}, {"none"}} {
		s := sel(sources...)
		s.Ignore = []string{"*.log"}
		scanned := w.scan(fsys, top, s, nil, nil)
		rules, err := Rules(RuleOptions{FS: fsys, Dir: top, Selection: s})
		check(t, err)
		present := Present(ctx, PresentOptions{FS: fsys, Dir: top, Store: w.store, Rules: rules})
		if got, want := words(t, present), words(t, w.store.Walk(ctx, scanned.Manifest)); got != want {
			t.Errorf("%v: present\n%swant\n%s", sources, got, want)
		}
		for d, err := range Differences(w.store.Walk(ctx, scanned.Manifest), present) {
			t.Errorf("%v: %s differs from itself (%v)", sources, d.Path(), err)
		}
	}
}

// words lists entries by identity.
func words(t *testing.T, seq iter.Seq2[storage.Entry, error]) (text string) {
	t.Helper()
	for e, err := range seq {
		check(t, err)
		text += e.Path + " " + identity(&e) + "\n"
	}
	return text
}

func TestOnly(t *testing.T) {
	o := only{"src/a", "b"}
	for p, want := range map[string][2]bool{
		"src": {false, true}, "src/a": {true, false}, "src/a/x": {true, false}, "src/ab": {false, false}, "b": {true, false},
		".": {false, true}, "c": {false, false},
	} {
		if got := [2]bool{o.speaks(p), o.leads(p)}; got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	if got := RestrictCovered([]string{"b", "c", "src/", "src/a/x", "src/z"}, o); len(got) != 3 {
		t.Errorf("covered %v", got)
	}
}
