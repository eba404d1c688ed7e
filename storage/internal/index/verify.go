package index

import (
	"encoding/binary"

	"forklift/storage/internal/pack"
)

// Verify reads the whole file: every block has its sum, the entries are in
// order, in their fan-out buckets, and speak of slots that their frames
// have. It tells all frames.
func (x *File) Verify(frame func(Pack, pack.Frame)) error {
	blobs := make([]uint16, x.frames)
	first := blocksOf(x.entries, entryBlock)
	var buf []byte
	var err error
	for n := range blobs {
		if n%frameBlock == 0 {
			if buf, err = x.block(first+n/frameBlock, buf); err != nil {
				return err
			}
		}
		f, err := x.decodeFrame(buf[n%frameBlock*FrameBytes:])
		if err != nil {
			return err
		}
		blobs[n] = f.Blobs
		frame(x.packs[f.Pack], f.Frame)
	}
	last := uint64(0)
	for i := range x.entries {
		if i%entryBlock == 0 {
			if buf, err = x.block(int(i/entryBlock), buf); err != nil {
				return err
			}
		}
		e := buf[int(i%entryBlock)*EntryBytes:]
		prefix, n := binary.BigEndian.Uint64(e), binary.LittleEndian.Uint32(e[8:])
		bucket := bucketOf(prefix, x.bits)
		switch {
		case prefix < last:
			return damaged(x.name, "the entries are not in order")
		case i < x.fanOut[bucket] || i >= x.fanOut[bucket+1]:
			return damaged(x.name, "entry %d is not in its bucket", i)
		case n >= x.frames || uint16(e[12]) >= blobs[n]:
			return damaged(x.name, "entry %d speaks of a blob that is not there", i)
		}
		last = prefix
	}
	return nil
}
