package pack

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// blobsOf makes blobs of the sizes, some that compress and some that do not.
func blobsOf(r *rand.Rand, sizes ...int) [][]byte {
	var blobs [][]byte
	for i, n := range sizes {
		b := make([]byte, n)
		for k := range b {
			if b[k] = byte(r.Uint32()); i%2 == 0 {
				b[k] &= 1
			}
		}
		blobs = append(blobs, b)
	}
	return blobs
}

// build writes a pack of blobs to /pack.
func build(t testing.TB, fsys vfs.FS, blobs [][]byte) Summary {
	t.Helper()
	f, err := fsys.OpenFile("/pack", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	ok(t, err)
	b, err := NewBuilder(f)
	ok(t, err)
	var in Packer
	var out Packed
	flush := func() {
		if !in.Empty() {
			in.Pack(&out)
			ok(t, b.Add(&out))
		}
	}
	for _, blob := range blobs {
		if !in.Fits(len(blob)) {
			flush()
		}
		in.Put(Sum(blob), blob)
	}
	flush()
	s, err := b.Finish()
	ok(t, err)
	ok(t, f.Close())
	return s
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPackGivesItsBlobs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 100, 8192, 8192, 8192, FrameBytes - 1, FrameBytes, FrameBytes + 1, MaxBlobBytes, 5}
	for range 600 {
		sizes = append(sizes, 1+r.IntN(3000))
	}
	blobs := blobsOf(r, sizes...)
	m := vfs.NewMem()
	sum := build(t, m, blobs)
	p, err := Open(m, "/pack")
	ok(t, err)
	defer p.Close()
	got, err := p.Verify(context.Background(), sum.ID)
	ok(t, err)
	if got.Bytes != sum.Bytes || !slices.Equal(got.Frames, sum.Frames) || !slices.Equal(got.Rows, sum.Rows) {
		t.Error("the pack says something else than the builder")
	}
	n := 0
	var buf Buffer
	for _, f := range sum.Frames {
		again, err := DecodeFrame(f.Append(nil))
		if err != nil || again != f {
			t.Fatalf("%+v becomes %+v: %v", f, again, err)
		}
		rows, err := p.Rows(f)
		ok(t, err)
		data, err := p.Frame(f, &buf)
		ok(t, err)
		for slot := range rows {
			blob, err := Blob("/pack", data, rows, slot)
			ok(t, err)
			if !bytes.Equal(blob, blobs[n]) {
				t.Fatalf("blob %d has other bytes", n)
			}
			n++
		}
	}
	if n != len(blobs) {
		t.Errorf("%d blobs of %d", n, len(blobs))
	}
	if _, err := p.Verify(context.Background(), ID{1}); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("under another name: %v", err)
	}
}

func TestPackThatIsFull(t *testing.T) {
	b := Builder{at: MaxPackBytes}
	if !b.Full() || (&Builder{}).Full() || !(&Builder{rows: make([]Row, MaxPackBlobs)}).Full() {
		t.Error("a full pack is not one")
	}
}

// Every single bit counts.
func TestEveryBitOfAPack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m := vfs.NewMem()
	sum := build(t, m, blobsOf(r, 300, 200, 400))
	whole := read(t, m)
	for i := range len(whole) * 8 {
		data := slices.Clone(whole)
		data[i/8] ^= 1 << (i % 8)
		write(t, m, data)
		p, err := Open(m, "/pack")
		ok(t, err)
		_, err = p.Verify(context.Background(), sum.ID)
		ok(t, p.Close())
		if k := fault.KindOf(err); k != fault.Corrupt && k != fault.Unsupported {
			t.Fatalf("bit %d: %v", i, err)
		}
	}
	for n := range whole {
		write(t, m, whole[:n])
		p, err := Open(m, "/pack")
		if err == nil {
			_, err = p.Verify(context.Background(), sum.ID)
			ok(t, p.Close())
		}
		if fault.KindOf(err) != fault.Corrupt {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func read(t testing.TB, fsys vfs.FS) []byte {
	t.Helper()
	f, err := fsys.OpenFile("/pack", os.O_RDONLY, 0)
	ok(t, err)
	info, err := f.Stat()
	ok(t, err)
	data := make([]byte, info.Size)
	_, err = f.ReadAt(data, 0)
	ok(t, err)
	ok(t, f.Close())
	return data
}

func write(t testing.TB, fsys vfs.FS, data []byte) {
	t.Helper()
	f, err := fsys.OpenFile("/pack", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	ok(t, err)
	if len(data) > 0 {
		_, err = f.Write(data)
		ok(t, err)
	}
	ok(t, f.Close())
}

// A frame that claims more than it is cannot make a reader use more memory.
func TestFrameThatLies(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	m := vfs.NewMem()
	bomb := make([]byte, MaxBlobBytes) // compresses to almost nothing
	sum := build(t, m, append(blobsOf(r, 1000), bomb))
	p, err := Open(m, "/pack")
	ok(t, err)
	defer p.Close()
	var buf Buffer
	good := sum.Frames[1]
	for what, f := range map[string]Frame{
		"smaller":         {good.Offset, good.Rows, good.Stored, good.Plain - 1, 1, compressed},
		"larger":          {good.Offset, good.Rows, good.Stored, good.Plain + 1, 1, compressed},
		"huge":            {good.Offset, good.Rows, good.Stored, 1 << 31, 1, compressed},
		"many":            {good.Offset, good.Rows, good.Stored, good.Plain, 300, compressed},
		"none":            {good.Offset, good.Rows, good.Stored, good.Plain, 0, compressed},
		"plain":           {good.Offset, good.Rows, good.Stored, good.Plain, 1, plain},
		"other":           {good.Offset, good.Rows, good.Stored, good.Plain, 1, 9},
		"behind the end":  {sum.Bytes - 1, good.Rows, good.Stored, good.Plain, 1, compressed},
		"before":          {-1, good.Rows, good.Stored, good.Plain, 1, compressed},
		"rows at the end": {good.Offset, sum.Bytes - 3, good.Stored, good.Plain, 1, compressed},
	} {
		_, err := p.Frame(f, &buf)
		if err == nil {
			_, err = p.Rows(f)
		}
		if fault.KindOf(err) != fault.Corrupt {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzPack(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	m := vfs.NewMem()
	for _, sizes := range [][]int{{1}, {300, 20, 400}, {FrameBytes, 8}} {
		build(f, m, blobsOf(r, sizes...))
		f.Add(read(f, m))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := vfs.NewMem()
		write(t, m, mendTable(data))
		p, err := Open(m, "/pack")
		if err != nil {
			return
		}
		frames, rows, err := p.Table()
		if err != nil {
			return
		}
		// What has a right table is a pack, or its frames are damaged.
		var buf Buffer
		for _, frame := range frames {
			if data, err := p.Frame(frame, &buf); err == nil {
				for slot := range frame.Blobs {
					_, _ = Blob("/pack", data, rows[:frame.Blobs], int(slot))
				}
			}
			rows = rows[frame.Blobs:]
		}
	})
}

// mendTable gives a pack's table the checksum that it is held against, so that
// the fuzzer gets past it.
func mendTable(data []byte) []byte {
	n := len(data) - footerBytes
	if n < 0 {
		return data
	}
	data = slices.Clone(data)
	foot := data[n:]
	if table := int(binary.LittleEndian.Uint32(foot[8:])); table <= n {
		sum := Sum(data[n-table : n])
		copy(foot[24:], sum[:])
	}
	return data
}
