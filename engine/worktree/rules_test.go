package worktree

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// saved lists what a scan saves ("path"), and what it leaves out
// ("path: reason").
func (w *world) saved(m *vfs.Mem, opt RuleOptions) []string {
	w.t.Helper()
	opt.FS, opt.Dir = m, top
	rules, err := Rules(opt)
	check(w.t, err)
	root, err := m.OpenRoot(top)
	check(w.t, err)
	defer root.Close()
	writer, err := w.store.NewWriter(context.Background())
	check(w.t, err)
	defer writer.Abort()
	got, err := writer.Scan(context.Background(), root, rules, nil)
	check(w.t, err)
	check(w.t, writer.Commit(context.Background()))
	var list []string
	for e, err := range w.store.Walk(context.Background(), got.Manifest) {
		check(w.t, err)
		if e.Type == storage.Omitted {
			list = append(list, e.Path+": "+e.Reason)
		} else if e.Path != "." {
			list = append(list, e.Path)
		}
	}
	return list
}

func TestRules(t *testing.T) {
	w := newWorld(t)
	m := w.memory(tree{
		"src/a.c": file("a"), "src/a.o": file("o"), "src/keep.o": file("o"), "src/build/x": file("x"), "src/gen/y": file("y"), "src/nested/.git": file("gitdir: x"), "src/nested/z": file("z"),
		"src/.GIT/x": file("x"), "src/git~1": file("odd"), "src/l": link("a.c"), "src/.gitignore": file("x"), "a/b/c/d": file("d"), "a/b/e": file("e"), "a/f": file("f"),
		".forklift.json": file("{}"), ".forklift-staging-x/new/0": file("staged"), "store/packs/x": file("pack"), "top": file("t"), "src/.forklift.json": file("{}"),
	})
	with := func(s config.Selection, ignore ...string) config.Selection { s.Ignore = ignore; return s }
	cases := []struct {
		name string
		opt  RuleOptions
		want string
	}{
		{"a directory", RuleOptions{Selection: with(sel("src"), "*.o", "!keep.o", "/src/build/"), Ignored: []string{"src/gen"}},
			"src|src/.forklift.json|src/.gitignore|src/a.c|src/a.o: ignored|src/build: ignored|src/gen: ignored|src/git~1: reserved|src/keep.o|src/l|src/nested: repository"},
		{"deep and absent sources", RuleOptions{Selection: sel("a/b/c", "a/f", "absent/x")}, "a|a/b|a/b/c|a/b/c/d|a/f"},
		{"a file, a link and the configuration", RuleOptions{Selection: sel("top", "src/l", config.Name)}, ".forklift.json|src|src/l|top"},
		{"what git ignores, included", RuleOptions{Selection: config.Selection{Source: []string{"src/gen"}, Gitignored: config.Include}, Ignored: []string{"src/gen/y"}}, "src|src/gen|src/gen/y"},
		{"covered paths", RuleOptions{Selection: with(sel("src"), "*"), Extra: []string{"src/build/", "src/build/x", "a/b/e", "top", "a/b/c/d/not", "none"}},
			"a|a/b|a/b/c|a/b/e|src|src/.forklift.json: ignored|src/.gitignore: ignored|src/a.c: ignored|src/a.o: ignored|src/build|src/build/x|src/gen: ignored|src/git~1: reserved|src/keep.o: ignored|src/l: ignored|src/nested: repository|top"},
		{"everything", RuleOptions{Selection: with(sel("."), "/src/", "/a/"), Exclude: []string{top + "/store", "/elsewhere"}}, "a: ignored|src: ignored|top"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := &world{t: t, store: w.store, clock: w.clock}
			if got := w.saved(m, c.opt); !slices.Equal(got, strings.Split(c.want, "|")) {
				t.Errorf("saved\n%s\nwant\n%s", strings.Join(got, "|"), c.want)
			}
		})
	}
}

func TestSourceBehindALink(t *testing.T) {
	w := newWorld(t)
	m := w.memory(tree{"real/x": file("x"), "l": link("real")})
	_, err := Rules(RuleOptions{FS: m, Dir: top, Selection: sel("l/x")})
	if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Errorf("error %v", err)
	}
	if got := w.saved(m, RuleOptions{Selection: sel("l")}); !slices.Equal(got, []string{"l"}) {
		t.Errorf("saved %q", got)
	}
}

// otherDevice is a file system on which one directory is another one's.
type otherDevice struct {
	vfs.FS
	dir string
}

func (o otherDevice) Lstat(name string) (vfs.Info, error) {
	info, err := o.FS.Lstat(name)
	if config.Within(name, o.dir) {
		info.Dev++
	}
	return info, err
}

func (o otherDevice) OpenRoot(name string) (vfs.Root, error) {
	r, err := o.FS.OpenRoot(name)
	return otherRoot{otherDevice{r, o.dir}, r}, err
}

type otherRoot struct {
	otherDevice
	root vfs.Root
}

func (o otherRoot) Close() error { return o.root.Close() }

func TestAnotherFileSystem(t *testing.T) {
	w := newWorld(t)
	target := w.checkpoint(tree{"src/mnt/x": file("old")}, sel("src"))
	m := w.memory(tree{"src/mnt/x": file("new")})
	saved := w.safety(m, top, sel("src"), nil, target)
	_, err := Stage(context.Background(), w.options(otherDevice{m, "src/mnt"}, top, saved, target))
	if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "src/mnt") {
		t.Errorf("error %v", err)
	}
	noLeftovers(t, m, top)
}

// TestWithoutHardLinks installs by renaming, and again after a cut at every
// call.
func TestWithoutHardLinks(t *testing.T) {
	w := newWorld(t)
	then := tree{"src/a": file("old"), "src/b": file("b"), "src/d/x": file("x")}
	target := w.checkpoint(then, sel("src"))
	for n := 1; ; n++ {
		m := w.memory(tree{"src/a": file("new"), "src/d": file("f"), "src/gone": file("g")})
		h := vfs.Hook(m, func(c vfs.Call) error {
			if c.Op == vfs.OpLink {
				return syscall.EPERM
			}
			return nil
		})
		saved := w.safety(h, top, sel("src"), nil, target)
		in, err := Stage(context.Background(), w.options(h, top, saved, target))
		check(t, err)
		m.CutAt(n)
		list, err := in.Run(context.Background())
		done := err == nil
		m.CutAt(0)
		if !done {
			again, err := OpenInstall(context.Background(), h, top, w.store, w.clock, operation, false)
			check(t, err)
			list, err = finish(context.Background(), again)
			check(t, err)
		}
		if len(list) > 0 {
			t.Fatalf("call %d: rescued %v", n, list)
		}
		wantTree(t, m, top, then)
		if done {
			break
		}
	}
}
