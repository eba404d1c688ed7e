package index

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"forklift/storage/internal/pack"
)

// block reads and verifies block n, into buf if it has room.
func (x *File) block(n int, buf []byte) ([]byte, error) {
	entryBlocks := blocksOf(x.entries, entryBlock)
	offset, size := int64(headerBytes)+int64(n)*entryBlock*EntryBytes, min(entryBlock, int(x.entries)-n*entryBlock)*EntryBytes
	if n >= entryBlocks {
		k := n - entryBlocks
		offset = headerBytes + int64(x.entries)*EntryBytes + int64(k)*frameBlock*FrameBytes
		size = min(frameBlock, int(x.frames)-k*frameBlock) * FrameBytes
	}
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if err := x.readAt(buf, offset); err != nil {
		return nil, err
	}
	if sum := pack.Sum(buf); !bytes.Equal(sum[:sumBytes], x.sums[n*sumBytes:(n+1)*sumBytes]) {
		return nil, damaged(x.name, "block %d has other content than its checksum says", n)
	}
	return buf, nil
}

// cached gives block n from memory, or reads it.
func (x *File) cached(n int) ([]byte, error) {
	if b := x.blocks[n].Load(); b != nil {
		return *b, nil
	}
	b, err := x.block(n, nil)
	if err != nil {
		return nil, err
	}
	if x.cache.used.Add(int64(len(b))) > CacheBytes {
		x.forget()
	}
	if x.blocks[n].Swap(&b) != nil {
		x.cache.used.Add(-int64(len(b))) // another reader was faster
	}
	return b, nil
}

// forget drops the file's blocks from memory.
func (x *File) forget() {
	for i := range x.blocks {
		if b := x.blocks[i].Swap(nil); b != nil {
			x.cache.used.Add(-int64(len(*b)))
		}
	}
}

// Place is where an entry says that a blob is.
type Place struct {
	Frame uint32
	Slot  uint8
}

// Find adds to places where blobs are whose ids begin as this one does.
func (x *File) Find(id pack.ID, places []Place) ([]Place, error) {
	if x.entries == 0 {
		return places, nil
	}
	prefix := binary.BigEndian.Uint64(id[:])
	bucket := bucketOf(prefix, x.bits)
	lo, hi := x.fanOut[bucket], x.fanOut[bucket+1]
	for lo < hi {
		mid := lo + (hi-lo)/2
		e, err := x.entry(mid)
		if err != nil {
			return nil, err
		}
		if binary.BigEndian.Uint64(e) < prefix {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for ; lo < x.entries; lo++ {
		e, err := x.entry(lo)
		if err != nil {
			return nil, err
		}
		if binary.BigEndian.Uint64(e) != prefix {
			break
		}
		places = append(places, Place{Frame: binary.LittleEndian.Uint32(e[8:]), Slot: e[12]})
	}
	return places, nil
}

// bucketOf is the fan-out bucket of a prefix.
func bucketOf(prefix uint64, bits uint32) uint64 {
	return prefix >> (64 - bits) // a shift by 64 gives 0
}

// entry gives the bytes of entry i.
func (x *File) entry(i uint32) ([]byte, error) {
	b, err := x.cached(int(i / entryBlock))
	if err != nil {
		return nil, err
	}
	at := int(i%entryBlock) * EntryBytes
	return b[at : at+EntryBytes], nil
}

// Frame gives frame n.
func (x *File) Frame(n uint32) (Frame, error) {
	if n >= x.frames {
		return Frame{}, damaged(x.name, "no frame %d", n)
	}
	b, err := x.cached(blocksOf(x.entries, entryBlock) + int(n/frameBlock))
	if err != nil {
		return Frame{}, err
	}
	return x.decodeFrame(b[int(n%frameBlock)*FrameBytes:])
}

// decodeFrame reads a frame of the frames section.
func (x *File) decodeFrame(b []byte) (Frame, error) {
	f, err := pack.DecodeFrame(b[4:FrameBytes])
	if err != nil {
		return Frame{}, damaged(x.name, "%w", err)
	}
	n := binary.LittleEndian.Uint32(b)
	if int(n) >= len(x.packs) {
		return Frame{}, damaged(x.name, "no pack %d", n)
	}
	return Frame{Pack: n, Frame: f}, nil
}

// fanOutBits is how wide the fan-out of n entries is: about 256 entries in a
// bucket.
func fanOutBits(n int) uint32 {
	return uint32(min(maxFanOutBits, max(0, bits.Len(uint(n))-8)))
}
