package engine

import (
	"context"
	"testing"
)

// TestUnchangedDatabaseIsNotStopped captures again while nothing, then
// something happens in the database, and wants the server left alone only for
// the former, and every checkpoint to be whole.
func TestUnchangedDatabaseIsNotStopped(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	captured := func(name string, unchanged bool) {
		t.Helper()
		server := w.servers[wt.branch.ID]
		res, err := wt.Capture(ctx, CaptureOptions{Name: name})
		must(t, err)
		left := w.servers[wt.branch.ID]
		if res.Unchanged != unchanged || (left == server) != unchanged || left == nil {
			t.Fatalf("capture %s: unchanged %v, the server is the same one: %v, want %v", name, res.Unchanged, left == server, unchanged)
		}
	}
	captured("two", false)
	w.write("src/changed", "more")
	captured("files", true)
	w.insert(wt, "three")
	captured("rows", false)
	w.mute = true
	if res, err := wt.Capture(ctx, CaptureOptions{Name: "mute", WaitOptions: WaitOptions{Disconnect: true}}); err != nil || res.Unchanged {
		t.Fatalf("capture of a server that nobody can ask: %+v, %v", res, err)
	}
	w.mute = false

	must(t, wt.StopDatabase(ctx, WaitOptions{}))
	if res, err := wt.Capture(ctx, CaptureOptions{Name: "stopped"}); err != nil || res.Unchanged {
		t.Fatalf("capture of a stopped database: %+v, %v", res, err)
	}
	_, err := wt.StartDatabase(ctx, true)
	must(t, err)

	_, err = wt.Restore(ctx, RestoreOptions{Ref: "files"})
	must(t, err)
	if rows, err := w.get(wt.branch.SlotDir(SlotB) + "/rows"); err != nil || rows != "one;two;" {
		t.Fatalf("the checkpoint that was made without a stop has the rows %q, %v", rows, err)
	}
	captured("restored", true)
	if text, err := w.get(testRepo + "/src/changed"); err != nil || text != "more" {
		t.Fatalf("and the file is %q, %v", text, err)
	}
}

// TestUnchangedIsAskedAgainBehindTheFiles has a client that commits while the
// source files are read: the checkpoint must have both halves of one moment.
func TestUnchangedIsAskedAgainBehindTheFiles(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	must(t, err)
	w.asked = func(n int) {
		if n == 1 {
			w.insert(wt, "meanwhile")
		}
	}
	res, err := wt.Capture(ctx, CaptureOptions{Name: "three"})
	must(t, err)
	if res.Unchanged {
		t.Fatal("what was committed while the files were read is not in the checkpoint")
	}
	w.asked = nil
	must(t, restoreOne(wt))
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "three"})
	must(t, err)
	if got := w.state(wt); got[len(got)-len("one;two;meanwhile;"):] != "one;two;meanwhile;" {
		t.Fatalf("the checkpoint holds\n%s", got)
	}
}
