package storage

import (
	"testing"

	"forklift/storage/vfs"
)

// TestCheckBesideOthers has somebody capture, or forget, in front of each call
// that a check makes.
func TestCheckBesideOthers(t *testing.T) {
	ctx := t.Context()
	for _, what := range []string{"capture", "forget"} {
		for at, reached := 1, true; reached; at++ {
			l := newMemLab(t)
			l.write("tree/f", []byte("content"))
			l.ok(publish(l.fs, firstPair, "first"))
			other, err := Open(ctx, l.fs, l.path("store"))
			l.ok(err)
			calls, inside := 0, false
			hooked := vfs.Hook(l.fs, func(vfs.Call) error {
				if inside {
					return nil
				}
				if calls++; calls != at {
					return nil
				}
				inside = true
				defer func() { inside = false }()
				if what == "capture" {
					l.write("tree/f", []byte("other content"))
					return publish(l.fs, secondPair, "second")
				}
				l.ok(other.RemoveName(ctx, "project", "worktree", Capture, "first"))
				return other.DeletePair(ctx, "project", firstPair)
			})
			s, err := Open(ctx, hooked, l.path("store"))
			if err == nil {
				report, checkErr := s.Check(ctx, CheckOptions{ReadData: true})
				if err = checkErr; err == nil && len(report.Problems) > 0 {
					t.Errorf("%s in front of call %d: %+v", what, at, report.Problems)
				}
				l.ok(s.Close())
			}
			if err != nil {
				t.Errorf("%s in front of call %d: %v", what, at, err)
			}
			l.ok(other.Close())
			if reached = calls >= at; reached && at > 1000 {
				t.Fatal("it does not end")
			}
		}
	}
}
