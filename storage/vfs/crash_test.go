package vfs_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"forklift/storage/vfs"
)

// newMem is an empty memory file system as a place at its top.
func newMem(t *testing.T) (*vfs.Mem, *place) {
	m := vfs.NewMem()
	return m, &place{m, t, ""}
}

// after looks at what a power cut leaves of m.
func after(t *testing.T, m *vfs.Mem, seed uint64, keep float64) *place {
	return &place{m.CrashClone(vfs.CrashOptions{Seed: seed, KeepUnsynced: keep}), t, ""}
}

func (p *place) sync(name string) {
	p.t.Helper()
	f, err := p.OpenFile(name, os.O_RDWR, 0)
	p.ok(err)
	p.ok(f.Sync())
	p.ok(f.Close())
}

// outcomes gives the different results that look finds after many crashes.
func outcomes(t *testing.T, m *vfs.Mem, look func(p *place) string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for seed := range uint64(400) {
		found[look(after(t, m, seed, 0.5))]++
	}
	return found
}

// expect checks that exactly the wanted outcomes were found.
func expect(t *testing.T, found map[string]int, want ...string) {
	t.Helper()
	for _, w := range want {
		if found[w] == 0 {
			t.Errorf("%q never happens: %v", w, found)
		}
		delete(found, w)
	}
	if len(found) > 0 {
		t.Errorf("should not happen: %v", found)
	}
}

func TestCrashKeepsWhatIsSynced(t *testing.T) {
	m, p := newMem(t)
	p.ok(p.Mkdir("/d", 0o700))
	p.write("/d/f", "synced")
	p.sync("/d/f")
	p.ok(p.SyncDir("/d"))
	p.equal(after(t, m, 1, 0).list("/"), "") // the name of d itself is not durable
	p.ok(p.SyncDir("/"))
	p.write("/d/f", "newer")
	p.write("/d/g", "new")
	c := after(t, m, 1, 0)
	p.equal(c.list("/d"), "f")
	p.equal(c.read("/d/f"), "synced")
	c = after(t, m, 1, 1)
	p.equal(c.read("/d/f")+c.read("/d/g"), "newernew")
	p.equal(p.read("/d/f"), "newer") // the original goes on
	p.ok(p.SyncFS("/"))
	p.equal(after(t, m, 1, 0).read("/d/g"), "new")
}

func TestCrashTearsBlocks(t *testing.T) {
	m, p := newMem(t)
	block := func(s string) string { return strings.Repeat(s, 4096) }
	p.write("/f", block("a")+block("b"))
	p.sync("/f")
	p.ok(p.SyncDir("/"))
	f, err := p.OpenFile("/f", os.O_RDWR, 0)
	p.ok(err)
	_, err = f.WriteAt([]byte(block("A")+block("B")+"C"), 0)
	p.ok(err)
	look := func(p *place) string {
		s := p.read("/f")
		var b strings.Builder
		for off := 0; off < len(s); off += 4096 {
			if s[off] != 0 {
				b.WriteByte(s[off])
			} else {
				b.WriteByte('0')
			}
		}
		return b.String()
	}
	expect(t, outcomes(t, m, look), "ab", "Ab", "aB", "AB", "ab0", "Ab0", "aB0", "AB0", "abC", "AbC", "aBC", "ABC")
	p.ok(f.Truncate(4096))
	expect(t, outcomes(t, m, look), "a", "A", "ab", "Ab")
	p.ok(f.Sync())
	expect(t, outcomes(t, m, look), "A")
}

func TestCrashAndNames(t *testing.T) {
	names := func(p *place) string { return p.list("/") }
	m, p := newMem(t)
	p.write("/a", "")
	p.write("/b", "")
	expect(t, outcomes(t, m, names), "", "a", "b", "a b")
	p.ok(p.SyncDir("/"))
	p.ok(p.Rename("/a", "/c"))
	p.ok(p.Remove("/b"))
	// The rename is a unit; the order of independent changes is open.
	expect(t, outcomes(t, m, names), "a b", "b c", "a", "c")
	p.ok(p.SyncDir("/"))
	// Changes of one name keep their order.
	p.write("/a", "")
	p.ok(p.Remove("/a"))
	p.ok(p.Mkdir("/a", 0o700))
	expect(t, outcomes(t, m, names), "c", "a c", "a/ c")
}

func TestCrashAndRenameAcrossDirectories(t *testing.T) {
	m, p := newMem(t)
	where := func(p *place) string { return p.list("/d") + "|" + p.list("/e") }
	p.ok(p.Mkdir("/d", 0o700))
	p.ok(p.Mkdir("/e", 0o700))
	p.write("/d/f", "1")
	p.write("/e/g", "2")
	p.ok(p.SyncFS("/"))
	p.ok(p.Rename("/d/f", "/e/g"))
	expect(t, outcomes(t, m, where), "f|g", "|g")
	p.equal(after(t, m, 1, 0).read("/e/g"), "2")
	p.equal(after(t, m, 1, 1).read("/e/g"), "1")
	p.ok(p.SyncDir("/d")) // the wrong one
	expect(t, outcomes(t, m, where), "f|g", "|g")
	p.ok(p.SyncDir("/e"))
	expect(t, outcomes(t, m, where), "|g")
}

func TestCrashLosesNothingByMovingIntoANewDirectory(t *testing.T) {
	m, p := newMem(t)
	p.write("/f", "keep me")
	p.sync("/f")
	p.ok(p.SyncFS("/"))
	p.ok(p.Mkdir("/d", 0o700))
	p.ok(p.Rename("/f", "/d/f"))
	look := func(p *place) string {
		if p.list("/") == "d/" {
			return "d: " + p.list("/d")
		}
		return p.list("/")
	}
	expect(t, outcomes(t, m, look), "f", "d/ f", "d: f")
	p.ok(p.Rename("/d/f", "/g"))
	p.ok(p.Remove("/d"))
	// Removing a directory never comes before what empties it.
	expect(t, outcomes(t, m, look), "f", "d/ f", "d: f", "d/ g", "g")
}

func TestCrashAndHardLinks(t *testing.T) {
	m, p := newMem(t)
	p.write("/a", "x")
	p.sync("/a")
	p.ok(p.SyncDir("/"))
	p.ok(p.Link("/a", "/b"))
	p.ok(p.Remove("/a"))
	look := func(p *place) string {
		list := p.list("/")
		if list == "a b" && p.stat("/a").Ino != p.stat("/b").Ino {
			return "two files"
		}
		if list != "" {
			if i := p.stat("/" + list[:1]); i.Nlink != uint64((len(list)+1)/2) {
				return "wrong count of links"
			}
		}
		return list
	}
	// A journal keeps the link when it keeps the removal; only a file system
	// without one loses the file. The model is the stricter one.
	expect(t, outcomes(t, m, look), "a", "a b", "b", "")
}

func TestCrashAndMetadata(t *testing.T) {
	m, p := newMem(t)
	p.write("/f", "x")
	p.sync("/f")
	p.ok(p.SyncDir("/"))
	p.ok(p.Chmod("/f", 0o400))
	look := func(p *place) string { return p.stat("/f").Mode.String() }
	expect(t, outcomes(t, m, look), "-rw-------", "-r--------")
	p.sync("/f")
	expect(t, outcomes(t, m, look), "-r--------")
}

func TestCutAt(t *testing.T) {
	work := func(p *place) error {
		if err := p.Mkdir("/d", 0o700); err != nil {
			return err
		}
		f, err := p.OpenFile("/d/f", os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if _, err := f.Write([]byte("x")); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		return p.SyncFS("/")
	}
	states := ""
	for n := 1; ; n++ {
		m, p := newMem(t)
		m.CutAt(n)
		err := work(p)
		c := after(t, m, 7, 1)
		list := c.list("/")
		if list != "" {
			list += c.list("/d")
		}
		states += list + ","
		p.equal(err == nil, !m.Cut())
		if !m.Cut() {
			p.equal(m.Calls(), n-1)
			break
		}
		p.equal(errors.Is(err, vfs.ErrPowerCut), true)
		p.fails(errOf2(p.Lstat("/")), vfs.ErrPowerCut)
		m.CutAt(0)
		p.equal(p.stat("/").IsDir(), true)
	}
	if states != ",d/,d/f,d/f,d/f," {
		t.Errorf("states %q", states)
	}
}

// TestCrashIsRepeatable runs random calls and compares two crashes of one
// seed, and that a crash that keeps all changes nothing.
func TestCrashIsRepeatable(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	m, p := newMem(t)
	names := []string{"/a", "/b", "/d/a", "/d/b", "/d/e/a", "/d", "/d/e"}
	pick := func() string { return names[r.IntN(len(names))] }
	for range 2000 {
		switch r.IntN(9) {
		case 0:
			_ = p.Mkdir(pick(), 0o700)
		case 1, 2:
			_ = p.Rename(pick(), pick())
		case 3:
			_ = p.Remove(pick())
		case 4:
			_ = p.Link(pick(), pick())
		case 5:
			_ = p.SyncDir(pick())
		default:
			f, err := p.OpenFile(pick(), os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				continue
			}
			_, err = f.WriteAt([]byte{byte(r.Uint32())}, r.Int64N(20000))
			p.ok(err)
			if r.IntN(3) == 0 {
				p.ok(f.Sync())
			}
			p.ok(f.Close())
		}
		if r.IntN(50) != 0 {
			continue
		}
		now := tree(p, "/")
		p.equal(tree(after(t, m, 1, 1), "/"), now)
		s := r.Uint64()
		p.equal(tree(after(t, m, s, 0.5), "/"), tree(after(t, m, s, 0.5), "/"))
		// What was found after the crash is durable.
		c := m.CrashClone(vfs.CrashOptions{Seed: s, KeepUnsynced: 0.5})
		p.equal(tree(after(t, c, s, 0), "/"), tree(&place{c, t, ""}, "/"))
		if r.IntN(3) == 0 {
			p.ok(p.SyncFS("/"))
			p.equal(tree(after(t, m, s, 0), "/"), now)
		}
	}
}

// tree is everything in a directory as text.
func tree(p *place, dir string) string {
	var b strings.Builder
	list, err := p.ReadDir(dir)
	p.ok(err)
	for _, e := range list {
		name := strings.TrimSuffix(dir, "/") + "/" + e.Name
		b.WriteString(name + " " + e.Type.String())
		if e.Type.IsDir() {
			b.WriteString("\n" + tree(p, name))
			continue
		}
		f, err := p.OpenFile(name, os.O_RDONLY, 0)
		p.ok(err)
		data, err := io.ReadAll(f)
		p.ok(err)
		p.ok(f.Close())
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}
