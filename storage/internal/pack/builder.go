package pack

import (
	"io"

	"github.com/zeebo/blake3"
)

// Builder writes one pack. It is not safe for concurrent use; frames are
// compressed by their Packer before they get here.
type Builder struct {
	w      io.Writer
	sum    *blake3.Hasher
	at     int64
	frames []Frame
	rows   []Row
}

// NewBuilder begins a pack on an empty file.
func NewBuilder(w io.Writer) (*Builder, error) {
	b := &Builder{w: w, sum: blake3.New()}
	return b, b.write(header())
}

// write appends to the file and to its hash.
func (b *Builder) write(data []byte) error {
	n, err := b.w.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	_, _ = b.sum.Write(data)
	b.at += int64(len(data))
	return nil
}

// Full says that the next frame belongs into another pack.
func (b *Builder) Full() bool { return b.at >= MaxPackBytes || len(b.rows) >= MaxPackBlobs }

// Bytes is how much has been written.
func (b *Builder) Bytes() int64 { return b.at }

// Add writes a frame. It keeps nothing of it but the rows.
func (b *Builder) Add(f *Packed) error {
	frame := Frame{
		Offset:   b.at,
		Stored:   uint32(len(f.stored)),
		Plain:    f.plain,
		Blobs:    uint16(len(f.rows)),
		Encoding: f.encoding,
	}
	if err := b.write(f.stored); err != nil {
		return err
	}
	b.frames = append(b.frames, frame)
	b.rows = append(b.rows, f.rows...)
	return nil
}

// Summary is what a finished pack holds.
type Summary struct {
	ID     ID // its name
	Bytes  int64
	Frames []Frame
	Rows   []Row // of all frames, in order
}

// Finish writes the table and the end. The caller makes the file durable and
// gives it its name.
func (b *Builder) Finish() (Summary, error) {
	table := encodeTable(b.frames, b.rows)
	f := footer{
		tableOffset: b.at,
		tableBytes:  uint32(len(table)),
		frames:      uint32(len(b.frames)),
		blobs:       uint32(len(b.rows)),
		tableSum:    Sum(table),
	}
	at := b.at + int64(len(b.frames))*frameRowBytes
	for i := range b.frames {
		b.frames[i].Rows = at
		at += int64(b.frames[i].Blobs) * blobRowBytes
	}
	if err := b.write(append(table, f.encode()...)); err != nil {
		return Summary{}, err
	}
	s := Summary{Bytes: b.at, Frames: b.frames, Rows: b.rows}
	_, _ = b.sum.Digest().Read(s.ID[:])
	return s, nil
}

// Packer fills frames with blobs.
type Packer struct {
	data []byte
	rows []Row
}

// Fits says whether another blob of n bytes goes into the frame that is
// being filled; if not, Pack comes first.
func (p *Packer) Fits(n int) bool {
	return len(p.rows) == 0 || (len(p.rows) < MaxFrameBlobs && len(p.data)+n <= FrameBytes)
}

// Put adds a copy of a blob, which fits.
func (p *Packer) Put(id ID, blob []byte) {
	if p.data == nil {
		p.data = make([]byte, 0, FrameBytes)
	}
	p.data = append(p.data, blob...)
	p.rows = append(p.rows, Row{ID: id, Bytes: uint32(len(blob))})
}

// Empty says that there is nothing to pack.
func (p *Packer) Empty() bool { return len(p.rows) == 0 }

// Packed is a compressed frame.
type Packed struct {
	stored   []byte
	rows     []Row
	plain    uint32
	encoding uint8
	buf      []byte
}

// Pack compresses what was put into out, whose old content is lost, and
// begins a new frame. out is good until the next Put or Pack of either.
func (p *Packer) Pack(out *Packed) {
	out.buf = growTo(out.buf, len(p.data))
	stored, encoding := compress(out.buf, p.data)
	if encoding == compressed {
		out.buf = stored
	}
	out.stored, out.encoding, out.plain = stored, encoding, uint32(len(p.data))
	out.rows = append(out.rows[:0], p.rows...)
	p.data, p.rows = p.data[:0], p.rows[:0]
	if cap(p.data) > FrameBytes {
		p.data = nil // a single large blob; its memory is not kept
	}
}

// growTo gives a buffer with room for n bytes.
func growTo(buf []byte, n int) []byte {
	if cap(buf) >= n {
		return buf
	}
	return make([]byte, 0, n)
}
