package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"forklift/storage/fault"
	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// Sizes and marks of the format.
const (
	version       = 1
	headerBytes   = 16
	footerBytes   = 64
	EntryBytes    = 13
	entryBlock    = 4096 // entries
	FrameBytes    = 4 + pack.FrameRowBytes
	frameBlock    = 2048 // frames
	packBytes     = 40
	sumBytes      = 16
	tailHeadBytes = 16
	maxFanOutBits = 16
	headerMagic   = "flindex\n"
	footerMagic   = "\nflindex"
)

// Limits. A reader refuses more.
const (
	// MaxEntries is how many entries a file has at most: 2 TiB of pages.
	MaxEntries = 1 << 28
	// maxTailBytes is the largest tail that is read: sums of MaxEntries and
	// as many packs as can hold them.
	maxTailBytes = 16 << 20
	// CacheBytes is how much of the blocks that were read a Cache keeps.
	CacheBytes = 48 << 20
)

// Pack is a pack that an index speaks of.
type Pack struct {
	ID   pack.ID
	Size int64
}

// Frame is a frame and the pack it is in.
type Frame struct {
	Pack uint32 // number in the file's Packs
	pack.Frame
}

// Cache bounds the memory of the files that share it.
type Cache struct{ used atomic.Int64 }

// File is an open index file. It is safe for concurrent use.
type File struct {
	f       vfs.File
	name    string
	id      pack.ID
	size    int64
	entries uint32
	frames  uint32
	packs   []Pack
	bits    uint32
	fanOut  []uint32
	sums    []byte
	cache   *Cache
	blocks  []atomic.Pointer[[]byte] // entries, then frames
}

// damaged says that an index is not what was written.
func damaged(name string, format string, args ...any) error {
	return &fault.Error{Op: "read index", Path: name, Kind: fault.Corrupt, Err: fmt.Errorf(format, args...)}
}

// Open opens the index file name, whose id is in its name.
func Open(fsys vfs.FS, name string, id pack.ID, cache *Cache) (*File, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	x := &File{f: f, name: name, id: id, cache: cache}
	if err := x.readTail(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return x, nil
}

// Close releases the file and its memory.
func (x *File) Close() error {
	x.forget()
	return x.f.Close()
}

// ID is the file's id.
func (x *File) ID() pack.ID { return x.id }

// Name is the name the file was opened by.
func (x *File) Name() string { return x.name }

// Len is the number of entries.
func (x *File) Len() int { return int(x.entries) }

// Frames is the number of frames.
func (x *File) Frames() int { return int(x.frames) }

// Size is the size of the file in bytes.
func (x *File) Size() int64 { return x.size }

// Packs are the packs that the file speaks of.
func (x *File) Packs() []Pack { return x.packs }

// readAt fills buf.
func (x *File) readAt(buf []byte, offset int64) error {
	n, err := x.f.ReadAt(buf, offset)
	if n == len(buf) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return damaged(x.name, "the file is cut off")
	}
	return &fault.Error{Op: "read index", Path: x.name, Err: err}
}

// readTail reads and verifies what Open needs.
func (x *File) readTail() error {
	info, err := x.f.Stat()
	if err != nil {
		return err
	}
	x.size = info.Size
	if !info.IsRegular() || info.Size < headerBytes+tailHeadBytes+footerBytes {
		return damaged(x.name, "a file of %d bytes is not an index", info.Size)
	}
	head, foot := make([]byte, headerBytes), make([]byte, footerBytes)
	if err := x.readAt(head, 0); err != nil {
		return err
	}
	if err := x.readAt(foot, info.Size-footerBytes); err != nil {
		return err
	}
	if !bytes.Equal(foot[56:], []byte(footerMagic)) {
		return damaged(x.name, "not an index: the end is missing")
	}
	if v := binary.LittleEndian.Uint32(foot[12:]); v != version {
		return &fault.Error{Op: "read index", Path: x.name, Kind: fault.Unsupported,
			Err: fmt.Errorf("index format %d was written by a newer Forklift", v)}
	}
	if !bytes.Equal(head, header()) || binary.LittleEndian.Uint64(foot[16:]) != 0 {
		return damaged(x.name, "not an index: the header is wrong")
	}
	offset, n := int64(binary.LittleEndian.Uint64(foot)), int64(binary.LittleEndian.Uint32(foot[8:]))
	if n < tailHeadBytes || n > maxTailBytes || offset != info.Size-footerBytes-n {
		return damaged(x.name, "the tail does not fit the file")
	}
	tail := make([]byte, n)
	if err := x.readAt(tail, offset); err != nil {
		return err
	}
	if sum := pack.Sum(tail); sum != pack.ID(foot[24:56]) || sum != x.id {
		return damaged(x.name, "the file has other content than its name says")
	}
	return x.decodeTail(tail, offset)
}

// decodeTail takes the tail apart. offset is where it is in the file.
func (x *File) decodeTail(tail []byte, offset int64) error {
	x.entries = binary.LittleEndian.Uint32(tail)
	x.frames = binary.LittleEndian.Uint32(tail[4:])
	packs := binary.LittleEndian.Uint32(tail[8:])
	x.bits = binary.LittleEndian.Uint32(tail[12:])
	if x.entries > MaxEntries || x.bits > maxFanOutBits {
		return damaged(x.name, "%d entries, fan-out %d: more than the limit", x.entries, x.bits)
	}
	if offset != headerBytes+int64(x.entries)*EntryBytes+int64(x.frames)*FrameBytes {
		return damaged(x.name, "%d entries and %d frames do not fit the file", x.entries, x.frames)
	}
	fan := 1<<x.bits + 1
	blocks := blocksOf(x.entries, entryBlock) + blocksOf(x.frames, frameBlock)
	if int64(len(tail)) != tailHeadBytes+int64(packs)*packBytes+int64(fan)*4+int64(blocks)*sumBytes {
		return damaged(x.name, "the tail has the wrong length")
	}
	rest := tail[tailHeadBytes:]
	x.packs = make([]Pack, packs)
	for i := range x.packs {
		x.packs[i] = Pack{ID: pack.ID(rest[:32]), Size: int64(binary.LittleEndian.Uint64(rest[32:]))}
		rest = rest[packBytes:]
	}
	x.fanOut = make([]uint32, fan)
	last := uint32(0)
	for i := range x.fanOut {
		x.fanOut[i] = binary.LittleEndian.Uint32(rest[4*i:])
		if x.fanOut[i] < last || x.fanOut[i] > x.entries {
			return damaged(x.name, "the fan-out is not in order")
		}
		last = x.fanOut[i]
	}
	if x.fanOut[0] != 0 || last != x.entries {
		return damaged(x.name, "the fan-out does not cover the entries")
	}
	x.sums = rest[4*fan:]
	x.blocks = make([]atomic.Pointer[[]byte], blocks)
	return nil
}

// blocksOf is how many blocks of size hold n.
func blocksOf(n uint32, size int) int { return (int(n) + size - 1) / size }

// header gives the first bytes of a file.
func header() []byte {
	b := append(make([]byte, 0, headerBytes), headerMagic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	return binary.LittleEndian.AppendUint32(b, 0)
}
