package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/clock"
	"forklift/storage/vfs"
)

// thing is what a test tree has at a path.
type thing struct {
	typ    fs.FileMode // 0, fs.ModeDir or fs.ModeSymlink
	mode   fs.FileMode // without the type; 0 of a link
	data   string      // content, or what a link says
	xattrs string      // "name=value" of one attribute, "" for none
}

func (t thing) String() string {
	return fmt.Sprintf("%v %.60q (%d) %s", t.typ|t.mode, t.data, len(t.data), t.xattrs)
}

// tree is a test tree: things by path.
type tree map[string]thing

func file(data string) thing                    { return thing{mode: 0o644, data: data} }
func fileMode(data string, m fs.FileMode) thing { return thing{mode: m, data: data} }
func dirOf(mode fs.FileMode) thing              { return thing{typ: fs.ModeDir, mode: mode} }
func link(target string) thing                  { return thing{typ: fs.ModeSymlink, data: target} }

// paths are the tree's paths in manifest order.
func (t tree) paths() []string {
	list := make([]string, 0, len(t))
	for p := range t {
		list = append(list, p)
	}
	slices.SortFunc(list, comparePaths)
	return list
}

// String lists the tree, one path a line.
func (t tree) String() string {
	var b strings.Builder
	for _, p := range t.paths() {
		fmt.Fprintf(&b, "%q %v\n", p, t[p])
	}
	return b.String()
}

// parents adds the directories that lead to each path.
func (t tree) parents() tree {
	for _, p := range t.paths() {
		prefixes(p, func(dir string) bool {
			if _, ok := t[dir]; !ok {
				t[dir] = dirOf(0o755)
			}
			return true
		})
	}
	return t
}

// merge is t with what others have.
func (t tree) merge(others ...tree) tree {
	out := tree{}
	for _, o := range append([]tree{t}, others...) {
		for p, x := range o {
			out[p] = x
		}
	}
	return out
}

// below is the part of t at and below a path.
func (t tree) below(dir string) tree {
	out := tree{}
	for p, x := range t {
		if config.Within(p, dir) {
			out[p] = x
		}
	}
	return out
}

// plant makes the tree in a directory that exists.
func plant(t testing.TB, fsys vfs.FS, dir string, want tree) {
	t.Helper()
	list := want.parents().paths()
	for _, p := range list {
		name, x := path.Join(dir, p), want[p]
		switch x.typ {
		case fs.ModeDir:
			if _, err := fsys.Lstat(name); err != nil {
				check(t, fsys.Mkdir(name, 0o700))
			}
		case fs.ModeSymlink:
			check(t, fsys.Symlink(x.data, name))
		default:
			write(t, fsys, name, x.data)
			if n, v, ok := strings.Cut(x.xattrs, "="); ok {
				check(t, fsys.SetXattr(name, vfs.Xattr{Name: n, Value: []byte(v)}))
			}
			check(t, fsys.Chmod(name, x.mode))
		}
	}
	for _, p := range slices.Backward(list) {
		if want[p].typ == fs.ModeDir {
			check(t, fsys.Chmod(path.Join(dir, p), want[p].mode))
		}
	}
}

// write makes or replaces a file's content, in place.
func write(t testing.TB, fsys vfs.FS, name, data string) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	check(t, err)
	_, err = f.Write([]byte(data))
	check(t, errors.Join(err, f.Close()))
}

// harvest reads the tree in a directory, but for .git and staging
// directories.
func harvest(t testing.TB, fsys vfs.FS, dir string) tree {
	t.Helper()
	out := tree{}
	var visit func(rel string)
	visit = func(rel string) {
		list, err := fsys.ReadDir(path.Join(dir, rel))
		check(t, err)
		for _, e := range list {
			p := path.Join(rel, e.Name)
			if p == ".git" || strings.HasPrefix(p, config.StagingPrefix) {
				continue
			}
			name := path.Join(dir, p)
			info, err := fsys.Lstat(name)
			check(t, err)
			x := thing{typ: info.Mode.Type(), mode: vfs.FileMode(info.Bits())}
			switch {
			case info.IsSymlink():
				x.mode = 0
				x.data, err = fsys.Readlink(name)
				check(t, err)
			case info.IsRegular():
				x.data = read(t, fsys, name)
				attrs, err := fsys.Xattrs(name)
				check(t, err)
				for _, a := range attrs {
					x.xattrs = a.Name + "=" + string(a.Value)
				}
			}
			out[p] = x
			if info.IsDir() {
				visit(p)
			}
		}
	}
	visit("")
	return out
}

func read(t testing.TB, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	check(t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	check(t, err)
	return string(data)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantTree fails the test unless the directory holds exactly want.
func wantTree(t testing.TB, fsys vfs.FS, dir string, want tree) {
	t.Helper()
	if got := harvest(t, fsys, dir); got.String() != want.parents().String() {
		t.Fatalf("the worktree holds\n%swant\n%s", got, want)
	}
}

// top is where worktrees are in memory.
const top = "/work"

// operation is the id used by tests.
const operation = "01op"

// world is a store, in a file system of its own, with what tests need.
type world struct {
	t     testing.TB
	store *storage.Store
	clock clock.Clock
}

func newWorld(t testing.TB) *world {
	t.Helper()
	store, err := storage.Create(context.Background(), vfs.NewMem(), "/store")
	check(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return &world{t: t, store: store, clock: clock.NewFake(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}
}

// memory is a file system with a worktree that holds a tree and a .git.
func (w *world) memory(content tree) *vfs.Mem {
	w.t.Helper()
	m := vfs.NewMem()
	check(w.t, m.Mkdir(top, 0o755))
	check(w.t, m.Mkdir(top+"/.git", 0o755))
	plant(w.t, m, top, content)
	check(w.t, m.SyncFS("/"))
	return m
}

// sel is a selection of sources that leaves out what git ignores.
func sel(source ...string) config.Selection {
	return config.Selection{Source: source, Gitignored: config.Skip}
}

// scan saves a worktree and gives the source half of its pair.
func (w *world) scan(fsys vfs.FS, dir string, s config.Selection, ignored, covered []string) storage.SourceState {
	w.t.Helper()
	rules, err := Rules(RuleOptions{FS: fsys, Dir: dir, Selection: s, Ignored: ignored, Extra: covered})
	check(w.t, err)
	root, err := fsys.OpenRoot(dir)
	check(w.t, err)
	defer root.Close()
	writer, err := w.store.NewWriter(context.Background())
	check(w.t, err)
	defer writer.Abort()
	got, err := writer.Scan(context.Background(), root, rules, nil)
	check(w.t, err)
	check(w.t, writer.Commit(context.Background()))
	return storage.SourceState{Manifest: got.Manifest, Paths: s.Source, Ignore: s.Ignore, Gitignored: s.Gitignored, Covered: covered}
}

// checkpoint saves a tree that is in no worktree.
func (w *world) checkpoint(content tree, s config.Selection, ignored ...string) storage.SourceState {
	w.t.Helper()
	return w.scan(w.memory(content), top, s, ignored, nil)
}

// safety saves a worktree before a restore of target, as the engine does.
func (w *world) safety(fsys vfs.FS, dir string, s config.Selection, ignored []string, target storage.SourceState) storage.SourceState {
	w.t.Helper()
	now := w.scan(fsys, dir, s, ignored, nil)
	covered, err := Covered(context.Background(), w.store, now.Manifest, target)
	check(w.t, err)
	return w.scan(fsys, dir, s, ignored, covered)
}

// options are those of a restore of target over saved.
func (w *world) options(fsys vfs.FS, dir string, saved, target storage.SourceState) StageOptions {
	return StageOptions{FS: fsys, Dir: dir, Store: w.store, Clock: w.clock, Operation: operation, Saved: saved, Target: target}
}

// restore stages, runs, verifies and cleans up.
func (w *world) restore(opt StageOptions) ([]Rescue, error) {
	ctx := context.Background()
	in, err := Stage(ctx, opt)
	if err != nil {
		return nil, err
	}
	return finish(ctx, in)
}

// finish is everything behind the switch.
func finish(ctx context.Context, in *Install) ([]Rescue, error) {
	rescued, err := in.Run(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.Verify(ctx); err != nil {
		return nil, err
	}
	return rescued, in.Remove(ctx)
}

// noLeftovers fails the test if a staging directory is there.
func noLeftovers(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	if list, err := Leftovers(context.Background(), fsys, dir); err != nil || len(list) > 0 {
		t.Fatalf("left over: %q, %v", list, err)
	}
}

// names are few, so that random trees meet at the same paths as different
// things; some are odd.
var names = []string{"a", "b", "a.b", "d e", "n\nl", "x\xff"}

// randomTree makes a tree below dir.
func randomTree(rng *rand.Rand, dir string, depth int) tree {
	out := tree{dir: dirOf([]fs.FileMode{0o755, 0o700, 0o555, 0o750, fs.ModeSetgid | 0o775, fs.ModeSetgid | 0o555, fs.ModeSticky | 0o777}[rng.IntN(7)])}
	for range rng.IntN(5) {
		p := path.Join(dir, names[rng.IntN(len(names))])
		if _, ok := out[p]; ok {
			continue
		}
		switch rng.IntN(7) {
		case 0:
			out[p] = link([]string{"a", "/etc/passwd", "../.git", "x\xfe"}[rng.IntN(4)])
		case 1, 2:
			if depth > 0 {
				out = out.merge(randomTree(rng, p, depth-1))
				continue
			}
			fallthrough
		default:
			x := file([]string{"", "one", "two", "three", strings.Repeat("big", 5000)}[rng.IntN(5)])
			x.mode = []fs.FileMode{0o644, 0o644, 0o755, 0o400, 0o600, fs.ModeSetuid | 0o755, fs.ModeSetgid | 0o550}[rng.IntN(7)]
			if rng.IntN(6) == 0 {
				x.xattrs = "user.k=" + string(rune('a'+rng.IntN(2)))
			}
			out[p] = x
		}
	}
	return out
}

// mutate is a tree that shares much with another.
func mutate(rng *rand.Rand, t tree) tree {
	other := randomTree(rng, "src", 3)
	out := t.merge()
	for _, p := range other.paths() {
		if rng.IntN(2) == 0 {
			continue
		}
		for q := range out {
			if below(q, p) && other[p].typ != fs.ModeDir {
				delete(out, q)
			}
		}
		blocked := false
		prefixes(p, func(dir string) bool {
			x, ok := out[dir]
			blocked = ok && x.typ != fs.ModeDir
			return !blocked
		})
		if !blocked {
			out[p] = other[p]
		}
	}
	return out.parents()
}
