package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Reader reads from one pack. It is safe for concurrent use.
type Reader struct {
	f    vfs.File
	name string
	size int64
}

// Open opens the pack that is stored under name. Only its size is looked at.
func Open(fsys vfs.FS, name string) (*Reader, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if !info.IsRegular() || info.Size < headerBytes+footerBytes || info.Size > maxFileBytes {
		_ = f.Close()
		return nil, damaged(name, fmt.Errorf("a file of %d bytes is not a pack", info.Size))
	}
	return &Reader{f: f, name: name, size: info.Size}, nil
}

// Close releases the file.
func (r *Reader) Close() error { return r.f.Close() }

// Size is the size of the pack in bytes.
func (r *Reader) Size() int64 { return r.size }

// damaged says that a pack is not what was written.
func damaged(name string, err error) error {
	kind := fault.Corrupt
	if _, newer := errors.AsType[errVersion](err); newer {
		kind = fault.Unsupported
	}
	return &fault.Error{Op: "read pack", Path: name, Kind: kind, Err: err}
}

// readAt fills buf from offset.
func (r *Reader) readAt(buf []byte, offset int64) error {
	if offset < 0 || offset > r.size-int64(len(buf)) {
		return damaged(r.name, fmt.Errorf("%d bytes at %d are outside a pack of %d", len(buf), offset, r.size))
	}
	n, err := r.f.ReadAt(buf, offset)
	if n == len(buf) {
		return nil
	}
	if err == nil || err == io.EOF {
		return damaged(r.name, io.ErrUnexpectedEOF)
	}
	return &fault.Error{Op: "read pack", Path: r.name, Err: err}
}

// Rows reads the rows of a frame that an index has described.
func (r *Reader) Rows(f Frame) ([]Row, error) {
	if err := f.check(); err != nil {
		return nil, damaged(r.name, err)
	}
	b := make([]byte, int(f.Blobs)*blobRowBytes)
	if err := r.readAt(b, f.Rows); err != nil {
		return nil, err
	}
	rows, err := decodeRows(b, f)
	if err != nil {
		return nil, damaged(r.name, err)
	}
	return rows, nil
}

// Buffer is memory that reads of frames share.
type Buffer struct{ stored, plain []byte }

// Frame reads and decodes a frame. The result is in buf, good until it is
// used again. The blobs in it are not verified: see [Blob].
func (r *Reader) Frame(f Frame, buf *Buffer) ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, damaged(r.name, err)
	}
	buf.stored = growTo(buf.stored, int(f.Stored))[:f.Stored]
	if err := r.readAt(buf.stored, f.Offset); err != nil {
		return nil, err
	}
	data, err := decompress(buf.plain, buf.stored, f)
	if err != nil {
		return nil, damaged(r.name, err)
	}
	buf.plain = data
	return data, nil
}

// Blob cuts a blob out of a decoded frame and verifies its hash. name is the
// pack, for the error.
func Blob(name string, data []byte, rows []Row, slot int) ([]byte, error) {
	at := 0
	for _, row := range rows[:slot] {
		at += int(row.Bytes)
	}
	end := at + int(rows[slot].Bytes)
	if end > len(data) {
		return nil, damaged(name, fmt.Errorf("blob %x is outside its frame", rows[slot].ID))
	}
	blob := data[at:end:end]
	if Sum(blob) != rows[slot].ID {
		return nil, damaged(name, fmt.Errorf("blob %x has other content than its name says", rows[slot].ID))
	}
	return blob, nil
}

// Table reads and verifies the table: all frames and the rows of all frames
// in order.
func (r *Reader) Table() ([]Frame, []Row, error) {
	head := make([]byte, headerBytes)
	if err := r.readAt(head, 0); err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(head, header()) {
		return nil, nil, damaged(r.name, errors.New("not a pack: the beginning is wrong"))
	}
	end := make([]byte, footerBytes)
	if err := r.readAt(end, r.size-footerBytes); err != nil {
		return nil, nil, err
	}
	foot, err := decodeFooter(end, r.size)
	if err != nil {
		return nil, nil, damaged(r.name, err)
	}
	table := make([]byte, foot.tableBytes)
	if err := r.readAt(table, foot.tableOffset); err != nil {
		return nil, nil, err
	}
	if Sum(table) != foot.tableSum {
		return nil, nil, damaged(r.name, errors.New("the table has other content than its checksum says"))
	}
	frames, rows, err := decodeTable(table, foot)
	if err != nil {
		return nil, nil, damaged(r.name, err)
	}
	return frames, rows, nil
}
