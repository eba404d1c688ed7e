package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// files lists the files below a directory of the lab.
func (l *lab) files(dir string) []string {
	l.t.Helper()
	list, err := l.fs.ReadDir(l.path(dir))
	l.ok(err)
	var files []string
	for _, e := range list {
		name := path.Join(dir, e.Name)
		if e.Type.IsDir() {
			files = append(files, l.files(name)...)
		} else {
			files = append(files, name)
		}
	}
	return files
}

// damageLab is a store with two pairs of different trees.
func damageLab(t *testing.T, r *rand.Rand) (*vfs.Mem, *lab) {
	m, _, _ := crashLab(t, r)
	if err := publish(m, secondPair, "second"); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), m, "/lab/store")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return m, &lab{t: t, fs: m, dir: "/lab", s: s}
}

// useAll reads everything that the pairs of a store hold: what a restore of
// each would do.
func useAll(fsys vfs.FS) error {
	ctx := context.Background()
	s, err := Open(ctx, fsys, "/lab/store")
	if err != nil {
		return err
	}
	defer s.Close()
	names, err := s.Names(ctx, "project", "")
	if err != nil {
		return err
	}
	if len(names) != 2 {
		return corrupt("list", "", "%d names", len(names))
	}
	for _, n := range names {
		id, err := s.Name(ctx, "project", n.Worktree, n.Kind, n.Name)
		if err != nil {
			return err
		}
		p, err := s.Pair(ctx, "project", id)
		if err != nil {
			return err
		}
		for i, manifest := range p.manifests() {
			dir := fmt.Sprintf("/lab/use-%s-%d", n.Name, i)
			_ = fsys.Mkdir(dir, 0o700)
			if _, err := s.Patch(ctx, fsys, dir, manifest, PatchOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// mutations are ways to damage a file of n bytes.
func mutations(r *rand.Rand, n int) map[string]func([]byte) []byte {
	at := r.IntN(n)
	return map[string]func([]byte) []byte{
		fmt.Sprintf("bit %d.%d", at, at%8): func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b },
		fmt.Sprintf("cut at %d", at):       func(b []byte) []byte { return b[:at] },
		fmt.Sprintf("zeros from %d", at):   func(b []byte) []byte { clear(b[at:min(at+4096, len(b))]); return b },
		"one byte more":                    func(b []byte) []byte { return append(b, 0) },
		"empty":                            func([]byte) []byte { return nil },
	}
}

// Whatever happens to a file of the store, check names it, and a restore
// either gives what was stored or fails with kind Corrupt: never anything else.
func TestDamageIsFound(t *testing.T) {
	r := seeded(t)
	m, l := damageLab(t, r)
	if err := useAll(m.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{}
	for _, n := range []string{"first-0", "first-1", "second-0", "second-1"} {
		clone := m.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		l.ok(useAll(clone))
		var err error
		want[n], err = snapshot(clone, "/lab/use-"+n)
		l.ok(err)
	}
	tried, silent := 0, 0
	for _, file := range slices.Concat(l.files("store/packs"), l.files("store/index"), l.files("store/pairs"), l.files("store/names"), []string{"store/format"}) {
		whole := l.read(file)
		for range 12 {
			for how, mutate := range mutations(r, len(whole)) {
				data := mutate(slices.Clone(whole))
				if string(data) == string(whole) {
					continue // zeros on zeros
				}
				tried++
				broken := m.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
				l.ok(writeFile(broken, l.path(file), data))
				if !checkNames(t, broken, l.path(file)) {
					t.Errorf("%s, %s: check does not find it", file, how)
				}
				err := useAll(broken)
				if err == nil {
					silent++ // in a part that a restore does not need, or stored twice
				} else if k := fault.KindOf(err); k != fault.Corrupt && k != fault.NotFound && k != fault.Unsupported {
					t.Errorf("%s, %s: kind %v: %v", file, how, k, err)
				}
				for n := range want {
					if got, snapErr := snapshot(broken, "/lab/use-"+n); err == nil && snapErr == nil {
						same(t, file+", "+how, got, want[n])
					}
				}
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	}
	t.Logf("%d of %d found by check; %d did not matter to a restore", tried, tried, silent)
}

// checkNames says whether a check of all data reports a file.
func checkNames(t *testing.T, fsys vfs.FS, file string) bool {
	t.Helper()
	s, err := Open(context.Background(), fsys, "/lab/store")
	if err != nil {
		return strings.Contains(err.Error(), path.Base(file))
	}
	defer s.Close()
	report, err := s.Check(context.Background(), CheckOptions{ReadData: true})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(report.Problems, func(p Problem) bool {
		return p.Path == file || strings.Contains(p.Error, path.Base(file))
	})
}

func TestMissingAndSwappedFiles(t *testing.T) {
	r := seeded(t)
	m, l := damageLab(t, r)
	for _, dir := range []string{"store/packs", "store/index", "store/pairs", "store/names"} {
		files := l.files(dir)
		for _, file := range files {
			broken := m.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
			l.ok(broken.Remove(l.path(file)))
			if err := useAll(broken); err == nil {
				t.Errorf("without %s all is well", file)
			} else if dir == "store/packs" && !strings.Contains(err.Error(), path.Base(file)) {
				t.Errorf("%v does not name %s", err, file)
			}
		}
		if len(files) < 2 {
			continue
		}
		broken := m.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		l.ok(writeFile(broken, l.path(files[0]), l.read(files[1])))
		l.ok(writeFile(broken, l.path(files[1]), l.read(files[0])))
		if err := useAll(broken); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("with two files of %s swapped: %v", dir, err)
		}
		if !checkNames(t, broken, l.path(files[0])) {
			t.Errorf("check does not find swapped files in %s", dir)
		}
	}
}

// What a lost pack held is stored again, although memory and index say that
// it is there.
func TestLostPackHeals(t *testing.T) {
	r := seeded(t)
	m, l := damageLab(t, r)
	tree := l.capture("tree", bothUnits["pages"], nil)
	for _, file := range l.files("store/packs") {
		lost := m.CrashClone(vfs.CrashOptions{KeepUnsynced: 1})
		l.ok(lost.Remove(l.path(file)))
		s, err := Open(t.Context(), lost, "/lab/store")
		l.ok(err)
		again := &lab{t: t, fs: lost, dir: "/lab", s: s}
		memory := tree.Memory
		memory.writer = nil // as if it had been loaded
		healed := again.capture("tree", bothUnits["pages"], memory)
		if healed.Manifest != tree.Manifest || healed.Stats.ReadFiles != tree.Stats.Files {
			t.Errorf("manifest %s, %+v", healed.Manifest, healed.Stats)
		}
		again.mkdir("healed")
		again.patch("healed", healed.Manifest, PatchOptions{})
		same(t, "healed", again.tree("healed"), l.tree("tree"))
		l.ok(s.PutPair(t.Context(), &Pair{ID: laterPair, Kind: Capture, Project: "project", Source: SourceState{Manifest: healed.Manifest}}))
		_ = s.Close()
	}
}

func TestNewerFormatsAreRefused(t *testing.T) {
	l := newMemLab(t)
	l.write("store/format", []byte(strings.Replace(string(l.read("store/format")), `"format":1`, `"format":2`, 1)))
	if _, err := Open(t.Context(), l.fs, l.path("store")); fault.KindOf(err) != fault.Unsupported || fault.HintOf(err) == "" {
		t.Errorf("store: %v", err)
	}
	if _, err := decodeRun([]byte{runKind, 3, 0}); fault.KindOf(badNode(ID{}, err)) != fault.Unsupported {
		t.Errorf("run: %v", err)
	}
	if _, err := decodeContent([]byte{contentKind, 2, 1, 1, 1}, Pages, 1, 1); fault.KindOf(badNode(ID{}, err)) != fault.Unsupported {
		t.Errorf("content: %v", err)
	}
}
