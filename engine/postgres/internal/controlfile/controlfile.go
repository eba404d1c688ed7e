// Package controlfile reads a cluster's global/pg_control, so that Forklift
// needs neither pg_controldata nor a running server to know what a data
// directory holds and whether it was stopped cleanly.
//
// The layout is that of ControlFileData and CheckPoint in PostgreSQL's
// src/include/catalog/pg_control.h: versions 1300 (PostgreSQL 13 to 16), 1700
// (17, which uses a gap in CheckPoint) and 1800 (18, which has one more byte
// before the nonce). The file is the struct
// as memory has it, so its byte order and alignment are the machine's: a file
// of another architecture is recognised and refused by name. The checksum is
// CRC-32C over everything before it. Nothing is believed before it holds.
package controlfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"forklift/storage/fault"
)

// Name is the file's place in a data directory.
const Name = "global/pg_control"

// MaxBytes bounds the read of the file: PostgreSQL writes 8192 bytes.
const MaxBytes = 8192

// State is what a cluster was doing when the file was written; the numbers
// are PostgreSQL's DBState.
type State uint32

// The states.
const (
	StartingUp         State = 0
	ShutDown           State = 1 // the only one that is at rest
	ShutDownInRecovery State = 2
	ShuttingDown       State = 3
	InCrashRecovery    State = 4
	InArchiveRecovery  State = 5
	InProduction       State = 6
)

// String is the state in the words of pg_controldata.
func (s State) String() string {
	names := [...]string{"starting up", "shut down", "shut down in recovery", "shutting down",
		"in crash recovery", "in archive recovery", "in production"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("unknown state %d", uint32(s))
}

// File is what Forklift uses of a control file.
type File struct {
	SystemID       uint64 // the same in all copies of a cluster
	ControlVersion uint32 // layout: 1300, 1700, 1800
	CatalogVersion uint32 // of the system tables
	State          State
	Time           int64 // seconds since 1970, last update

	Checkpoint   uint64 // LSN of the last checkpoint record
	Redo         uint64 // LSN where recovery from it begins; equal to Checkpoint after a clean stop
	Timeline     uint32
	NextXID      uint64 // the next transaction id, with its epoch in the upper half
	MaxAlign     uint32
	BlockBytes   uint32
	SegmentPages uint32 // blocks in one file of a large relation
	WALPageBytes uint32
	WALSegBytes  uint32
	NameBytes    uint32
	IndexKeys    uint32
	ToastBytes   uint32
	LargeObject  uint32
	ByteOrder    string // "little" or "big"
	Checksums    uint32 // 0: the pages carry none
}

// Offsets of ControlFileData, equal in all layouts up to the nonce.
const (
	offSystemID     = 0
	offVersion      = 8
	offCatalog      = 12
	offState        = 16
	offTime         = 24
	offCheckpoint   = 32
	offCopy         = 40 // CheckPoint
	offRedo         = offCopy + 0
	offTimeline     = offCopy + 8
	offNextXID      = offCopy + 24
	offMaxAlign     = 204
	offFloat        = 208
	offBlock        = 216
	offSegment      = 220
	offWALPage      = 224
	offWALSeg       = 228
	offName         = 232
	offIndexKeys    = 236
	offToast        = 240
	offLargeObject  = 244
	offChecksums    = 252
	nonceBytes      = 32
	floatCheck      = 1234567.0
	version13       = 1300
	version17       = 1700
	version18       = 1800
	crcOffset13     = 256 + nonceBytes
	crcOffset18     = 292 // the nonce begins one byte later, the checksum is aligned to 4
	minPlausible    = 1000
	maxPlausible    = 9999
	maxWALSegBytes  = 1 << 30
	minWALSegBytes  = 1 << 20
	maxWALPageBytes = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Parse reads the bytes of a control file. Kind Unsupported: of another
// architecture or an unknown version; Corrupt: not what PostgreSQL wrote.
func Parse(data []byte) (*File, error) {
	if len(data) < crcOffset18+4 {
		return nil, corrupt(fmt.Errorf("%d bytes are too few", len(data)))
	}
	order, name, err := byteOrder(data)
	if err != nil {
		return nil, err
	}
	version := order.Uint32(data[offVersion:])
	crcAt := 0
	switch version {
	case version13, version17:
		crcAt = crcOffset13
	case version18:
		crcAt = crcOffset18
	default:
		return nil, unsupported(fmt.Errorf("control file version %d is unknown", version))
	}
	if sum := crc32.Checksum(data[:crcAt], castagnoli); sum != order.Uint32(data[crcAt:]) {
		return nil, corrupt(errors.New("wrong checksum"))
	}
	if f := math.Float64frombits(order.Uint64(data[offFloat:])); f != floatCheck {
		return nil, unsupported(errors.New("floating point numbers of another architecture"))
	}
	u32 := func(at int) uint32 { return order.Uint32(data[at:]) }
	u64 := func(at int) uint64 { return order.Uint64(data[at:]) }
	f := &File{
		SystemID: u64(offSystemID), ControlVersion: version, CatalogVersion: u32(offCatalog),
		State: State(u32(offState)), Time: int64(u64(offTime)),
		Checkpoint: u64(offCheckpoint), Redo: u64(offRedo), Timeline: u32(offTimeline),
		NextXID:  u64(offNextXID),
		MaxAlign: u32(offMaxAlign), BlockBytes: u32(offBlock), SegmentPages: u32(offSegment),
		WALPageBytes: u32(offWALPage), WALSegBytes: u32(offWALSeg), NameBytes: u32(offName),
		IndexKeys: u32(offIndexKeys), ToastBytes: u32(offToast), LargeObject: u32(offLargeObject),
		ByteOrder: name, Checksums: u32(offChecksums),
	}
	return f, f.check()
}

// byteOrder finds the order in which the version is a plausible number; other
// than this machine's it is refused.
func byteOrder(data []byte) (binary.ByteOrder, string, error) {
	plausible := func(v uint32) bool { return v >= minPlausible && v <= maxPlausible }
	name, own := "", nativeOrder()
	switch {
	case plausible(binary.LittleEndian.Uint32(data[offVersion:])):
		name = "little"
	case plausible(binary.BigEndian.Uint32(data[offVersion:])):
		name = "big"
	default:
		return nil, "", corrupt(errors.New("no control file version in either byte order"))
	}
	if name != own {
		return nil, "", unsupported(fmt.Errorf("written on a machine with %s-endian numbers, this one has %s-endian ones", name, own))
	}
	if name == "big" {
		return binary.BigEndian, name, nil
	}
	return binary.LittleEndian, name, nil
}

// nativeOrder names this machine's byte order.
func nativeOrder() string {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return "little"
	}
	return "big"
}

// check refuses sizes that later arithmetic could not stand, although the
// checksum held.
func (f *File) check() error {
	power := func(v, low, high uint32) bool { return v&(v-1) == 0 && v >= low && v <= high }
	switch {
	case !power(f.WALSegBytes, minWALSegBytes, maxWALSegBytes):
		return corrupt(fmt.Errorf("WAL segments of %d bytes", f.WALSegBytes))
	case !power(f.WALPageBytes, 1<<10, maxWALPageBytes):
		return corrupt(fmt.Errorf("WAL pages of %d bytes", f.WALPageBytes))
	case !power(f.BlockBytes, 1<<10, 1<<15):
		return corrupt(fmt.Errorf("blocks of %d bytes", f.BlockBytes))
	}
	return nil
}

// Clean reports a cluster that was stopped cleanly, and so is at rest when
// nobody runs it.
func (f *File) Clean() bool { return f.State == ShutDown }

// Of reports whether PostgreSQL of that major version writes such files.
func (f *File) Of(major int) bool {
	switch f.ControlVersion {
	case version13:
		return major >= 13 && major <= 16
	case version17:
		return major == 17
	}
	return major >= 18
}

func corrupt(err error) error {
	return &fault.Error{Op: "read control file", Path: Name, Kind: fault.Corrupt, Err: err}
}

func unsupported(err error) error {
	return &fault.Error{Op: "read control file", Path: Name, Kind: fault.Unsupported, Err: err}
}
