package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Sizes and marks of the format.
const (
	version       = 1
	headerBytes   = 16
	footerBytes   = 64
	frameRowBytes = 12
	blobRowBytes  = 36
	headerMagic   = "flpack\r\n"
	footerMagic   = "\r\nflpack"
)

// header gives the first bytes of a pack.
func header() []byte {
	b := append(make([]byte, 0, headerBytes), headerMagic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	return binary.LittleEndian.AppendUint32(b, 0)
}

// footer is the fixed end of a pack.
type footer struct {
	tableOffset int64
	tableBytes  uint32
	frames      uint32
	blobs       uint32
	tableSum    ID
}

func (f footer) encode() []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, footerBytes), uint64(f.tableOffset))
	b = binary.LittleEndian.AppendUint32(b, f.tableBytes)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint32(b, f.frames)
	b = binary.LittleEndian.AppendUint32(b, f.blobs)
	b = append(b, f.tableSum[:]...)
	return append(b, footerMagic...)
}

// errVersion is a pack of a newer format.
type errVersion uint32

func (e errVersion) Error() string {
	return fmt.Sprintf("pack format %d was written by a newer Forklift", uint32(e))
}

// decodeFooter reads the last footerBytes of a pack of size bytes.
func decodeFooter(b []byte, size int64) (footer, error) {
	if !bytes.Equal(b[56:], []byte(footerMagic)) {
		return footer{}, fmt.Errorf("not a pack: the end is missing")
	}
	if v := binary.LittleEndian.Uint32(b[12:]); v != version {
		return footer{}, errVersion(v)
	}
	f := footer{
		tableOffset: int64(binary.LittleEndian.Uint64(b)),
		tableBytes:  binary.LittleEndian.Uint32(b[8:]),
		frames:      binary.LittleEndian.Uint32(b[16:]),
		blobs:       binary.LittleEndian.Uint32(b[20:]),
		tableSum:    ID(b[24:56]),
	}
	if f.tableBytes > maxTableBytes || f.tableOffset < headerBytes || f.tableOffset != size-footerBytes-int64(f.tableBytes) {
		return footer{}, fmt.Errorf("table of %d bytes at %d does not fit a pack of %d", f.tableBytes, f.tableOffset, size)
	}
	if int64(f.tableBytes) != int64(f.frames)*frameRowBytes+int64(f.blobs)*blobRowBytes {
		return footer{}, fmt.Errorf("table of %d bytes does not hold %d frames and %d blobs", f.tableBytes, f.frames, f.blobs)
	}
	return f, nil
}

// encodeTable gives the table of a pack whose frames hold these rows.
func encodeTable(frames []Frame, rows []Row) []byte {
	b := make([]byte, 0, len(frames)*frameRowBytes+len(rows)*blobRowBytes)
	for _, f := range frames {
		b = binary.LittleEndian.AppendUint32(b, f.Stored)
		b = binary.LittleEndian.AppendUint32(b, f.Plain)
		b = binary.LittleEndian.AppendUint16(b, f.Blobs)
		b = append(b, f.Encoding, 0)
	}
	for _, r := range rows {
		b = append(b, r.ID[:]...)
		b = binary.LittleEndian.AppendUint32(b, r.Bytes)
	}
	return b
}

// decodeTable reads a table and places its frames.
func decodeTable(b []byte, f footer) ([]Frame, []Row, error) {
	frames := make([]Frame, f.frames)
	rows := make([]Row, 0, f.blobs)
	offset, at := int64(headerBytes), f.tableOffset+int64(f.frames)*frameRowBytes
	rest := b[int(f.frames)*frameRowBytes:]
	for i := range frames {
		row := b[i*frameRowBytes:]
		frame := Frame{
			Offset:   offset,
			Rows:     at,
			Stored:   binary.LittleEndian.Uint32(row),
			Plain:    binary.LittleEndian.Uint32(row[4:]),
			Blobs:    binary.LittleEndian.Uint16(row[8:]),
			Encoding: row[10],
		}
		if row[11] != 0 {
			return nil, nil, fmt.Errorf("frame %d has unknown flags", i)
		}
		if err := frame.check(); err != nil {
			return nil, nil, err
		}
		n := int(frame.Blobs) * blobRowBytes
		if n > len(rest) {
			return nil, nil, fmt.Errorf("frame %d has rows outside the table", i)
		}
		own, err := decodeRows(rest[:n], frame)
		if err != nil {
			return nil, nil, err
		}
		rows, rest = append(rows, own...), rest[n:]
		frames[i] = frame
		offset += int64(frame.Stored)
		at += int64(n)
	}
	if offset != f.tableOffset || len(rest) != 0 {
		return nil, nil, fmt.Errorf("the frames do not fill the pack")
	}
	return frames, rows, nil
}

// decodeRows reads the rows of one frame.
func decodeRows(b []byte, f Frame) ([]Row, error) {
	rows := make([]Row, f.Blobs)
	var sum uint64
	for i := range rows {
		r := b[i*blobRowBytes:]
		rows[i] = Row{ID: ID(r[:32]), Bytes: binary.LittleEndian.Uint32(r[32:])}
		sum += uint64(rows[i].Bytes)
	}
	if sum != uint64(f.Plain) {
		return nil, fmt.Errorf("blobs of %d bytes in a frame of %d", sum, f.Plain)
	}
	return rows, nil
}
