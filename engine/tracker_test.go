package engine

import (
	"context"
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
