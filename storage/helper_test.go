package storage

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// lab is a file system with a store and room for trees.
type lab struct {
	t   testing.TB
	fs  vfs.FS
	dir string
	s   *Store
}

// newLab makes a lab on a file system, in an existing directory.
func newLab(t testing.TB, fsys vfs.FS, dir string) *lab {
	t.Helper()
	l := &lab{t: t, fs: fsys, dir: dir}
	var err error
	l.s, err = Create(context.Background(), fsys, path.Join(dir, "store"))
	l.ok(err)
	t.Cleanup(func() { _ = l.s.Close() })
	return l
}

// labs runs a test on the disk and in memory.
func labs(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Run("disk", func(t *testing.T) { test(t, newLab(t, vfs.OS(), t.TempDir())) })
	t.Run("memory", func(t *testing.T) { test(t, newMemLab(t)) })
}

func newMemLab(t testing.TB) *lab {
	m := vfs.NewMem()
	if err := m.Mkdir("/lab", 0o700); err != nil {
		t.Fatal(err)
	}
	return newLab(t, m, "/lab")
}

func (l *lab) ok(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// path gives the name of something in the lab.
func (l *lab) path(name string) string { return path.Join(l.dir, name) }

// mkdir makes a directory.
func (l *lab) mkdir(name string) string {
	l.t.Helper()
	l.ok(l.fs.Mkdir(l.path(name), 0o700))
	return l.path(name)
}

// root opens a directory of the lab.
func (l *lab) root(name string) vfs.Root {
	l.t.Helper()
	root, err := l.fs.OpenRoot(l.path(name))
	l.ok(err)
	l.t.Cleanup(func() { _ = root.Close() })
	return root
}

// write makes a file with its directories.
func (l *lab) write(name string, data []byte) {
	l.t.Helper()
	for i, c := range name {
		if c == '/' {
			_ = l.fs.Mkdir(l.path(name[:i]), 0o755)
		}
	}
	l.ok(writeFile(l.fs, l.path(name), data))
}

func writeFile(fsys vfs.FS, name string, data []byte) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Close()
}

// poke changes bytes in the middle of a file.
func (l *lab) poke(name string, off int64, data []byte) {
	l.t.Helper()
	f, err := l.fs.OpenFile(l.path(name), os.O_WRONLY, 0)
	l.ok(err)
	_, err = f.WriteAt(data, off)
	l.ok(err)
	l.ok(f.Close())
}

// read reads a file of the lab.
func (l *lab) read(name string) []byte {
	l.t.Helper()
	data, err := readFile(l.fs, l.path(name))
	l.ok(err)
	return data
}

func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size)
	if len(data) == 0 {
		return data, nil
	}
	n, err := f.ReadAt(data, 0)
	return data[:n], ignoreEOF(err, n == len(data))
}

func ignoreEOF(err error, whole bool) error {
	if whole {
		return nil
	}
	return err
}

// capture scans a directory with a writer of its own and commits.
func (l *lab) capture(dir string, rules Rules, prior *Memory) *Tree {
	l.t.Helper()
	tree, err := captureWith(l.s, l.root(dir), rules, prior)
	l.ok(err)
	return tree
}

func captureWith(s *Store, root vfs.Root, rules Rules, prior *Memory) (*Tree, error) {
	ctx := context.Background()
	w, err := s.NewWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	tree, err := w.Scan(ctx, root, rules, prior)
	if err != nil {
		return nil, err
	}
	return tree, w.Commit(ctx)
}

// patch makes a directory a manifest's tree.
func (l *lab) patch(dir string, want ID, opt PatchOptions) PatchStats {
	l.t.Helper()
	stats, err := l.s.Patch(context.Background(), l.fs, l.path(dir), want, opt)
	l.ok(err)
	return stats
}

// snapshot describes everything in a directory: a line for each path.
func snapshot(fsys vfs.FS, dir string) (map[string]string, error) {
	all := map[string]string{}
	var walk func(rel string) error
	walk = func(rel string) error {
		name := dir
		if rel != "" {
			name = dir + "/" + rel
		}
		info, err := fsys.Lstat(name)
		if err != nil {
			return err
		}
		switch {
		case info.IsSymlink():
			target, err := fsys.Readlink(name)
			all[rel] = "link " + target
			return err
		case info.IsDir():
			all[rel] = fmt.Sprintf("dir %o", info.Bits())
			list, err := fsys.ReadDir(name)
			for _, e := range list {
				if err == nil {
					err = walk(path.Join(rel, e.Name))
				}
			}
			return err
		case info.IsRegular():
			data, err := readFile(fsys, name)
			sum := pack.Sum(data)
			all[rel] = fmt.Sprintf("file %o %d %s", info.Bits(), len(data), hex.EncodeToString(sum[:4]))
			return err
		}
		all[rel] = info.Mode.String()
		return nil
	}
	return all, walk("")
}

// tree describes a directory of the lab.
func (l *lab) tree(dir string) map[string]string {
	l.t.Helper()
	all, err := snapshot(l.fs, l.path(dir))
	l.ok(err)
	return all
}

// same compares two descriptions.
func same(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	paths := slices.Collect(maps.Keys(want))
	for p := range got {
		if _, ok := want[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	shown := 0
	for _, p := range paths {
		if got[p] != want[p] && shown < 10 {
			t.Errorf("%s: %q is %q, not %q", what, p, got[p], want[p])
			shown++
		}
	}
}

// seeded makes a source of chance and says how to repeat it.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("FORKLIFT_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FORKLIFT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// noise gives n bytes that do not compress.
func noise(r *rand.Rand, n int) []byte {
	data := make([]byte, 0, n+8)
	for len(data) < n {
		data = binary.LittleEndian.AppendUint64(data, r.Uint64())
	}
	return data[:n]
}

// text gives n bytes that do.
func text(r *rand.Rand, n int) []byte {
	data := make([]byte, 0, n+16)
	for len(data) < n {
		data = fmt.Appendf(data, "line %d\n", r.IntN(100))
	}
	return data[:n]
}

// meddler changes a tree at random.
type meddler struct {
	r    *rand.Rand
	root vfs.Root
}

// sizes are lengths around the places where files are cut.
var sizes = []int{0, 1, PageBytes - 1, PageBytes, PageBytes + 1, 3 * PageBytes, 70_000, spanBytes, spanBytes + 5,
	MinChunkedBytes - 1, MinChunkedBytes, MinChunkedBytes + 1, 5 * spanBytes}

var oddNames = []string{"a", "b", "a-b", "a.b", "-x", ".hidden", "with space", "new\nline", "\xff\xfe", "Ü", "ü", "A", "zz", "0", "~", "tab\t", strings.Repeat("long", 50)}

// paths lists what is there: directories and others apart.
func (m *meddler) paths() (dirs, others []string) {
	var walk func(dir string)
	walk = func(dir string) {
		dirs = append(dirs, dir)
		list, _ := m.root.ReadDir(dir)
		for _, e := range list {
			p := path.Join(dir, e.Name)
			if e.Type.IsDir() {
				walk(p)
			} else {
				others = append(others, p)
			}
		}
	}
	walk(".")
	return dirs, others
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// meddle makes one change; some changes are none.
func (m *meddler) meddle() {
	dirs, others := m.paths()
	name := path.Join(pick(m.r, dirs), pick(m.r, oddNames))
	switch n := m.r.IntN(20); {
	case n < 7 || len(others) == 0:
		data := text(m.r, pick(m.r, sizes))
		if m.r.IntN(3) == 0 {
			data = noise(m.r, len(data))
		}
		_ = writeFile(m.root, name, data)
	case n < 9:
		_ = m.root.Mkdir(name, vfs.FileMode(uint32(0o755|m.r.IntN(8)<<9)))
	case n < 10:
		_ = m.root.Symlink(pick(m.r, oddNames), name)
	case n < 15:
		m.change(pick(m.r, others))
	case n < 17:
		_ = m.root.Remove(pick(m.r, others))
	case n < 18:
		_ = m.root.Rename(pick(m.r, others), name)
	case n < 19:
		_ = m.root.Chmod(pick(m.r, others), vfs.FileMode(uint32(0o600|m.r.IntN(8)<<9|m.r.IntN(0o200))))
	default:
		_ = m.root.Remove(pick(m.r, dirs))
	}
}

// change writes into the middle of a file, or cuts or lengthens it.
func (m *meddler) change(name string) {
	f, err := m.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	switch m.r.IntN(4) {
	case 0:
		_ = f.Truncate(int64(pick(m.r, sizes)))
	case 1:
		_, _ = f.WriteAt(noise(m.r, 100), info.Size)
	default:
		_, _ = f.WriteAt(noise(m.r, 1+m.r.IntN(9000)), m.r.Int64N(info.Size+1))
	}
}

// diskDir is a directory of the disk for things that memory does not have.
func diskDir(t *testing.T) string { return filepath.Clean(t.TempDir()) }
