package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"forklift/storage/clock"
)

const patience = 20 * time.Second

// place is a worktree's directories and a watcher over them.
func place(t *testing.T, opt Options) (string, Target, *Watcher) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"src/deep", ".git/info", "records/holders", "other"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	opt.Clock = clock.System{}
	w := New(opt)
	t.Cleanup(w.Close)
	target := Target{Root: root, GitDir: filepath.Join(root, ".git"), Records: filepath.Join(root, "records"),
		Holders: filepath.Join(root, "records/holders"), Dirs: []string{".", "src", "src/deep"}, Rules: []string{".forklift.json", "other/.git", filepath.Join(root, ".git/info/exclude")},
		Settings: []string{filepath.Join(root, ".git/config"), filepath.Join(root, "src/settings")}}
	w.Set(target)
	return root, target, w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte("x"), 0o644))
}

// next waits for an event that has all of want.
func next(t *testing.T, w *Watcher, want Event) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case e := <-w.Events():
			both := e
			both.Add(want)
			if both.Paths = e.Paths; reflect.DeepEqual(both, e) {
				return
			}
		case <-deadline:
			t.Fatalf("no event %+v within %v", want, patience)
		}
	}
}

func TestEventsSayWhereToLook(t *testing.T) {
	root, _, w := place(t, Options{})
	for name, want := range map[string]Event{
		"src/deep/file":         {Files: true},
		"src/.gitignore":        {Files: true, Dirs: true},
		".forklift.json":        {Files: true, Dirs: true},
		"other/.git":            {Files: true, Dirs: true},
		".git/info/exclude":     {Files: true, Dirs: true},
		".git/config":           {Settings: true},
		"src/settings":          {Files: true, Settings: true},
		"records/current.json":  {Records: true},
		"records/holders/x":     {Records: true},
		".git/forklift.json":    {Link: true},
		"src/deep/another file": {Files: true},
	} {
		write(t, filepath.Join(root, name))
		next(t, w, want)
	}
}

func TestEventsNameTheFiles(t *testing.T) {
	root, _, w := place(t, Options{})
	write(t, filepath.Join(root, "src/a"))
	write(t, filepath.Join(root, "src/deep/b"))
	write(t, filepath.Join(root, "src/a"))
	got := map[string]bool{}
	deadline := time.After(patience)
	for len(got) < 2 {
		select {
		case e := <-w.Events():
			for _, p := range e.Paths {
				got[p] = true
			}
			if e.Files && e.Paths == nil {
				t.Fatalf("event %+v names no file", e)
			}
		case <-deadline:
			t.Fatalf("only %v", got)
		}
	}
	if !got["src/a"] || !got["src/deep/b"] {
		t.Errorf("named %v", got)
	}
	for i := range 2 * maxPaths {
		write(t, filepath.Join(root, "src", fmt.Sprint(i)))
	}
	for {
		select {
		case e := <-w.Events():
			if e.Files && e.Paths == nil {
				return // too many for names
			}
		case <-deadline:
			t.Fatal("a storm names every file")
		}
	}
}

func TestNewDirectoriesAreWatchedAtOnce(t *testing.T) {
	root, _, w := place(t, Options{})
	must(t, os.Mkdir(filepath.Join(root, "src/new"), 0o755))
	next(t, w, Event{Files: true, Dirs: true})
	write(t, filepath.Join(root, "src/new/file"))
	next(t, w, Event{Files: true})
	must(t, os.RemoveAll(filepath.Join(root, "src/new")))
	next(t, w, Event{Files: true, Dirs: true})
	must(t, os.RemoveAll(root))
	next(t, w, Event{Files: true, Link: true})
}

func TestAStormIsGathered(t *testing.T) {
	root, _, w := place(t, Options{})
	const files = 10_000
	done := make(chan error, 1)
	go func() {
		for i := range files {
			if err := os.WriteFile(filepath.Join(root, "src", fmt.Sprint(i)), nil, 0o644); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	events := 0
	written := false
	idle := time.NewTimer(patience)
	for quietNow := false; !quietNow; {
		select {
		case <-w.Events():
			events++
			idle.Reset(patience)
			if written {
				idle.Reset(10 * most)
			}
		case err := <-done:
			must(t, err)
			written = true
			idle.Reset(10 * most)
		case <-idle.C:
			quietNow = true
		}
	}
	if events == 0 || events > files/10 {
		t.Errorf("%d events of %d changes", events, files)
	}
}

func TestWithoutWatchesItScans(t *testing.T) {
	root, _, w := place(t, Options{Limit: 1, Every: 10 * time.Millisecond})
	for _, name := range []string{"src/deep/file", "records/holders/x", ".git/forklift.json"} {
		write(t, filepath.Join(root, name))
		next(t, w, everything)
	}
}

func TestWhatIsNotATargetAnyMoreIsSilent(t *testing.T) {
	root, target, w := place(t, Options{})
	target.Dirs = []string{"."}
	w.Set(target)
	write(t, filepath.Join(root, "src/deep/file"))
	write(t, filepath.Join(root, "records/current.json"))
	select {
	case e := <-w.Events():
		if !reflect.DeepEqual(e, Event{Records: true}) {
			t.Errorf("event %+v", e)
		}
	case <-time.After(patience):
		t.Error("no event")
	}
}

// named waits for an event that names a file.
func named(t *testing.T, w *Watcher, want string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case e := <-w.Events():
			if slices.Contains(e.Paths, want) {
				return
			}
		case <-deadline:
			t.Fatalf("no event names %s within %v", want, patience)
		}
	}
}

// A directory that is moved takes its watches along; what is in it, and in a
// new one of the old name, must be told by the names of now.
func TestMovedDirectoriesAreWatchedByTheirNewNames(t *testing.T) {
	root, target, w := place(t, Options{})
	for i := range 4 {
		moved := fmt.Sprint("moved", i)
		must(t, os.Rename(filepath.Join(root, "src"), filepath.Join(root, moved)))
		must(t, os.MkdirAll(filepath.Join(root, "src/deep"), 0o755))
		target.Dirs = append(target.Dirs, moved, moved+"/deep")
		// As a session does: the directories are told after each such event.
		for quiet := false; !quiet; {
			select {
			case e := <-w.Events():
				if e.Dirs {
					w.Set(target)
				}
			case <-time.After(3 * most):
				quiet = true
			}
		}
		for _, name := range []string{"src/f", "src/deep/f", moved + "/f", moved + "/deep/f"} {
			write(t, filepath.Join(root, name))
			named(t, w, name)
		}
	}
}

// TestATargetIsFollowed finds out what there is while it is watched.
func TestATargetIsFollowed(t *testing.T) {
	root, target, w := place(t, Options{})
	must(t, os.MkdirAll(filepath.Join(root, "src/found"), 0o755))
	next(t, w, Event{Files: true, Dirs: true})
	target.Dirs = []string{"."}
	w.Begin(target)
	write(t, filepath.Join(root, "src/deep/still watched"))
	next(t, w, Event{Files: true})
	w.Follow("src", false)
	w.Follow("src/found", false)
	write(t, filepath.Join(root, "src/found/file"))
	next(t, w, Event{Files: true})
	w.Follow("src/inner/.git", true)
	w.End()
	write(t, filepath.Join(root, "src/deep/not followed"))
	write(t, filepath.Join(root, "src/found/again"))
	for {
		e := <-w.Events()
		if slices.Contains(e.Paths, "src/deep/not followed") || e.Files && e.Paths == nil {
			t.Fatalf("event %+v", e)
		}
		if slices.Contains(e.Paths, "src/found/again") {
			break
		}
	}
}

func TestApprovalsAndTheIndexAreTold(t *testing.T) {
	root, target, w := place(t, Options{})
	write(t, filepath.Join(root, ".git/index"))
	next(t, w, Event{Index: true})
	must(t, os.MkdirAll(filepath.Join(root, "state"), 0o755))
	target.Trust = filepath.Join(root, "state/trust")
	w.Set(target)
	must(t, os.Mkdir(target.Trust, 0o700))
	next(t, w, Event{Records: true, Dirs: true})
	w.Set(target)
	write(t, filepath.Join(target.Trust, "approval"))
	next(t, w, Event{Records: true})
}

// TestExtendWatchesMoreFiles: settings that changed name another rule and other
// settings, and what was watched before still is.
func TestExtendWatchesMoreFiles(t *testing.T) {
	root, _, w := place(t, Options{})
	for _, dir := range []string{"mine", "included"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	w.Extend(Target{Rules: []string{filepath.Join(root, "mine/ignore")}, Settings: []string{filepath.Join(root, "included/config")}})
	for name, want := range map[string]Event{
		"mine/ignore":       {Files: true, Dirs: true},
		"included/config":   {Settings: true},
		".git/config":       {Settings: true},
		".git/info/exclude": {Files: true, Dirs: true},
		"src/deep/file":     {Files: true},
	} {
		write(t, filepath.Join(root, name))
		next(t, w, want)
	}
}
