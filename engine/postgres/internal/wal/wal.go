// Package wal finds out how little of pg_wal a cleanly stopped cluster needs.
//
// After a clean stop PostgreSQL reads exactly one WAL record at the next
// start: the shutdown checkpoint that the control file points to. [Locate]
// finds where that record ends, page by page and segment by segment, because
// a record can straddle a page and also a segment, and a cluster that is given
// less than the whole record does not start. Everything before and behind is
// old or recycled.
//
// The layout is that of XLogPageHeaderData, XLogLongPageHeaderData and
// XLogRecord in PostgreSQL's src/include/access/xlog_internal.h and
// xlogrecord.h. Nothing is guessed: page magic, page address, timeline,
// continuation counts, resource manager, record type and CRC-32C must all
// hold, otherwise the caller keeps all of pg_wal.
package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// LSN is a place in the WAL: a byte offset since the cluster was made.
type LSN uint64

// String is the LSN as PostgreSQL writes it, such as "0/15684A0".
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint32(l>>32), uint32(l)) }

// Layout is what of a control file the WAL's layout depends on.
type Layout struct {
	PageBytes    uint32
	SegmentBytes uint32
	Timeline     uint32
}

// SegmentName is the name of the file that holds lsn (XLogFileName).
func (l Layout) SegmentName(lsn LSN) string {
	number := uint64(lsn) / uint64(l.SegmentBytes)
	perID := uint64(0x100000000) / uint64(l.SegmentBytes)
	return fmt.Sprintf("%08X%08X%08X", l.Timeline, uint32(number/perID), uint32(number%perID))
}

// Segments reads pages of WAL: ReadPage fills page with the bytes at off of the
// named segment file, all of them or an error.
type Segments interface {
	ReadPage(segment string, off int64, page []byte) error
}

// Extent is what a record touches.
type Extent struct {
	Start, End LSN      // End is the byte behind the record
	Segments   []string // files that hold a part of it, in order
	// ZeroFrom is the offset in the last of Segments behind the page where
	// the record ends; from there on nothing is needed.
	ZeroFrom int64
}

// Sizes and marks of the layout.
const (
	shortHeader    = 24
	longHeader     = 40
	recordHeader   = 24
	offCRC         = 20
	offInfo        = 16
	offManager     = 17
	flagContinued  = 0x0001 // XLP_FIRST_IS_CONTRECORD
	flagLong       = 0x0002 // XLP_LONG_HEADER
	knownFlags     = 0x000F
	managerXLOG    = 0    // RM_XLOG_ID
	infoShutdown   = 0x00 // XLOG_CHECKPOINT_SHUTDOWN
	infoMask       = 0xF0
	maxRecordBytes = 4096 // a checkpoint record has about 114
)

// magics are the XLOG_PAGE_MAGIC of the versions that Forklift knows.
var magics = map[uint16]string{0xD110: "15", 0xD113: "16", 0xD116: "17", 0xD118: "18"}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Locate proves that a whole shutdown checkpoint record stands at start and
// tells what it touches.
func Locate(seg Segments, l Layout, start LSN) (*Extent, error) {
	if start%8 != 0 || uint64(start)%uint64(l.PageBytes) < shortHeader {
		return nil, fmt.Errorf("read WAL record at %s: not a place where a record begins", start)
	}
	r := &reader{seg: seg, layout: l, next: start}
	head, err := r.read(4, 0)
	if err != nil {
		return nil, fmt.Errorf("read WAL record at %s: %w", start, err)
	}
	total := int(binary.NativeEndian.Uint32(head))
	if total <= recordHeader || total > maxRecordBytes {
		return nil, fmt.Errorf("read WAL record at %s: %d bytes are no checkpoint", start, total)
	}
	rest, err := r.read(total-len(head), total-len(head))
	if err != nil {
		return nil, fmt.Errorf("read WAL record at %s: %w", start, err)
	}
	record := append(head, rest...)
	if err := check(record, start); err != nil {
		return nil, fmt.Errorf("read WAL record at %s: %w", start, err)
	}
	last := r.next - 1
	pageEnd := int64(uint64(last)%uint64(l.SegmentBytes))/int64(l.PageBytes)*int64(l.PageBytes) + int64(l.PageBytes)
	return &Extent{Start: start, End: r.next, Segments: r.files, ZeroFrom: pageEnd}, nil
}

// check verifies a whole record: the checksum covers the data, then the
// header up to the checksum.
func check(record []byte, start LSN) error {
	sum := crc32.Update(0, castagnoli, record[recordHeader:])
	sum = crc32.Update(sum, castagnoli, record[:offCRC])
	if sum != binary.NativeEndian.Uint32(record[offCRC:]) {
		return errors.New("wrong checksum")
	}
	if record[offManager] != managerXLOG || record[offInfo]&infoMask != infoShutdown {
		return errors.New("not a shutdown checkpoint")
	}
	// The checkpoint's data begins with its redo LSN, behind a two-byte
	// header; in a shutdown checkpoint that is the record itself.
	const redo = recordHeader + 2
	if len(record) < redo+8 || LSN(binary.NativeEndian.Uint64(record[redo:])) != start {
		return errors.New("its redo point is not the record itself")
	}
	return nil
}

// reader walks the bytes of a record, page by page.
type reader struct {
	seg    Segments
	layout Layout
	next   LSN // the next byte to read
	files  []string

	page   []byte // the one in hand
	pageAt LSN
	loaded bool
}

// read gives the next n bytes. left is how many bytes of the record are
// still to come, which a page that continues it must say; 0 where that is not
// known yet (then n bytes are on one page: records are aligned to 8 bytes).
func (r *reader) read(n, left int) ([]byte, error) {
	out := make([]byte, 0, n)
	for len(out) < n {
		within := int(uint64(r.next) % uint64(r.layout.PageBytes))
		if !r.loaded || within == 0 {
			header, err := r.load(within == 0, left-len(out))
			if err != nil {
				return nil, err
			}
			if within == 0 {
				r.next += LSN(header)
				within = header
			} else if within < header {
				return nil, errors.New("begins inside a page header")
			}
		}
		take := min(n-len(out), len(r.page)-within)
		out = append(out, r.page[within:within+take]...)
		r.next += LSN(take)
	}
	return out, nil
}

// load reads the page that holds next and checks its header, whose length it
// gives. continued: the page begins with the remaining left bytes of our record.
func (r *reader) load(continued bool, left int) (int, error) {
	size := uint64(r.layout.PageBytes)
	r.pageAt = LSN(uint64(r.next) / size * size)
	off := int64(uint64(r.pageAt) % uint64(r.layout.SegmentBytes))
	name := r.layout.SegmentName(r.pageAt)
	if len(r.page) == 0 {
		r.page = make([]byte, size)
	}
	if err := r.seg.ReadPage(name, off, r.page); err != nil {
		return 0, err
	}
	if len(r.files) == 0 || r.files[len(r.files)-1] != name {
		r.files = append(r.files, name)
	}
	r.loaded = true
	return r.checkPage(off == 0, continued, left)
}

// checkPage checks the header of the page in hand.
func (r *reader) checkPage(first, continued bool, left int) (int, error) {
	bad := func(what string) (int, error) { return 0, fmt.Errorf("page at %s: %s", r.pageAt, what) }
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(r.page[at:]) }
	info := binary.NativeEndian.Uint16(r.page[2:])
	header := shortHeader
	if info&flagLong != 0 {
		header = longHeader
	}
	switch {
	case magics[binary.NativeEndian.Uint16(r.page)] == "":
		return bad(fmt.Sprintf("unknown page magic %#04x", binary.NativeEndian.Uint16(r.page)))
	case info&^knownFlags != 0:
		return bad(fmt.Sprintf("unknown flags %#04x", info))
	case first != (header == longHeader):
		return bad("a long header stands at the start of a segment, and only there")
	case u32(4) != r.layout.Timeline:
		return bad(fmt.Sprintf("timeline %d, not %d", u32(4), r.layout.Timeline))
	case LSN(binary.NativeEndian.Uint64(r.page[8:])) != r.pageAt:
		return bad("the page is of another place")
	case first && (u32(32) != r.layout.SegmentBytes || u32(36) != r.layout.PageBytes):
		return bad("segment or page size differs from the control file's")
	case continued && (info&flagContinued == 0 || int(u32(16)) != left):
		return bad(fmt.Sprintf("does not continue the record with %d bytes", left))
	}
	return header, nil
}
