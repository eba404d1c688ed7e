package controlfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"forklift/storage/fault"
)

// read gives the control file of a cluster that initdb of that version made.
func read(t testing.TB, major int) []byte {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("testdata/%d.bin", major))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestParse compares with what pg_controldata says of the same files.
func TestParse(t *testing.T) {
	common := File{State: ShutDown, Timeline: 1, MaxAlign: 8, BlockBytes: 8192, SegmentPages: 131072, WALPageBytes: 8192, WALSegBytes: 1 << 20,
		NameBytes: 64, IndexKeys: 32, ToastBytes: 1996, LargeObject: 2048, ByteOrder: "little", Checksums: 1}
	with := func(system uint64, version, catalog uint32, time int64, checkpoint, xid uint64) File {
		f := common
		f.SystemID, f.ControlVersion, f.CatalogVersion, f.Time = system, version, catalog, time
		f.Checkpoint, f.Redo, f.NextXID = checkpoint, checkpoint, xid
		return f
	}
	for major, want := range map[int]File{
		16: with(7713687899177299542, 1300, 202307071, 1795982920, 12958600, 731),
		17: with(7713687938128035721, 1700, 202406281, 1795982934, 0xC9CA98, 739),
		18: with(7713688005612867985, 1800, 202506291, 1795982949, 13219496, 753),
	} {
		got, err := Parse(read(t, major))
		if err != nil {
			t.Errorf("version %d: %v", major, err)
			continue
		}
		if *got != want || !got.Clean() {
			t.Errorf("version %d:\n got %+v\nwant %+v", major, *got, want)
		}
		for other := 16; other <= 18; other++ {
			if got.Of(other) != (other == major) {
				t.Errorf("version %d: of version %d: %v", major, other, got.Of(other))
			}
		}
	}
}

// TestEveryBitCounts flips each bit that the checksum covers, and those of
// the checksum.
func TestEveryBitCounts(t *testing.T) {
	for major, covered := range map[int]int{16: crcOffset13 + 4, 17: crcOffset13 + 4, 18: crcOffset18 + 4} {
		data := read(t, major)
		for i := range covered * 8 {
			data[i/8] ^= 1 << (i % 8)
			if _, err := Parse(data); err == nil {
				t.Fatalf("version %d: bit %d of byte %d is not noticed", major, i%8, i/8)
			}
			data[i/8] ^= 1 << (i % 8)
		}
	}
}

// sealed changes a file and gives it the right checksum.
func sealed(t *testing.T, change func(data []byte)) []byte {
	t.Helper()
	data := slices.Clone(read(t, 17))
	change(data)
	binary.LittleEndian.PutUint32(data[crcOffset13:], crc32.Checksum(data[:crcOffset13], castagnoli))
	return data
}

func TestRefused(t *testing.T) {
	put := func(at int, v uint32) func([]byte) {
		return func(data []byte) { binary.LittleEndian.PutUint32(data[at:], v) }
	}
	for name, test := range map[string]struct {
		data []byte
		kind fault.Kind
		want string
	}{
		"empty":             {nil, fault.Corrupt, "too few"},
		"zeros":             {make([]byte, MaxBytes), fault.Corrupt, "no control file version"},
		"short":             {read(t, 17)[:290], fault.Corrupt, "too few"},
		"newer version":     {sealed(t, put(offVersion, 1900)), fault.Unsupported, "version 1900 is unknown"},
		"other byte order":  {sealed(t, func(d []byte) { slices.Reverse(d[offVersion : offVersion+4]) }), fault.Unsupported, "big-endian"},
		"other floats":      {sealed(t, put(offFloat, 1)), fault.Unsupported, "floating point"},
		"odd segments":      {sealed(t, put(offWALSeg, 3<<20)), fault.Corrupt, "WAL segments of 3145728 bytes"},
		"no WAL page bytes": {sealed(t, put(offWALPage, 0)), fault.Corrupt, "WAL pages of 0 bytes"},
		"huge blocks":       {sealed(t, put(offBlock, 1<<16)), fault.Corrupt, "blocks of 65536 bytes"},
	} {
		_, err := Parse(test.data)
		if fault.KindOf(err) != test.kind || !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: %v (%s), want %q (%s)", name, err, fault.KindOf(err), test.want, test.kind)
		}
	}
	running, err := Parse(sealed(t, put(offState, uint32(InProduction))))
	if err != nil || running.Clean() || running.State.String() != "in production" {
		t.Errorf("a running cluster: %+v %v", running, err)
	}
	if got := State(99).String(); got != "unknown state 99" {
		t.Errorf("state %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, major := range []int{16, 17, 18} {
		f.Add(read(f, major))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if (file == nil) == (err == nil) && err == nil {
			t.Fatal("neither a file nor an error")
		}
		if err == nil && (file.WALPageBytes == 0 || file.WALSegBytes%file.WALPageBytes != 0) {
			t.Fatalf("accepted %+v", file)
		}
	})
}
