package worktree

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// editor is somebody who works in the worktree while a restore runs: at
// random calls he saves a file, in place or by renaming a new one over it,
// removes one, or makes a directory. Everything he wrote is remembered.
type editor struct {
	t     testing.TB
	rng   *rand.Rand
	m     *vfs.Mem
	mu    sync.Mutex        // calls come from several goroutines
	wrote map[string]string // content to the path that it was written to
	gone  map[string]bool   // contents that he removed or replaced himself
}

// edit does one thing.
func (e *editor) edit() {
	dir := top + "/src"
	for range e.rng.IntN(3) {
		next := path.Join(dir, names[e.rng.IntN(len(names))])
		if info, err := e.m.Lstat(next); err != nil || !info.IsDir() {
			break
		}
		dir = next
	}
	p := path.Join(dir, names[e.rng.IntN(len(names))])
	info, err := e.m.Lstat(p)
	switch what := e.rng.IntN(10); {
	case what == 0 && err != nil:
		_ = e.m.Mkdir(p, 0o755)
	case what == 1 && err == nil && !info.IsDir():
		if info.IsRegular() {
			e.gone[read(e.t, e.m, p)] = true
		}
		_ = e.m.Remove(p)
	case err == nil && info.IsRegular() && what < 5:
		e.gone[read(e.t, e.m, p)] = true
		write(e.t, e.m, p, e.content(p))
	case err != nil || !info.IsDir():
		if err == nil && info.IsRegular() {
			e.gone[read(e.t, e.m, p)] = true
		}
		temp := top + "/.editor"
		content := e.content(p)
		write(e.t, e.m, temp, content)
		if e.m.Rename(temp, p) != nil { // the directory is gone
			e.gone[content] = true
			_ = e.m.Remove(temp)
		}
	}
}

// content is text that nobody wrote before.
func (e *editor) content(p string) string {
	text := fmt.Sprintf("edit %d of %q", len(e.wrote), p)
	e.wrote[text] = strings.TrimPrefix(p, top+"/")
	return text
}

// errKilled is what every call fails with once the process was killed.
var errKilled = errors.New("killed")

// TestNoEditIsLost lets somebody edit all through the restores of random
// trees, many of which are killed somewhere, edited further, and recovered
// forward or back. Each content that he wrote and did not replace himself must
// be in the worktree or among the rescued files, at its path.
func TestNoEditIsLost(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	edits, rescues, refused, killed := 0, 0, 0, 0
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		w := newWorld(t)
		a := randomTree(rng, "src", 2)
		i := &interrupted{world: w, target: w.checkpoint(mutate(rng, a), sel("src"))}
		m := w.memory(a)
		i.saved = w.safety(m, top, sel("src"), nil, i.target)
		e := &editor{t: t, rng: rng, m: m, wrote: map[string]string{}, gone: map[string]bool{}}
		calls, killAt := 0, 1_000_000
		if rng.IntN(5) == 0 {
			killAt = rng.IntN(100)
		}
		hooked := vfs.Hook(m, func(vfs.Call) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			if calls++; calls > killAt {
				return errKilled
			}
			if rng.IntN(12) == 0 {
				e.edit()
			}
			return nil
		})
		in, err := Stage(context.Background(), w.options(hooked, top, i.saved, i.target))
		i.switched = err == nil
		if err == nil {
			killAt = calls + rng.IntN(80)
			_, err = in.Run(context.Background())
		}
		if err != nil && !errors.Is(err, errKilled) && (i.switched || len(fault.ItemsOf(err)) == 0) {
			t.Fatalf("round %d: %v", round, err)
		}
		var list []Rescue
		switch {
		case !i.switched:
			refused++
			check(t, RemoveStaging(context.Background(), m, top, operation))
		default:
			if err != nil {
				killed++
			}
			for range rng.IntN(3) {
				e.edit()
			}
			in, list, err = i.again(m, err != nil && rng.IntN(2) == 0)
			check(t, err)
			checkRescues(t, w, m, in, list)
		}
		edits, rescues = edits+len(e.wrote), rescues+len(list)
		e.find(list)
	}
	t.Logf("%d edits, %d rescued; of %d restores %d were killed and recovered, %d ended before the switch", edits, rescues, rounds, killed, refused)
}

// find looks for everything that was written.
func (e *editor) find(list []Rescue) {
	e.t.Helper()
	found := map[string]bool{}
	for p, x := range harvest(e.t, e.m, top) {
		if e.wrote[x.data] == p {
			found[x.data] = true
		}
	}
	for _, r := range list {
		if r.info.IsRegular() {
			text := read(e.t, e.m, path.Join(top, r.staged))
			found[text] = found[text] || e.wrote[text] == r.path
		}
	}
	for text, p := range e.wrote {
		if !found[text] && !e.gone[text] {
			e.t.Fatalf("%q, written to %q, is lost\nrescued: %v\nworktree:\n%s", text, p, list, harvest(e.t, e.m, top))
		}
	}
}

// checkRescues makes the rescue manifest and looks whether it holds what was
// displaced.
func checkRescues(t testing.TB, w *world, m *vfs.Mem, in *Install, list []Rescue) {
	t.Helper()
	ctx := context.Background()
	writer, err := w.store.NewWriter(ctx)
	check(t, err)
	defer writer.Abort()
	manifest, files, _, err := in.Rescues(ctx, writer)
	check(t, err)
	check(t, writer.Commit(ctx))
	want := map[string]Rescue{}
	for _, r := range list {
		if r.saved != "" {
			want[r.saved] = r
		}
	}
	if files != len(want) {
		t.Fatalf("%d files in the manifest, want %d", files, len(want))
	}
	if files == 0 {
		return
	}
	for e, err := range w.store.Walk(ctx, manifest) {
		check(t, err)
		if e.Type == storage.Directory {
			continue
		}
		r, ok := want[e.Path]
		info, err := m.Lstat(path.Join(top, r.staged))
		if !ok || err != nil {
			t.Fatalf("%q in the manifest, %v, %v", e.Path, ok, err)
		}
		root, err := m.OpenRoot(top)
		check(t, err)
		p := prober{ctx, root, w.store}
		if same, err := p.matches(r.staged, info, &e, true); !same || err != nil {
			t.Fatalf("%q in the manifest is not what was displaced: %v", e.Path, err)
		}
		check(t, root.Close())
	}
}

func TestEditedFileIsRescued(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old"), "src/b": file("old b")}, sel("src"))
	m := w.memory(tree{"src/a": file("new"), "src/b": file("new b"), "src/gone": file("x"), "src/same": file("x")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	write(t, m, top+"/src/a", "edited")
	check(t, m.Remove(top+"/src/gone"))
	check(t, m.Symlink("elsewhere", top+"/src/gone"))
	check(t, m.Chmod(top+"/src/b", 0o755))
	list, err := finish(context.Background(), in)
	check(t, err)
	var got []string
	for _, r := range list {
		got = append(got, r.Path+" "+r.Saved+r.Unsaved)
	}
	if want := "[src/a src/a src/b src/b src/gone src/gone]"; fmt.Sprint(got) != want {
		t.Errorf("rescued %v, want %v", got, want)
	}
	wantTree(t, m, top, tree{"src/a": file("old"), "src/b": file("old b")})
	noLeftovers(t, m, top)
}

// TestWriterThatNeverStops makes a path again each time that it was cleared.
func TestWriterThatNeverStops(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old")}, sel("src"))
	m := w.memory(tree{"src/a": file("new")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	written := 0
	in.fs = vfs.Hook(m, func(c vfs.Call) error {
		if c.Op == vfs.OpLink {
			written++
			write(t, m, top+"/src/a", fmt.Sprint("again ", written))
		}
		return nil
	})
	writtenAgain := func() {
		t.Helper()
		_, err := in.Run(context.Background())
		if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "src/a is written again and again") || !strings.Contains(fault.HintOf(err), "recover") {
			t.Errorf("error %v after %d writes", err, written)
		}
	}
	writtenAgain()
	writtenAgain()
	last := fmt.Sprint("again ", written)
	// The program was ended; but the places for what is displaced are used up.
	in.fs = m
	writtenAgain()
	if got := read(t, m, top+"/src/a"); got != last {
		t.Errorf("src/a holds %q, want what was written last, %q", got, last)
	}
}

// TestWhatCannotBeSavedStays puts a FIFO's like and a repository into the way
// after the stage: they are displaced, kept and reported, never deleted.
func TestWhatCannotBeSavedStays(t *testing.T) {
	dir := t.TempDir()
	w, fsys := newWorld(t), vfs.OS()
	check(t, os.Mkdir(dir+"/.git", 0o755))
	target := w.checkpoint(tree{"src/a": file("old"), "src/lib": file("a file")}, sel("src"))
	plant(t, fsys, dir, tree{"src/a": file("new"), "src/lib": dirOf(0o755), "src/lib/x": file("x")})
	saved := w.safety(fsys, dir, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(fsys, dir, saved, target))
	check(t, err)
	check(t, os.Remove(dir+"/src/a"))
	mkfifo(t, dir+"/src/a")
	plant(t, fsys, dir+"/src/lib", tree{"nested/.git/HEAD": file("ref"), "nested/code": file("precious"), "new": file("also")})
	list, err := finish(context.Background(), in)
	check(t, err)
	kept := map[string]string{}
	for _, r := range list {
		kept[r.Path] = r.Unsaved
		if r.Unsaved != "" {
			if _, err := os.Lstat(path.Join(dir, r.Staged)); err != nil {
				t.Errorf("%s is not kept: %v", r.Path, err)
			}
		}
	}
	if kept["src/a"] != "fifo" || kept["src/lib/nested"] != ReasonRepository || len(list) != 3 {
		t.Errorf("rescued %+v", list)
	}
	wantTree(t, fsys, dir, tree{"src/a": file("old"), "src/lib": file("a file")})
	names, err := Leftovers(context.Background(), fsys, dir)
	if err != nil || len(names) != 1 {
		t.Fatalf("left over: %q, %v", names, err)
	}
	ok, unknown, err := Disposable(context.Background(), fsys, dir, w.store, names[0], []storage.ID{saved.Manifest, target.Manifest})
	if ok || err != nil || len(unknown) != 3 {
		t.Errorf("disposable: %v, %q, %v", ok, unknown, err)
	}
}

// TestLateWriterKeepsItsFile has a program that still writes to a displaced
// file after it was looked at.
func TestLateWriterKeepsItsFile(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old")}, sel("src"))
	m := w.memory(tree{"src/a": file("new")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	f, err := m.OpenFile(top+"/src/a", os.O_WRONLY|os.O_APPEND, 0)
	check(t, err)
	list, err := in.Run(context.Background())
	check(t, err)
	if len(list) != 0 {
		t.Errorf("rescued %v", list)
	}
	_, err = f.Write([]byte(" and late"))
	check(t, errors.Join(err, f.Close(), in.Remove(context.Background())))
	names, err := Leftovers(context.Background(), m, top)
	if err != nil || len(names) != 1 || read(t, m, path.Join(top, names[0], oldDir, "0")) != "new and late" {
		t.Errorf("left over: %q, %v", names, err)
	}
}

// TestLaterEditIsNoFailure formats a file as soon as it was installed.
func TestLaterEditIsNoFailure(t *testing.T) {
	for _, inPlace := range []bool{true, false} {
		w := newWorld(t)
		target := w.checkpoint(tree{"src/a": file("old")}, sel("src"))
		m := w.memory(tree{"src/a": file("new")})
		saved := w.safety(m, top, sel("src"), nil, target)
		in, err := Stage(context.Background(), w.options(m, top, saved, target))
		check(t, err)
		_, err = in.Run(context.Background())
		check(t, err)
		if !inPlace {
			check(t, m.Remove(top+"/src/a"))
		}
		write(t, m, top+"/src/a", "formatted")
		check(t, in.Verify(context.Background()))
		// After a crash it has to be installed again; then the edit is rescued.
		again, err := OpenInstall(context.Background(), m, top, w.store, w.clock, operation, false)
		check(t, err)
		list, err := finish(context.Background(), again)
		check(t, err)
		if len(list) != 1 || list[0].Path != "src/a" {
			t.Errorf("rescued %v", list)
		}
		wantTree(t, m, top, tree{"src/a": file("old")})
	}
}

// TestEditWhileVerifyingIsNoFailure saves a file after Verify has looked at its
// time and before it reads it.
func TestEditWhileVerifyingIsNoFailure(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old")}, sel("src"))
	m := w.memory(tree{"src/a": file("new")})
	saved := w.safety(m, top, sel("src"), nil, target)
	verifying, edited := false, false
	hooked := vfs.Hook(m, func(c vfs.Call) error {
		if verifying && !edited && c.Op != vfs.OpLstat && strings.HasSuffix(c.Name, "src/a") {
			edited = true
			write(t, m, top+"/src/a", "edited")
		}
		return nil
	})
	in, err := Stage(context.Background(), w.options(hooked, top, saved, target))
	check(t, err)
	_, err = in.Run(context.Background())
	check(t, err)
	verifying = true
	if err := in.Verify(context.Background()); err != nil || !edited {
		t.Errorf("edited: %v, %v, want an edit that is no failure", edited, err)
	}
	if got := read(t, m, top+"/src/a"); got != "edited" {
		t.Errorf("the file has %q, want the edit", got)
	}
}

func TestVerifyFindsWhatWasNotInstalled(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old"), "src/d": dirOf(0o700), "src/m": fileMode("x", 0o755)}, sel("src"))
	m := w.memory(tree{"src/a": file("new"), "src/gone": file("x"), "src/m": file("x")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	_, err = in.Run(context.Background())
	check(t, err)
	check(t, in.Verify(context.Background()))
	check(t, m.Remove(top+"/src/a"))
	check(t, m.Remove(top+"/src/d"))
	check(t, m.Chmod(top+"/src/m", 0o644))
	write(t, m, top+"/src/gone", "x")
	if got := fault.ItemsOf(in.Verify(context.Background())); len(got) != 4 {
		t.Errorf("problems %q, want 4", got)
	}
}
