package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"forklift/storage/fault"

	"github.com/google/go-cmp/cmp"
)

func TestPairsAndNames(t *testing.T) {
	l := newMemLab(t)
	l.write("tree/f", []byte("content"))
	tree := l.capture("tree", bothUnits["chunks"], nil)
	made := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	p := &Pair{ID: NewPairID(made), Project: "p1", Worktree: "w1", Name: "before", Kind: Capture, Created: made, Actor: "cli", Note: "a note",
		Labels: []string{"x"}, Parents: []PairID{firstPair}, Head: "abc", GitBranch: "main",
		Source: SourceState{Manifest: tree.Manifest, Paths: []string{"src"}, Files: 1, Bytes: 7},
		Databases: []DatabaseState{{Kind: "postgres", State: StateClean, Trees: []TreeState{{Name: "pgdata", Manifest: tree.Manifest, Files: 1, Bytes: 7}},
			Facts: json.RawMessage(`{"version":17}`)}}, AddedBytes: 5, LogicalBytes: 14}
	ctx := t.Context()
	l.ok(l.s.PutPair(ctx, p))
	got, err := l.s.Pair(ctx, "p1", p.ID)
	l.ok(err)
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
	if !p.ID.Time().Equal(made) {
		t.Errorf("the id is of %v", p.ID.Time())
	}
	if err := l.s.PutPair(ctx, p); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a pair was replaced: %v", err)
	}
	l.ok(l.s.SetName(ctx, "p1", "w1", Capture, "Before", p.ID))
	l.ok(l.s.SetName(ctx, "p1", "w1", Capture, "before", p.ID)) // other case, other name
	l.ok(l.s.SetName(ctx, "p1", "w1", Safety, "before", p.ID))  // other kind
	l.ok(l.s.SetName(ctx, "p1", "w2", Capture, "before", p.ID)) // other worktree
	err = l.s.SetName(ctx, "p1", "w1", Capture, "before", p.ID)
	if !errors.Is(err, fs.ErrExist) || fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Errorf("a name was taken twice: %v", err)
	}
	if strings.Contains(err.Error(), fs.ErrExist.Error()) {
		t.Errorf("%v: it says so twice", err)
	}
	if id, err := l.s.Name(ctx, "p1", "w1", Safety, "before"); err != nil || id != p.ID {
		t.Error(id, err)
	}
	names, err := l.s.Names(ctx, "p1", "")
	l.ok(err)
	want(t, "names", fmt.Sprint(names), fmt.Sprint([]NamedPair{{"w1", Capture, "Before", p.ID}, {"w1", Capture, "before", p.ID},
		{"w1", Safety, "before", p.ID}, {"w2", Capture, "before", p.ID}}))
	names, err = l.s.Names(ctx, "p1", "w2")
	if err != nil || len(names) != 1 {
		t.Error(names, err)
	}
	l.ok(l.s.RemoveName(ctx, "p1", "w1", Capture, "Before"))
	l.ok(l.s.RemoveName(ctx, "p1", "w1", Capture, "Before"))
	if _, err := l.s.Name(ctx, "p1", "w1", Capture, "Before"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a removed name: %v", err)
	}
	pairs, err := l.s.Pairs(ctx, "p1")
	if err != nil || len(pairs) != 1 {
		t.Error(pairs, err)
	}
	l.ok(l.s.DeletePair(ctx, "p1", p.ID))
	l.ok(l.s.DeletePair(ctx, "p1", p.ID))
	if _, err := l.s.Pair(ctx, "p1", p.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a deleted pair: %v", err)
	}
	if err := l.s.SetName(ctx, "p1", "w1", Capture, "dangling", p.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a name for a pair that is not there: %v", err)
	}
	report, err := l.s.Check(ctx, CheckOptions{})
	if err != nil || len(report.Problems) != 3 { // the names that are left
		t.Errorf("%+v %v", report, err)
	}
}

func TestSeedsAreOfNoProject(t *testing.T) {
	l := newMemLab(t)
	p := &Pair{ID: firstPair, Kind: Seed, Name: "base"}
	l.ok(l.s.PutPair(t.Context(), p))
	l.ok(l.s.SetName(t.Context(), "", "", Seed, "base", p.ID))
	l.ok(l.s.SetName(t.Context(), "", "", Template, "base", p.ID))
	if names, err := l.s.Names(t.Context(), "", ""); err != nil || len(names) != 2 {
		t.Error(names, err)
	}
}

func TestPairsThatAreRefused(t *testing.T) {
	l := newMemLab(t)
	for what, p := range map[string]*Pair{
		"id":       {ID: "short", Kind: Capture},
		"kind":     {ID: firstPair, Kind: "other"},
		"state":    {ID: firstPair, Kind: Capture, Databases: []DatabaseState{{State: "half"}}},
		"manifest": {ID: firstPair, Kind: Capture, Source: SourceState{Manifest: ID{1}}},
		"project":  {ID: firstPair, Kind: Capture, Project: "../up"},
	} {
		if err := l.s.PutPair(t.Context(), p); err == nil {
			t.Errorf("stored a pair with a wrong %s", what)
		}
	}
	// One with a state of the future that is there already is refused by name.
	l.ok(l.s.PutPair(t.Context(), &Pair{ID: firstPair, Kind: Capture, Databases: []DatabaseState{{State: StateClean}}}))
	for _, id := range []PairID{"", "x", "../../format", PairID(strings.ToUpper(string(firstPair)))} {
		if _, err := l.s.Pair(t.Context(), "", id); err == nil || fault.KindOf(err) == fault.NotFound {
			t.Errorf("pair %q: %v", id, err)
		}
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "A.b_c-d", "2026-11-29", "_x", strings.Repeat("x", 128)} {
		if err := ValidName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-x", ".x", "a..b", "a b", "a/b", "ä", "a\n", "a@b", "a=b", strings.Repeat("x", 129)} {
		if err := ValidName(name); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Different names have different files, also where case does not count, and
// the file names are not too long for a directory.
func TestEncodeName(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"abc", "Abc", "aBc", "abC", "ABC", "abc-", "abcdefghI", "abcdefgHi", strings.Repeat("Ab", 64), strings.Repeat("aB", 64)} {
		file := encodeName(name)
		if file != strings.ToLower(file) || len("template@"+file) > 255 || path.Base(file) != file {
			t.Errorf("%q becomes %q", name, file)
		}
		if other, ok := seen[file]; ok {
			t.Errorf("%q and %q both become %q", name, other, file)
		}
		seen[file] = name
	}
	want(t, "Release-1", encodeName("Release-1"), "release-1=01")
}

func TestIDs(t *testing.T) {
	id := ID{0xab, 31: 0xcd}
	text, err := id.MarshalText()
	var back ID
	if err != nil || back.UnmarshalText(text) != nil || back != id || id.IsZero() {
		t.Error(string(text), err, back)
	}
	if text, _ = (ID{}).MarshalText(); len(text) != 0 || back.UnmarshalText(nil) != nil || !back.IsZero() {
		t.Error("the zero id is not empty")
	}
	for _, s := range []string{"ab", strings.Repeat("x", 64), strings.Repeat("a", 65)} {
		if _, err := ParseID(s); err == nil || back.UnmarshalText([]byte(s)) == nil {
			t.Errorf("%q is an id", s)
		}
	}
}
