package engine

import (
	"context"
	"fmt"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestATrackedStatusLooksWhereItIsTold has a tracker that is told of less than
// what happened, to see that it did not look elsewhere, and compares it with
// a status when it is told of all.
func TestATrackedStatusLooksWhereItIsTold(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	var tracker Tracker
	tracked := func(touched []string) []FileChange {
		t.Helper()
		s, err := wt.TrackedStatus(ctx, &tracker, touched)
		must(t, err)
		if !s.FilesKnown || s.FileCount != len(s.Files) {
			t.Fatalf("%d files, known %v, listed %d", s.FileCount, s.FilesKnown, len(s.Files))
		}
		return s.Files
	}
	same := func(what string, got []FileChange) {
		t.Helper()
		s, err := wt.Status(ctx)
		must(t, err)
		if d := cmp.Diff(s.Files, got); d != "" {
			t.Errorf("%s:\n%s", what, d)
		}
	}
	before := tracked([]string{}) // nothing is known yet: it scans
	same("the first", before)
	w.write("src/one more", "x")
	w.write("src/kept", "changed")
	if d := cmp.Diff(before, tracked([]string{})); d != "" {
		t.Errorf("it looked although nothing was told:\n%s", d)
	}
	if got := tracked([]string{"src/kept"}); len(got) != len(before)+1 {
		t.Errorf("told of one file it found %v", got)
	}
	same("told of the other too", tracked([]string{"src/one more"}))
	must(t, w.fs.Mkdir(testRepo+"/src/directory", 0o755))
	w.write("src/directory/x", "x")
	same("a new directory", tracked([]string{"src/directory"}))
	w.write("src/late", "x")
	same("anything", tracked(nil))
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	must(t, err)
	w.write("src/late", "y")
	same("against another checkpoint", tracked([]string{}))
}

// TestAScanIsFollowed has whoever follows a scan write into each directory when
// he is told of it: from then on he watches, and what is written earlier the
// scan itself must find.
func TestAScanIsFollowed(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	must(t, w.fs.Mkdir(testRepo+"/src/deep", 0o755))
	w.write("src/deep/x", "x")
	must(t, w.fs.Mkdir(testRepo+"/src/nested", 0o755))
	w.write("src/nested/.git", "gitdir: elsewhere")
	told := map[string]int{}
	tracker := Tracker{Follow: func(dir string, repository bool) {
		told[fmt.Sprint(dir, " ", repository)]++
		if !repository {
			w.write(path.Join(dir, "written when told"), "x")
		}
	}}
	s, err := wt.TrackedStatus(ctx, &tracker, nil)
	must(t, err)
	if !tracker.Followed() {
		t.Error("it was not followed")
	}
	for _, dir := range []string{"src false", "src/deep false", "src/nested true"} {
		if told[dir] == 0 {
			t.Errorf("%s was not told, but %v", dir, told)
		}
	}
	found := map[string]bool{}
	for _, f := range s.Files {
		found[f.Path] = true
	}
	if !found["src/written when told"] || !found["src/deep/written when told"] {
		t.Errorf("the scan had read a directory before it told of it: %v", s.Files)
	}
	if _, err := wt.TrackedStatus(ctx, &tracker, []string{}); err != nil || tracker.Followed() {
		t.Errorf("a look at nothing was a scan: %v", err)
	}
}

// changingGit is git whose rules change.
type changingGit struct {
	fakeGit
	ignored *[]string
	asked   *int
}

func (g changingGit) Ignored(context.Context, Repo, []string) ([]string, error) {
	*g.asked++
	return *g.ignored, nil
}

// TestDoubtAsksGitAgain: what git ignores can change without any file that
// counts, such as by `git add -f` or the user's own rules.
func TestDoubtAsksGitAgain(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	ignored, asked := []string{"src/new"}, 0
	wt.host.Git = changingGit{fakeGit{w.fs}, &ignored, &asked}
	var tracker Tracker
	has := func(touched []string) bool {
		t.Helper()
		s, err := wt.TrackedStatus(ctx, &tracker, touched)
		must(t, err)
		for _, f := range s.Files {
			if f.Path == "src/new" {
				return true
			}
		}
		return false
	}
	if has(nil) || asked != 1 {
		t.Errorf("an ignored file is told, git was asked %d times", asked)
	}
	ignored = nil
	if has([]string{}) || asked != 1 {
		t.Errorf("git was asked %d times although nobody doubted", asked)
	}
	tracker.Doubt()
	if !has([]string{}) {
		t.Error("the file is not ignored any more, and not told")
	}
	from := asked
	tracker.Doubt()
	if !has([]string{}) || asked != from+1 {
		t.Errorf("git was asked %d times more, although nothing has changed", asked-from)
	}
}
