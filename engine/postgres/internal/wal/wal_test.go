package wal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// small is a layout in which boundaries are near: 4 pages in a segment. (Real
// segments are larger; nothing here depends on it.)
var small = Layout{PageBytes: 512, SegmentBytes: 2048, Timeline: 3}

// memory is a WAL in memory, by segment name.
type memory struct {
	layout Layout
	files  map[string][]byte
}

// ReadPage reads a page.
func (m *memory) ReadPage(segment string, off int64, page []byte) error {
	data, ok := m.files[segment]
	if !ok {
		return &fs.PathError{Op: "open", Path: segment, Err: fs.ErrNotExist}
	}
	copy(page, data[off:])
	return nil
}

// page gives the bytes of the page at lsn, with a header when it is new.
func (m *memory) page(at LSN) []byte {
	size := LSN(m.layout.PageBytes)
	at -= at % size
	off := uint64(at) % uint64(m.layout.SegmentBytes)
	name := m.layout.SegmentName(at)
	if m.files[name] == nil {
		m.files[name] = make([]byte, m.layout.SegmentBytes)
	}
	p := m.files[name][off : off+uint64(size)]
	if binary.NativeEndian.Uint16(p) == 0 {
		binary.NativeEndian.PutUint16(p, 0xD116)
		binary.NativeEndian.PutUint32(p[4:], m.layout.Timeline)
		binary.NativeEndian.PutUint64(p[8:], uint64(at))
		if off == 0 {
			binary.NativeEndian.PutUint16(p[2:], flagLong)
			binary.NativeEndian.PutUint32(p[32:], m.layout.SegmentBytes)
			binary.NativeEndian.PutUint32(p[36:], m.layout.PageBytes)
		}
	}
	return p
}

// headerAt is the length of the header of the page that begins at.
func (m *memory) headerAt(at LSN) LSN {
	if uint64(at)%uint64(m.layout.SegmentBytes) == 0 {
		return longHeader
	}
	return shortHeader
}

// put writes a record at lsn as PostgreSQL would, and gives its end.
func (m *memory) put(lsn LSN, record []byte) LSN {
	size := LSN(m.layout.PageBytes)
	m.page(lsn)
	for len(record) > 0 {
		within := lsn % size
		p := m.page(lsn)
		if within == 0 {
			binary.NativeEndian.PutUint16(p[2:], binary.NativeEndian.Uint16(p[2:])|flagContinued)
			binary.NativeEndian.PutUint32(p[16:], uint32(len(record)))
			lsn += m.headerAt(lsn)
			within = lsn % size
		}
		n := copy(p[within:], record)
		record = record[n:]
		lsn += LSN(n)
	}
	return lsn
}

// checkpoint makes a shutdown checkpoint record for a place, with data of a
// length.
func checkpoint(lsn LSN, dataBytes int) []byte {
	record := make([]byte, recordHeader+2+dataBytes)
	binary.NativeEndian.PutUint32(record, uint32(len(record)))
	record[offManager], record[offInfo] = managerXLOG, infoShutdown
	record[recordHeader], record[recordHeader+1] = 0xFF, byte(dataBytes)
	binary.NativeEndian.PutUint64(record[recordHeader+2:], uint64(lsn))
	for i := recordHeader + 2 + 8; i < len(record); i++ {
		record[i] = byte(i)
	}
	seal(record)
	return record
}

// seal gives a record the right checksum.
func seal(record []byte) {
	sum := crc32.Update(0, castagnoli, record[recordHeader:])
	sum = crc32.Update(sum, castagnoli, record[:offCRC])
	binary.NativeEndian.PutUint32(record[offCRC:], sum)
}

// TestLocateAtEveryPlace puts the record of PostgreSQL 17 (114 bytes), and
// ones that end exactly with a page, at every place of two segments.
func TestLocateAtEveryPlace(t *testing.T) {
	kinds := map[string]int{}
	for _, dataBytes := range []int{88, 86, 94, 222} {
		first := LSN(5 * small.SegmentBytes)
		for lsn := first; lsn < first+2*LSN(small.SegmentBytes); lsn += 8 {
			m := &memory{layout: small, files: map[string][]byte{}}
			if lsn%LSN(small.PageBytes) < m.headerAt(lsn-lsn%LSN(small.PageBytes)) {
				continue
			}
			end := m.put(lsn, checkpoint(lsn, dataBytes))
			got, err := Locate(m, small, lsn)
			if err != nil {
				t.Fatalf("%d bytes at %s: %v", dataBytes, lsn, err)
			}
			want := []string{small.SegmentName(lsn)}
			if last := small.SegmentName(end - 1); last != want[0] {
				want = append(want, last)
				kinds["segment"]++
			} else if lsn/512 != (end-1)/512 {
				kinds["page"]++
			}
			if end%512 == 0 {
				kinds["exact"]++
			}
			zero := int64((uint64(end-1)%2048/512 + 1) * 512)
			if got.Start != lsn || got.End != end || !slices.Equal(got.Segments, want) || got.ZeroFrom != zero {
				t.Fatalf("%d bytes at %s: got %+v, want end %s, segments %v, zero from %d", dataBytes, lsn, got, end, want, zero)
			}
			needsEveryByte(t, m, lsn, got)
		}
	}
	if kinds["segment"] == 0 || kinds["page"] == 0 || kinds["exact"] == 0 {
		t.Errorf("places met: %v", kinds)
	}
}

// needsEveryByte takes away what the extent says is needed: without the last
// page, or without the last segment, there must be no record.
func needsEveryByte(t *testing.T, m *memory, lsn LSN, e *Extent) {
	t.Helper()
	last := e.Segments[len(e.Segments)-1]
	saved := slices.Clone(m.files[last])
	clear(m.files[last][e.ZeroFrom:])
	if _, err := Locate(m, small, lsn); err != nil {
		t.Fatalf("at %s: zeros behind the record's page harm: %v", lsn, err)
	}
	clear(m.files[last][e.ZeroFrom-512:])
	if _, err := Locate(m, small, lsn); err == nil {
		t.Fatalf("at %s: the record's last page is not needed", lsn)
	}
	delete(m.files, last)
	if _, err := Locate(m, small, lsn); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("at %s: without %s: %v", lsn, last, err)
	}
	m.files[last] = saved
}

// TestEveryBitOfTheRecordCounts flips each bit of a record that straddles a
// segment, and of the page headers before its parts.
func TestEveryBitOfTheRecordCounts(t *testing.T) {
	m := &memory{layout: small, files: map[string][]byte{}}
	lsn := LSN(6*small.SegmentBytes) - 40
	m.put(lsn, checkpoint(lsn, 88))
	e, err := Locate(m, small, lsn)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(segment string, from, to int) {
		data := m.files[segment]
		for i := from * 8; i < to*8; i++ {
			data[i/8] ^= 1 << (i % 8)
			if _, err := Locate(m, small, lsn); err == nil {
				t.Errorf("bit %d of byte %d of %s is not noticed", i%8, i/8, segment)
			}
			data[i/8] ^= 1 << (i % 8)
		}
	}
	flip(e.Segments[0], 2048-40, 2048)
	flip(e.Segments[0], 2048-512, 2048-512+2) // magic
	flip(e.Segments[1], 0, 2)
	flip(e.Segments[1], 4, 20)                             // timeline, address, what is left
	flip(e.Segments[1], 32, longHeader)                    // sizes
	flip(e.Segments[1], longHeader, longHeader+(26+88)-40) // the rest of the record
}

func TestNotACheckpoint(t *testing.T) {
	for name, change := range map[string]func(record []byte){
		"another manager":    func(r []byte) { r[offManager] = 1 },
		"an online one":      func(r []byte) { r[offInfo] = 0x10 },
		"of another place":   func(r []byte) { r[recordHeader+2]++ },
		"too long":           func(r []byte) { binary.NativeEndian.PutUint32(r, 1<<20) },
		"too short":          func(r []byte) { binary.NativeEndian.PutUint32(r, 4) },
		"without a checksum": nil,
	} {
		m := &memory{layout: small, files: map[string][]byte{}}
		lsn := LSN(10240 + 128)
		record := checkpoint(lsn, 88)
		if change == nil {
			record[offCRC]++
		} else {
			change(record)
			seal(record)
		}
		m.put(lsn, record)
		if _, err := Locate(m, small, lsn); err == nil || !strings.HasPrefix(err.Error(), "read WAL record at 0/2880: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, lsn := range []LSN{10240, 10240 + 1, 10240 + 44} {
		if _, err := Locate(&memory{layout: small}, small, lsn); err == nil {
			t.Errorf("a record at %s", lsn)
		}
	}
}

func TestSegmentName(t *testing.T) {
	for lsn, want := range map[LSN]string{
		0xC9CA98:       "00000001000000000000000C",
		0x1_0000_0000:  "000000010000000100000000",
		0x12_FFF0_0000: "000000010000001200000FFF",
	} {
		if got := (Layout{SegmentBytes: 1 << 20, Timeline: 1}).SegmentName(lsn); got != want {
			t.Errorf("%s is in %s, want %s", lsn, got, want)
		}
	}
}

// FuzzLocate gives it any bytes: it must end with an error or an extent inside
// of them.
func FuzzLocate(f *testing.F) {
	m := &memory{layout: small, files: map[string][]byte{}}
	lsn := LSN(2048 - 40)
	m.put(lsn, checkpoint(lsn, 88))
	f.Add(m.files[small.SegmentName(0)], m.files[small.SegmentName(2048)], uint16(lsn))
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 2048)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	f.Add(noise, noise, uint16(1000))
	f.Fuzz(func(t *testing.T, a, b []byte, at uint16) {
		segment := func(data []byte) []byte {
			return append(slices.Clone(data[:min(len(data), 2048)]), make([]byte, 2048)...)[:2048]
		}
		m := &memory{layout: small, files: map[string][]byte{small.SegmentName(0): segment(a), small.SegmentName(2048): segment(b)}}
		e, err := Locate(m, small, LSN(at))
		if err == nil && (e.End <= e.Start || e.End > 4096 || e.ZeroFrom > 2048 || len(e.Segments) == 0) {
			t.Fatalf("%+v", e)
		}
	})
}
