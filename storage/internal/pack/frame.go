package pack

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/blake3"
)

// ID names a blob: its BLAKE3-256.
type ID = [32]byte

// Sum gives the ID of a blob.
func Sum(data []byte) ID { return blake3.Sum256(data) }

// Limits of the format. A reader refuses more.
const (
	// FrameBytes is the size that a frame is filled to. 32 pages: large
	// enough for compression to find what pages share, small enough that
	// reading a single page stays cheap.
	FrameBytes = 256 << 10
	// MaxFrameBlobs is the number of blobs in a frame; the index has one
	// byte for the slot.
	MaxFrameBlobs = 256
	// MaxBlobBytes is the largest blob. It has its own frame.
	MaxBlobBytes = 4 << 20
	// MaxPackBytes is where a writer begins another pack.
	MaxPackBytes = 256 << 20
	// MaxPackBlobs is where a writer begins another pack, so that its table stays
	// below 20 MiB.
	MaxPackBlobs = 512 << 10
	// maxFileBytes is the largest pack that is read at all.
	maxFileBytes = MaxPackBytes + MaxBlobBytes + maxTableBytes + headerBytes + footerBytes
	// maxTableBytes is the largest table that is read at all.
	maxTableBytes = (MaxPackBlobs + MaxFrameBlobs) * (frameRowBytes + blobRowBytes)
)

// The ways a frame is stored.
const (
	plain      = 0
	compressed = 1
)

// Row is a blob of a frame.
type Row struct {
	ID    ID
	Bytes uint32
}

// Frame is where a frame is and what it holds.
type Frame struct {
	Offset   int64  // of its stored bytes in the pack
	Rows     int64  // offset of its rows in the pack
	Stored   uint32 // bytes in the pack
	Plain    uint32 // bytes of its blobs
	Blobs    uint16
	Encoding uint8
}

// FrameRowBytes is the size of an encoded Frame in an index.
const FrameRowBytes = 28

// Append adds the frame's encoding for an index: u64 offset, u64 rows,
// u32 stored, u32 plain, u16 blobs, u8 encoding, u8 zero.
func (f Frame) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Rows))
	b = binary.LittleEndian.AppendUint32(b, f.Stored)
	b = binary.LittleEndian.AppendUint32(b, f.Plain)
	b = binary.LittleEndian.AppendUint16(b, f.Blobs)
	return append(b, f.Encoding, 0)
}

// DecodeFrame reads what Append wrote. b has FrameRowBytes bytes.
func DecodeFrame(b []byte) (Frame, error) {
	f := Frame{
		Offset:   int64(binary.LittleEndian.Uint64(b)),
		Rows:     int64(binary.LittleEndian.Uint64(b[8:])),
		Stored:   binary.LittleEndian.Uint32(b[16:]),
		Plain:    binary.LittleEndian.Uint32(b[20:]),
		Blobs:    binary.LittleEndian.Uint16(b[24:]),
		Encoding: b[26],
	}
	if b[27] != 0 {
		return f, fmt.Errorf("frame row has unknown flags")
	}
	return f, f.check()
}

// check holds a frame against the limits. Its place is held against the
// file when it is read.
func (f Frame) check() error {
	switch {
	case f.Blobs == 0 || f.Blobs > MaxFrameBlobs:
		return fmt.Errorf("frame of %d blobs", f.Blobs)
	case f.Plain > MaxBlobBytes || (f.Blobs > 1 && f.Plain > FrameBytes):
		return fmt.Errorf("frame of %d bytes", f.Plain)
	case f.Stored > f.Plain || (f.Encoding == plain && f.Stored != f.Plain):
		return fmt.Errorf("frame of %d bytes stored as %d", f.Plain, f.Stored)
	case f.Encoding > compressed:
		return fmt.Errorf("frame of unknown encoding %d", f.Encoding)
	case f.Offset < headerBytes || f.Offset > maxFileBytes || f.Rows < headerBytes || f.Rows > maxFileBytes:
		return fmt.Errorf("frame outside the pack")
	}
	return nil
}

// coders are the two halves of zstd, made when first needed. Both are safe
// for concurrent use and keep state for as many callers as run at once.
var coders = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	// The options are constants of this package, so making them cannot fail.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(FrameBytes), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(MaxBlobBytes),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err)
	}
	return enc, dec
})

// compress gives the stored bytes of a frame, in buf where there is room,
// and their encoding.
func compress(buf, data []byte) ([]byte, uint8) {
	enc, _ := coders()
	out := enc.EncodeAll(data, buf[:0])
	// Keeping a frame plain makes it cheaper to read; a gain below 1/32 is
	// not worth a decoder run.
	if len(out) >= len(data)-len(data)/32 {
		return data, plain
	}
	return out, compressed
}

// decompress gives the plain bytes of a frame, in buf where there is room.
func decompress(buf, stored []byte, f Frame) ([]byte, error) {
	if f.Encoding == plain {
		return append(buf[:0], stored...), nil
	}
	if uint32(cap(buf)) < f.Plain {
		buf = make([]byte, 0, f.Plain)
	}
	_, dec := coders()
	out, err := dec.DecodeAll(stored, buf[:0:f.Plain])
	if err != nil {
		return nil, fmt.Errorf("decode frame: %w", err)
	}
	if uint32(len(out)) != f.Plain {
		return nil, fmt.Errorf("frame decodes to %d bytes, not %d", len(out), f.Plain)
	}
	return out, nil
}
