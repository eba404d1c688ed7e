package index

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"forklift/storage/internal/pack"
)

// MaxFiles is how many index files are live at most after a commit.
const MaxFiles = 8

// Choose says which of the live files a new one with n entries of its own
// takes in: those that are not more than twice as large as what is gathered
// so far, and as many of the smallest as it takes to have at most MaxFiles.
func Choose(live []*File, n int) (merge []*File) {
	live = slices.Clone(live)
	slices.SortFunc(live, func(a, b *File) int {
		return cmp.Or(cmp.Compare(a.entries, b.entries), slices.Compare(a.id[:], b.id[:]))
	})
	for i, x := range live {
		left := len(live) - i // that stay if this one does
		if int(x.entries) > 2*n && left < MaxFiles {
			break
		}
		merge = append(merge, x)
		n += int(x.entries)
	}
	return merge
}

// dropped is the number of what is left out.
const dropped = 1<<32 - 1

// record is an entry in memory.
type record struct {
	prefix uint64
	frame  uint32
	slot   uint8
}

// source gives records in order.
type source interface {
	// next gives a record; false at the end.
	next() (record, bool, error)
}

// builder makes one file.
type builder struct {
	w       *bufio.Writer
	drop    map[pack.ID]bool
	packs   []Pack
	numbers map[pack.ID]uint32
	frames  []Frame
	placed  map[Frame]uint32 // frames of packs that more than one source speaks of
	sources []source
	total   int
	sums    []byte
}

// Build writes an index of new packs and of everything that old files hold,
// and gives its id. w is an empty file; the caller makes it durable and gives it
// its name. What old files say of packs that drop names is left out; a nil
// drop names none.
func Build(w io.Writer, packs []pack.Summary, old []*File, drop map[pack.ID]bool) (pack.ID, error) {
	b := &builder{w: bufio.NewWriterSize(w, 64<<10), drop: drop, numbers: map[pack.ID]uint32{}, placed: map[Frame]uint32{}}
	b.addPacks(packs)
	for _, x := range old {
		if err := b.addFile(x); err != nil {
			return pack.ID{}, err
		}
	}
	if b.total > MaxEntries {
		return pack.ID{}, fmt.Errorf("build index: %d entries are more than the format holds", b.total)
	}
	_, _ = b.w.Write(header()) // bufio keeps the first error for Flush
	width := fanOutBits(b.total)
	fan := make([]uint32, 1<<width+1)
	count, err := b.writeEntries(fan, width)
	if err != nil {
		return pack.ID{}, err
	}
	b.writeFrames()
	tail := b.tail(count, width, fan)
	id := pack.Sum(tail)
	offset := headerBytes + int64(count)*EntryBytes + int64(len(b.frames))*FrameBytes
	_, _ = b.w.Write(tail)
	_, _ = b.w.Write(footer(offset, len(tail), id))
	return id, b.w.Flush()
}

// addPacks takes in new packs.
func (b *builder) addPacks(packs []pack.Summary) {
	var records []record
	for _, p := range packs {
		n := b.packNumber(Pack{ID: p.ID, Size: p.Bytes})
		rows := p.Rows
		for _, f := range p.Frames {
			frame := uint32(len(b.frames))
			b.frames = append(b.frames, Frame{Pack: n, Frame: f})
			for slot, row := range rows[:f.Blobs] {
				records = append(records, record{binary.BigEndian.Uint64(row.ID[:]), frame, uint8(slot)})
			}
			rows = rows[f.Blobs:]
		}
	}
	slices.SortFunc(records, compareRecords)
	b.total += len(records)
	b.sources = append(b.sources, &sliceSource{records})
}

// compareRecords is the order of a file; frame and slot only make it stable.
func compareRecords(x, y record) int {
	return cmp.Or(cmp.Compare(x.prefix, y.prefix), cmp.Compare(x.frame, y.frame), cmp.Compare(x.slot, y.slot))
}

// packNumber gives the number of a pack in the new file.
func (b *builder) packNumber(p Pack) uint32 {
	n, ok := b.numbers[p.ID]
	if !ok {
		n = uint32(len(b.packs))
		b.numbers[p.ID] = n
		b.packs = append(b.packs, p)
	}
	return n
}

// addFile takes in an old file: its frames get new numbers, its entries
// become a source.
func (b *builder) addFile(x *File) error {
	known := len(b.packs)
	numbers := make([]uint32, len(x.packs))
	shared := false
	for i, p := range x.packs {
		if b.drop[p.ID] {
			numbers[i] = dropped
			continue
		}
		numbers[i] = b.packNumber(p)
		shared = shared || int(numbers[i]) < known
	}
	if shared && len(b.placed) == 0 {
		for n, f := range b.frames {
			b.placed[f] = uint32(n)
		}
	}
	renumber := make([]uint32, x.frames)
	first := blocksOf(x.entries, entryBlock)
	var buf []byte
	for n := range renumber {
		if n%frameBlock == 0 {
			var err error
			if buf, err = x.block(first+n/frameBlock, buf); err != nil {
				return err
			}
		}
		f, err := x.decodeFrame(buf[n%frameBlock*FrameBytes:])
		if err != nil {
			return err
		}
		if f.Pack = numbers[f.Pack]; f.Pack == dropped {
			renumber[n] = dropped
			continue
		}
		renumber[n] = b.frameNumber(f)
	}
	b.total += int(x.entries)
	b.sources = append(b.sources, &fileSource{x: x, renumber: renumber})
	return nil
}

// frameNumber gives the number of a frame in the new file.
func (b *builder) frameNumber(f Frame) uint32 {
	if n, ok := b.placed[f]; ok {
		return n
	}
	n := uint32(len(b.frames))
	b.frames = append(b.frames, f)
	if len(b.placed) > 0 {
		b.placed[f] = n
	}
	return n
}

// writeEntries merges the sources and gives the number of entries.
func (b *builder) writeEntries(fan []uint32, width uint32) (uint32, error) {
	heads := make([]record, 0, len(b.sources))
	sources := make([]source, 0, len(b.sources))
	for _, s := range b.sources {
		r, ok, err := s.next()
		if err != nil {
			return 0, err
		}
		if ok {
			heads, sources = append(heads, r), append(sources, s)
		}
	}
	block := make([]byte, 0, entryBlock*EntryBytes)
	count := uint32(0)
	var last record
	for len(heads) > 0 {
		k := 0
		for i := range heads {
			if compareRecords(heads[i], heads[k]) < 0 {
				k = i
			}
		}
		r := heads[k]
		next, ok, err := sources[k].next()
		if err != nil {
			return 0, err
		}
		if heads[k] = next; !ok {
			heads, sources = slices.Delete(heads, k, k+1), slices.Delete(sources, k, k+1)
		}
		if count > 0 && r == last {
			continue // in two old files, after a crash between merge and removal
		}
		last = r
		fan[bucketOf(r.prefix, width)+1]++
		block = binary.BigEndian.AppendUint64(block, r.prefix)
		block = binary.LittleEndian.AppendUint32(block, r.frame)
		block = append(block, r.slot)
		if count++; count%entryBlock == 0 {
			b.writeBlock(block)
			block = block[:0]
		}
	}
	if len(block) > 0 {
		b.writeBlock(block)
	}
	for i := 1; i < len(fan); i++ {
		fan[i] += fan[i-1]
	}
	return count, nil
}

// writeBlock writes a block and keeps its sum.
func (b *builder) writeBlock(block []byte) {
	_, _ = b.w.Write(block)
	sum := pack.Sum(block)
	b.sums = append(b.sums, sum[:sumBytes]...)
}

// writeFrames writes the frames section.
func (b *builder) writeFrames() {
	for part := range slices.Chunk(b.frames, frameBlock) {
		block := make([]byte, 0, len(part)*FrameBytes)
		for _, f := range part {
			block = f.Append(binary.LittleEndian.AppendUint32(block, f.Pack))
		}
		b.writeBlock(block)
	}
}

// tail gives the tail.
func (b *builder) tail(count, width uint32, fan []uint32) []byte {
	t := binary.LittleEndian.AppendUint32(nil, count)
	t = binary.LittleEndian.AppendUint32(t, uint32(len(b.frames)))
	t = binary.LittleEndian.AppendUint32(t, uint32(len(b.packs)))
	t = binary.LittleEndian.AppendUint32(t, width)
	for _, p := range b.packs {
		t = append(t, p.ID[:]...)
		t = binary.LittleEndian.AppendUint64(t, uint64(p.Size))
	}
	for _, n := range fan {
		t = binary.LittleEndian.AppendUint32(t, n)
	}
	return append(t, b.sums...)
}

// footer gives the fixed end.
func footer(offset int64, tail int, id pack.ID) []byte {
	f := binary.LittleEndian.AppendUint64(make([]byte, 0, footerBytes), uint64(offset))
	f = binary.LittleEndian.AppendUint32(f, uint32(tail))
	f = binary.LittleEndian.AppendUint32(f, version)
	f = binary.LittleEndian.AppendUint64(f, 0)
	f = append(f, id[:]...)
	return append(f, footerMagic...)
}

// sliceSource gives sorted records.
type sliceSource struct{ records []record }

func (s *sliceSource) next() (record, bool, error) {
	if len(s.records) == 0 {
		return record{}, false, nil
	}
	r := s.records[0]
	s.records = s.records[1:]
	return r, true, nil
}

// fileSource gives the records of a file with new frame numbers. Records
// with equal prefixes can come out of order; that only costs finding them
// twice, if they are twice.
type fileSource struct {
	x        *File
	renumber []uint32
	at       uint32
	buf      []byte
}

func (s *fileSource) next() (record, bool, error) {
	for s.at < s.x.entries {
		if s.at%entryBlock == 0 {
			var err error
			if s.buf, err = s.x.block(int(s.at/entryBlock), s.buf); err != nil {
				return record{}, false, err
			}
		}
		e := s.buf[int(s.at%entryBlock)*EntryBytes:]
		s.at++
		n := binary.LittleEndian.Uint32(e[8:])
		if int(n) >= len(s.renumber) {
			return record{}, false, damaged(s.x.name, "no frame %d", n)
		}
		if s.renumber[n] != dropped {
			return record{binary.BigEndian.Uint64(e), s.renumber[n], e[12]}, true, nil
		}
	}
	return record{}, false, nil
}
