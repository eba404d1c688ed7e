package worktree

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"forklift/storage"
	"forklift/storage/vfs"
)

// failing is a file system whose n-th call from now fails once with an error.
type failing struct {
	vfs.FS
	n     int64
	calls atomic.Int64 // the store writes from several goroutines
	err   error
}

func failAt(base vfs.FS, n int, err error) *failing {
	f := &failing{n: int64(n), err: err}
	f.FS = vfs.Hook(base, func(vfs.Call) error {
		if f.calls.Add(1) == f.n {
			return f.err
		}
		return nil
	})
	return f
}

// failed says that the call was reached.
func (f *failing) failed() bool { return f.calls.Load() >= f.n }

var causes = []error{syscall.EIO, syscall.ENOSPC, fs.ErrPermission}

// TestErrorsWhileStaging fails each call of Stage: it must either fail,
// leaving the worktree as it was and nothing that RemoveStaging does not
// remove, or have staged everything.
func TestErrorsWhileStaging(t *testing.T) {
	w := newWorld(t)
	then := tree{"src/a": file("old"), "src/d/x": file("x"), "src/ro": dirOf(0o500), "src/ro/y": fileMode("y", 0o400), "src/l": link("a")}
	x := file("attr")
	x.xattrs = "user.k=v"
	then["src/attr"] = x
	before := tree{"src/a": file("new"), "src/d": file("f"), "src/gone/deep/x": file("g")}
	target := w.checkpoint(then, sel("src"))
	failures := 0
	for n := 1; ; n++ {
		m := w.memory(before)
		saved := w.safety(m, top, sel("src"), nil, target)
		f := failAt(m, n, causes[n%len(causes)])
		in, err := Stage(context.Background(), w.options(f, top, saved, target))
		if !f.failed() {
			break
		}
		wantTree(t, m, top, before)
		if err != nil {
			failures++
			check(t, RemoveStaging(context.Background(), m, top, operation))
			noLeftovers(t, m, top)
			continue
		}
		in.fs = m
		_, err = finish(context.Background(), in)
		check(t, err)
		wantTree(t, m, top, then)
	}
	if failures < 20 {
		t.Errorf("only %d calls failed", failures)
	}
}

// TestErrorsWhileRemoving fails each call of what is behind the install: the
// tree stays right, and what is left over is disposable.
func TestErrorsWhileRemoving(t *testing.T) {
	w := newWorld(t)
	then, before := tree{"src/a": file("old"), "src/l": link("x")}, tree{"src/a": file("new"), "src/l": link("y"), "src/gone": file("g")}
	target := w.checkpoint(then, sel("src"))
	for n := 1; ; n++ {
		m := w.memory(before)
		saved := w.safety(m, top, sel("src"), nil, target)
		in, err := Stage(context.Background(), w.options(m, top, saved, target))
		check(t, err)
		_, err = in.Run(context.Background())
		check(t, err)
		f := failAt(m, n, causes[n%len(causes)])
		in.fs = f
		err = errors.Join(in.Verify(context.Background()), in.Remove(context.Background()))
		wantTree(t, m, top, then)
		if !f.failed() {
			check(t, err)
			noLeftovers(t, m, top)
			break
		}
		names, err := Leftovers(context.Background(), m, top)
		check(t, err)
		for _, name := range names {
			ok, unknown, err := Disposable(context.Background(), m, top, w.store, name, []storage.ID{target.Manifest, saved.Manifest})
			if !ok || err != nil {
				t.Fatalf("call %d: %s is not disposable: %q, %v", n, name, unknown, err)
			}
			check(t, Discard(context.Background(), m, top, name))
		}
		noLeftovers(t, m, top)
	}
}

// TestErrorsWhileLooking fails each call of the functions that only look:
// they must pass the error on, or not depend on that call.
func TestErrorsWhileLooking(t *testing.T) {
	w := newWorld(t)
	m := w.memory(tree{"src/a": file("a"), "src/d/x": file("x"), "src/l": link("a"), ".forklift-staging-x/new/0": file("0"), ".forklift-staging-x/old/1": link("y")})
	then := w.checkpoint(tree{"src/a": file("b"), "src/d/x": file("x"), "src/l": link("a")}, sel("src"))
	looks := map[string]func(fsys vfs.FS) error{
		"changes": func(fsys vfs.FS) error {
			rules, err := Rules(RuleOptions{FS: fsys, Dir: top, Selection: sel("src", "a/b")})
			if err != nil {
				return err
			}
			_, n, err := Changes(context.Background(), ChangeOptions{FS: fsys, Dir: top, Store: w.store, Rules: rules, Manifest: then.Manifest, Limit: 9})
			if err == nil && n == 0 {
				t.Error("no change was found, and no error")
			}
			return err
		},
		"leftovers": func(fsys vfs.FS) error {
			names, err := Leftovers(context.Background(), fsys, top)
			if err == nil && len(names) != 1 {
				t.Errorf("left over: %q", names)
			}
			return err
		},
		"judge": func(fsys vfs.FS) error {
			ok, _, err := Disposable(context.Background(), fsys, top, w.store, ".forklift-staging-x", []storage.ID{then.Manifest})
			if err == nil && ok {
				t.Error("unknown files are disposable")
			}
			return err
		},
		"open": func(fsys vfs.FS) error {
			in, err := OpenInstall(context.Background(), fsys, top, w.store, w.clock, operation, false)
			if in != nil {
				t.Error("an install that is not there was opened")
			}
			return err
		},
	}
	for name, look := range looks {
		failures := 0
		for n := 1; ; n++ {
			f := failAt(m, n, causes[n%2])
			if err := look(f); err != nil {
				failures++
			}
			if !f.failed() {
				break
			}
		}
		if failures == 0 {
			t.Errorf("%s: no error came through", name)
		}
	}
}

// TestRemovedDirectoryIsMadeAgain has somebody remove a directory in which a
// file is to be installed, after the stage.
func TestRemovedDirectoryIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/d/e/a": file("old"), "src/d/keep": file("k")}, sel("src"))
	m := w.memory(tree{"src/d/e/a": file("new"), "src/d/keep": file("k")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	for _, p := range []string{"/src/d/e/a", "/src/d/e", "/src/d/keep", "/src/d"} {
		check(t, m.Remove(top+p))
	}
	list, err := finish(context.Background(), in)
	if err != nil || len(list) > 0 {
		t.Fatal(list, err)
	}
	wantTree(t, m, top, tree{"src/d/e/a": file("old")}) // he removed keep himself
}

// TestRescueNames gives several rescues of one path, and of a path that is a
// directory of others, names of their own.
func TestRescueNames(t *testing.T) {
	list := []Rescue{{path: "a"}, {path: "a"}, {path: "a"}, {path: "a/b"}, {path: "c\xff"}, {path: "d", Unsaved: "fifo"}, {path: "e~1~"}, {path: "e"}, {path: "e"}}
	nameRescues(list)
	var got []string
	for _, r := range list {
		got = append(got, r.Saved)
	}
	want := []string{"a~3~", "a~2~", "a~1~", "a/b", `"c\xff"`, "", "e~1~", "e~2~", "e"}
	want[6], want[7] = got[6], got[7] // whichever of the two has it
	if !slices.Equal(got, want) || got[6] == got[7] {
		t.Errorf("names %q, want %q", got, want)
	}
}

// TestRescuedTree has a directory with files in the place of a file.
func TestRescuedTree(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/a": file("old")}, sel("src"))
	m := w.memory(tree{"src/a": file("new")})
	saved := w.safety(m, top, sel("src"), nil, target)
	in, err := Stage(context.Background(), w.options(m, top, saved, target))
	check(t, err)
	check(t, m.Remove(top+"/src/a"))
	attr := fileMode("two", 0o750)
	attr.xattrs = "user.k=v"
	plant(t, m, path.Join(top, "src"), tree{"a/one": file("one"), "a/d/two": attr, "a/d/l": link("x"), "a/empty": dirOf(0o755)})
	list, err := in.Run(context.Background())
	check(t, err)
	if len(list) != 3 {
		t.Fatalf("rescued %v", list)
	}
	checkRescues(t, w, m, in, list)
	check(t, in.Remove(context.Background()))
	wantTree(t, m, top, tree{"src/a": file("old")})
	noLeftovers(t, m, top)
}
