package engine

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"forklift/storage/fault"
)

// unsavedWorld is a worktree with the checkpoint "one", and src/changed, src/new
// and "src/removed later" changed since.
func unsavedWorld(t *testing.T) (*world, *Worktree, UnsavedSession) {
	w := newWorld(t)
	return w, history(w), UnsavedSession{ID: "7-1", Editor: "Neovim", PID: os.Getppid()}
}

// refused checks that an error names unsaved buffers.
func refused(t *testing.T, err error, items string) {
	t.Helper()
	if fault.KindOf(err) != fault.Unsaved || strings.Join(fault.ItemsOf(err), ", ") != items {
		t.Errorf("%v with %q, want %q", err, fault.ItemsOf(err), items)
	}
	if err == nil || !strings.Contains(err.Error(), "an editor has unsaved changes") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(fault.HintOf(err), "--include-unsaved disk") {
		t.Errorf("hint %q", fault.HintOf(err))
	}
}

func TestCaptureRefusesUnsavedBuffers(t *testing.T) {
	ctx := context.Background()
	w, wt, editor := unsavedWorld(t)
	must(t, wt.SetUnsaved(ctx, editor, []string{testRepo + "/src/changed", testRepo + "/src/not there yet", testRepo + "/README", "/elsewhere/src/kept"}))
	before := w.state(wt)
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	refused(t, err, "src/changed (Neovim), src/not there yet (Neovim)")
	if got := w.state(wt); got != before {
		t.Errorf("the refused capture left\n%s\nwas\n%s", got, before)
	}
	s, err := wt.Status(ctx)
	must(t, err)
	if len(s.Unsaved) != 3 || s.Unsaved[2].Path != "README" {
		t.Errorf("status tells %+v", s.Unsaved)
	}
	_, err = wt.Capture(ctx, CaptureOptions{Name: "two", WaitOptions: WaitOptions{UnsavedDisk: true}})
	must(t, err)
	must(t, wt.SetUnsaved(ctx, editor, nil))
	must(t, wt.SetUnsaved(ctx, editor, nil))
	_, err = wt.Capture(ctx, CaptureOptions{Name: "three"})
	must(t, err)
}

func TestRestoreRefusesUnsavedBuffersOfWhatItChanges(t *testing.T) {
	ctx := context.Background()
	_, wt, editor := unsavedWorld(t)
	must(t, wt.SetUnsaved(ctx, editor, []string{testRepo + "/src/kept", testRepo + "/outside"}))
	must(t, restoreOne(wt)) // it changes neither
	_, err := wt.Undo(ctx, WaitOptions{})
	must(t, err)
	must(t, wt.SetUnsaved(ctx, editor, []string{testRepo + "/src/changed", testRepo + "/src/new", testRepo + "/src/removed later", testRepo + "/src/kept"}))
	refused(t, restoreOne(wt), "src/changed (Neovim), src/new (Neovim), src/removed later (Neovim)")
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "one", WaitOptions: WaitOptions{UnsavedDisk: true}})
	must(t, err)
	_, err = wt.Undo(ctx, WaitOptions{})
	refused(t, err, "src/changed (Neovim), src/new (Neovim), src/removed later (Neovim)")
}

func TestUnsavedBuffersOfDeadEditorsExpire(t *testing.T) {
	ctx := context.Background()
	w, wt, editor := unsavedWorld(t)
	must(t, wt.SetUnsaved(ctx, editor, []string{testRepo + "/src/changed"}))
	// The same process number, but another process.
	data, err := w.get(wt.unsavedFile(editor.ID))
	must(t, err)
	if !strings.Contains(data, "Neovim") {
		t.Fatalf("record %s", data)
	}
	var rec unsavedRecord
	must(t, wt.readUnsaved(editor.ID, &rec))
	rec.Front.Start++
	must(t, wt.writeUnsaved(editor.ID, rec))
	_, err = wt.Capture(ctx, CaptureOptions{Name: "two"})
	must(t, err)
	if _, err := w.fs.Lstat(wt.unsavedFile(editor.ID)); err == nil {
		t.Error("the record of a dead editor is still there")
	}
}

func TestLastMoveTellsTheFiles(t *testing.T) {
	ctx := context.Background()
	_, wt, _ := unsavedWorld(t)
	if m, err := wt.LastMove(ctx, ""); err != nil || m != nil {
		t.Fatalf("before any: %+v %v", m, err)
	}
	must(t, restoreOne(wt))
	told := func(want string) string {
		t.Helper()
		m, err := wt.LastMove(ctx, "")
		must(t, err)
		var list []string
		for _, f := range m.Files {
			list = append(list, f.Change+" "+f.Path)
		}
		if got := m.Verb + ": " + strings.Join(list, ", "); got != want || m.FileCount != len(list) {
			t.Errorf("%s, want %s", got, want)
		}
		return m.Operation
	}
	told("restore: modified src/changed, removed src/new, added src/removed later")
	_, err := wt.Undo(ctx, WaitOptions{})
	must(t, err)
	op := told("undo: modified src/changed, added src/new, removed src/removed later")
	if m, err := wt.LastMove(ctx, op); err != nil || len(m.Files) != 0 {
		t.Errorf("known: %+v %v", m, err)
	}
}

func TestWhatCheckpointsHaveOfAFile(t *testing.T) {
	ctx := context.Background()
	w, wt, _ := unsavedWorld(t)
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	must(t, err)
	held := func(p, want string) {
		t.Helper()
		list, err := wt.Holding(ctx, p, 5)
		must(t, err)
		got := ""
		for _, h := range list {
			if h.Has {
				got += " " + h.Name
			}
			if h.Same {
				got += "="
			}
		}
		if got != want {
			t.Errorf("%s is in%s, want%s", p, got, want)
		}
	}
	held("src/kept", " two= one=")
	held("src/changed", " two= one")
	held("src/new", " two=")
	held("src/none", "")
	w.write("src/changed", "one")
	held("src/changed", " two one=")

	recent, err := wt.Recent(ctx, 5)
	must(t, err)
	if len(recent) != 2 || !recent[0].Current || recent[0].Files != 0 || recent[1].Name != "one" || recent[1].Files != 3 {
		t.Errorf("recent: %+v", recent)
	}
	selected, err := wt.Selected(ctx, []string{"src/a", "other"})
	must(t, err)
	if !selected["src/a"] || selected["other"] {
		t.Errorf("selected: %v", selected)
	}
	data, err := wt.FileAt(ctx, "one", "src/changed")
	must(t, err)
	if string(data) != "one" {
		t.Errorf("content %q", data)
	}
	if _, err := wt.FileAt(ctx, "one", "src/new"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a file that was not there: %v", err)
	}
	must(t, w.fs.Mkdir(testRepo+"/src/nested", 0o755))
	w.write("src/nested/.git", "gitdir: elsewhere")
	places, err := wt.Places(ctx, true)
	must(t, err)
	if got := strings.Join(places.Dirs, " "); got != ". src" {
		t.Errorf("places %s", got)
	}
	// A repository below counts when its .git is gone.
	if !slices.Contains(places.Rules, "src/nested/.git") {
		t.Errorf("rules %q", places.Rules)
	}
	quick, err := wt.QuickStatus(ctx)
	must(t, err)
	if quick.FilesKnown || quick.Checkpoint == nil || quick.Checkpoint.Name != "two" {
		t.Errorf("quick status: %+v", quick)
	}
}
