package index

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// packOf makes up a pack of n blobs.
func packOf(r *rand.Rand, n int) pack.Summary {
	s := pack.Summary{Bytes: int64(n) * 100}
	for i := range s.ID {
		s.ID[i] = byte(r.Uint32())
	}
	offset := int64(16)
	for len(s.Rows) < n {
		blobs := min(1+r.IntN(pack.MaxFrameBlobs), n-len(s.Rows))
		s.Frames = append(s.Frames, pack.Frame{Offset: offset, Rows: offset + 5, Stored: uint32(blobs), Plain: uint32(blobs), Blobs: uint16(blobs)})
		offset += int64(blobs)
		for range blobs {
			var id pack.ID
			for i := 0; i < len(id); i += 8 {
				binary.LittleEndian.PutUint64(id[i:], r.Uint64())
			}
			s.Rows = append(s.Rows, pack.Row{ID: id, Bytes: 1})
		}
	}
	return s
}

// build writes an index and opens it.
func build(t testing.TB, fsys vfs.FS, packs []pack.Summary, old ...*File) *File {
	t.Helper()
	f, err := fsys.OpenFile("/new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	ok(t, err)
	id, err := Build(f, packs, old, nil)
	ok(t, err)
	ok(t, f.Close())
	name := "/" + hex.EncodeToString(id[:])
	ok(t, fsys.Rename("/new", name))
	x, err := Open(fsys, name, id, &Cache{})
	ok(t, err)
	return x
}

// finds checks that an index has every blob of a pack at its place, once.
func finds(t *testing.T, x *File, s pack.Summary) {
	t.Helper()
	rows := s.Rows
	for _, want := range s.Frames {
		for slot, row := range rows[:want.Blobs] {
			places, err := x.Find(row.ID, nil)
			ok(t, err)
			if len(places) != 1 || int(places[0].Slot) != slot {
				t.Fatalf("blob %x is at %v", row.ID[:4], places)
			}
			f, err := x.Frame(places[0].Frame)
			ok(t, err)
			if f.Frame != want || x.Packs()[f.Pack] != (Pack{s.ID, s.Bytes}) {
				t.Fatalf("blob %x is in %+v, not %+v", row.ID[:4], f, want)
			}
		}
		rows = rows[want.Blobs:]
	}
}

func TestIndexFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := vfs.NewMem()
	for _, n := range []int{0, 1, 2, 255, 256, 257, 4096, 4097, 20_000} {
		s := packOf(r, n)
		x := build(t, m, []pack.Summary{s})
		if x.Len() != n || x.Frames() != len(s.Frames) {
			t.Errorf("%d blobs: %d entries", n, x.Len())
		}
		finds(t, x, s)
		frames := 0
		ok(t, x.Verify(func(Pack, pack.Frame) { frames++ }))
		if frames != len(s.Frames) {
			t.Errorf("%d frames of %d", frames, len(s.Frames))
		}
		for range 100 {
			if places, err := x.Find(packOf(r, 1).Rows[0].ID, nil); err != nil || len(places) > 0 {
				t.Errorf("found what is not there: %v %v", places, err)
			}
		}
		ok(t, x.Close())
	}
}

// Merging keeps everything, once, also when two of the old files hold the
// same, as a crash between a merge and a removal leaves them.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m := vfs.NewMem()
	a, b, c, d := packOf(r, 5000), packOf(r, 3), packOf(r, 9000), packOf(r, 700)
	// The same blob in two packs is found in both.
	d.Rows[0] = a.Rows[0]
	x, y := build(t, m, []pack.Summary{a, b}), build(t, m, []pack.Summary{b, c})
	all := build(t, m, []pack.Summary{d}, x, y, x)
	if all.Len() != 5000+3+9000+700 || len(all.Packs()) != 4 {
		t.Errorf("%d entries, %d packs", all.Len(), len(all.Packs()))
	}
	ok(t, all.Verify(func(Pack, pack.Frame) {}))
	finds(t, all, b)
	finds(t, all, c)
	if places, err := all.Find(a.Rows[0].ID, nil); err != nil || len(places) != 2 {
		t.Errorf("a blob of two packs is at %v %v", places, err)
	}
}

func TestChoose(t *testing.T) {
	sizes := func(n ...uint32) []*File {
		var files []*File
		for i, k := range n {
			files = append(files, &File{entries: k, id: pack.ID{byte(i)}})
		}
		return files
	}
	for _, c := range []struct {
		live []*File
		n    int
		want []uint32
	}{
		{nil, 10, nil},
		{sizes(1000), 10, nil},
		{sizes(1000, 20), 10, []uint32{20}},
		{sizes(1000, 21), 10, nil},
		{sizes(60, 1000, 20), 10, []uint32{20, 60}},
		{sizes(100, 200, 300, 400, 500, 600, 700, 800), 1, []uint32{100, 200, 300, 400, 500, 600, 700, 800}},
		{sizes(100, 300, 1000, 3000, 10000, 30000, 100000, 300000), 1, []uint32{100}},
		{sizes(100, 300, 1000, 3000, 10000, 30000, 100000), 1, nil},
	} {
		var got []uint32
		for _, x := range Choose(c.live, c.n) {
			got = append(got, x.entries)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d beside %d files: %v, not %v", c.n, len(c.live), got, c.want)
		}
	}
}

// Files stay few and are rarely rewritten, whatever is added.
func TestChooseKeepsFilesFew(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	live := []*File{{entries: 1_000_000}}
	added, written := 0, 0
	for i := range 3000 {
		n := 1 + r.IntN(200)
		merged := &File{entries: uint32(n), id: pack.ID{byte(i), byte(i >> 8), 1}}
		for _, x := range Choose(live, n) {
			merged.entries += x.entries
			live = slices.DeleteFunc(live, func(y *File) bool { return x == y })
		}
		live = append(live, merged)
		if added += n; len(live) > MaxFiles {
			t.Fatalf("%d files", len(live))
		}
		written += int(merged.entries)
	}
	if written > 20*added {
		t.Errorf("%d entries written to add %d", written, added)
	}
}

func TestEveryBitOfAnIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	m := vfs.NewMem()
	s := packOf(r, 20)
	x := build(t, m, []pack.Summary{s})
	name, id := x.Name(), x.ID()
	whole := make([]byte, x.Size())
	ok(t, x.readAt(whole, 0))
	ok(t, x.Close())
	try := func(what string, n int, data []byte) {
		t.Helper()
		write(t, m, name, data)
		x, err := Open(m, name, id, &Cache{})
		if err == nil {
			err = x.Verify(func(Pack, pack.Frame) {})
			ok(t, x.Close())
		}
		if k := fault.KindOf(err); k != fault.Corrupt && k != fault.Unsupported {
			t.Fatalf("%s %d: %v", what, n, err)
		}
	}
	for i := range len(whole) * 8 {
		data := slices.Clone(whole)
		data[i/8] ^= 1 << (i % 8)
		try("bit", i, data)
	}
	for n := range whole {
		try("cut at", n, whole[:n])
	}
}

func write(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	ok(t, err)
	if len(data) > 0 {
		_, err = f.Write(data)
		ok(t, err)
	}
	ok(t, f.Close())
}

// The cache forgets instead of growing.
func TestCacheIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	s := packOf(r, 10_000)
	x := build(t, vfs.NewMem(), []pack.Summary{s})
	x.cache.used.Store(CacheBytes)
	finds(t, x, s)
	x.forget()
	if n := x.cache.used.Load(); n != CacheBytes {
		t.Errorf("%d bytes are counted that are not kept", n-CacheBytes)
	}
}

func FuzzIndex(f *testing.F) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 300} {
		x := build(f, vfs.NewMem(), []pack.Summary{packOf(r, n)})
		whole := make([]byte, x.Size())
		ok(f, x.readAt(whole, 0))
		f.Add(whole)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// With the checksum that fits, so that the fuzzer gets past it.
		var id pack.ID
		if n := len(data) - footerBytes; n > 0 {
			data = slices.Clone(data)
			foot := data[n:]
			if tail := int(binary.LittleEndian.Uint32(foot[8:])); tail <= n {
				id = pack.Sum(data[n-tail : n])
				copy(foot[24:], id[:])
			}
		}
		m := vfs.NewMem()
		write(t, m, "/x", data)
		x, err := Open(m, "/x", id, &Cache{})
		if err != nil {
			return
		}
		_ = x.Verify(func(Pack, pack.Frame) {})
		_, _ = x.Find(id, nil)
		_, _ = x.Frame(0)
	})
}
