package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"forklift/storage/fault"
)

// Limits of a manifest. What exceeds them is refused when it is written and
// when it is read.
const (
	// MaxPathBytes is the longest path of an entry.
	MaxPathBytes = 4096
	// MaxTargetBytes is the longest target of a symbolic link.
	MaxTargetBytes = 4096
	// MaxXattrBytes is how much the extended attributes of a file, names and
	// values, have at most.
	MaxXattrBytes = 256 << 10
	// maxReasonBytes is the longest reason of an omission.
	maxReasonBytes = 64
	// maxRunEntries is how many entries a run has at most.
	maxRunEntries = 64
	// maxRunBytes is where a run ends though it has fewer entries.
	maxRunBytes = 64 << 10
	// maxChildren is how many children a branch has at most.
	maxChildren = 128
	// maxLevel bounds the height of a tree.
	maxLevel = 40
)

// Flags in the first byte of an entry, beside its type.
const (
	typeBits   = 0x07
	flagMtime  = 0x08
	flagSparse = 0x10
	flagXattrs = 0x20
)

// badNode says that a node, whose hash is right, cannot be read.
func badNode(id ID, err error) error {
	kind := fault.Corrupt
	if _, newer := errors.AsType[errNodeVersion](err); newer {
		kind = fault.Unsupported
	}
	return &fault.Error{Op: "read manifest", Path: id.String(), Kind: kind, Err: err}
}

// encodeRun gives a run of entries:
//
//	'R', version, uvarint number of entries; each entry as appendEntry has it
func encodeRun(entries []Entry) []byte {
	b := append(make([]byte, 0, 4096), runKind, nodeVersion)
	b = binary.AppendUvarint(b, uint64(len(entries)))
	prev := ""
	for i := range entries {
		b = appendEntry(b, prev, &entries[i])
		prev = entries[i].Path
	}
	return b
}

// appendEntry gives an entry, after one with path prev ("" at the beginning):
//
//	path      uvarint bytes shared with prev, uvarint and bytes of the rest
//	kind      1 byte: type, and flags 0x08 mtime, 0x10 sparse, 0x20 extended attributes
//	mode      uvarint (not for Omitted)
//	Regular   uvarint size, unit, depth, 32 bytes root (not for an empty file);
//	          with the flags: varint mtime; uvarint number of attributes, each uvarint and
//	          bytes of its name and of its value
//	Symlink   uvarint and bytes of the target; with the flag: varint mtime
//	Omitted   uvarint and bytes of the reason
func appendEntry(b []byte, prev string, e *Entry) []byte {
	b = appendPath(b, prev, e.Path)
	kind := byte(e.Type)
	if e.Mtime != 0 {
		kind |= flagMtime
	}
	if e.Sparse {
		kind |= flagSparse
	}
	if len(e.Xattrs) > 0 {
		kind |= flagXattrs
	}
	b = append(b, kind)
	if e.Type == Omitted {
		return appendString(b, e.Reason)
	}
	b = binary.AppendUvarint(b, uint64(e.Mode))
	switch e.Type {
	case Symlink:
		b = appendString(b, e.Target)
	case Regular:
		b = binary.AppendUvarint(b, uint64(e.Size))
		b = append(b, byte(e.Content.Unit), e.Content.Depth)
		if e.Size > 0 {
			b = append(b, e.Content.Root[:]...)
		}
	}
	if e.Mtime != 0 {
		b = binary.AppendVarint(b, e.Mtime)
	}
	if len(e.Xattrs) > 0 {
		b = appendXattrs(b, e.Xattrs)
	}
	return b
}

// appendXattrs gives attributes: their number, and each name and value.
func appendXattrs(b []byte, xattrs []EntryXattr) []byte {
	b = binary.AppendUvarint(b, uint64(len(xattrs)))
	for _, x := range xattrs {
		b = appendString(b, x.Name)
		b = appendString(b, string(x.Value))
	}
	return b
}

// xattrs reads attributes.
func (d *decoder) xattrs() (xattrs []EntryXattr) {
	for range d.number(MaxXattrBytes) {
		x := EntryXattr{Name: d.text(MaxXattrBytes), Value: []byte(d.text(MaxXattrBytes))}
		if d.err != nil {
			return nil
		}
		xattrs = append(xattrs, x)
	}
	return xattrs
}

// appendPath gives a path after prev.
func appendPath(b []byte, prev, path string) []byte {
	shared := 0
	for shared < len(prev) && shared < len(path) && prev[shared] == path[shared] {
		shared++
	}
	b = binary.AppendUvarint(b, uint64(shared))
	return appendString(b, path[shared:])
}

// appendString gives a length and bytes.
func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder takes a node apart. The first thing that is wrong stays.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.rest = nil
}

// number reads a uvarint of at most limit.
func (d *decoder) number(limit uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > limit {
		d.fail("a number is missing or out of range")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// bytes reads n bytes.
func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail("the node is cut off")
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) id() (id ID) {
	copy(id[:], d.bytes(len(id)))
	return id
}

func (d *decoder) text(limit int) string { return string(d.bytes(int(d.number(uint64(limit))))) }

// path reads a path after prev.
func (d *decoder) path(prev string) string {
	shared := int(d.number(uint64(len(prev))))
	rest := d.text(MaxPathBytes)
	if d.err != nil {
		return ""
	}
	return prev[:shared] + rest
}

// open checks the first two bytes.
func (d *decoder) open(kind byte) {
	if k := d.byte(); k != kind && d.err == nil {
		d.fail("not the kind of node that belongs here")
	}
	if v := d.byte(); v != nodeVersion && d.err == nil {
		d.err = errNodeVersion(v)
	}
}

// decodeRun reads a run and refuses everything that encodeRun would not give.
func decodeRun(data []byte) ([]Entry, error) {
	d := decoder{rest: data}
	d.open(runKind)
	n := d.number(maxRunEntries)
	entries := make([]Entry, 0, n)
	prev := ""
	for range n {
		e := d.entry(prev)
		if d.err != nil {
			return nil, d.err
		}
		if err := validEntry(&e); err != nil {
			return nil, err
		}
		if len(entries) > 0 && comparePaths(prev, e.Path) >= 0 {
			return nil, fmt.Errorf("%q does not come after %q", e.Path, prev)
		}
		entries = append(entries, e)
		prev = e.Path
	}
	if d.err != nil {
		return nil, d.err
	}
	if !bytes.Equal(encodeRun(entries), data) {
		return nil, fmt.Errorf("run of entries is not in canonical form")
	}
	return entries, nil
}

// entry reads one entry.
func (d *decoder) entry(prev string) Entry {
	e := Entry{Path: d.path(prev)}
	kind := d.byte()
	e.Type, e.Sparse = EntryType(kind&typeBits), kind&flagSparse != 0
	if e.Type == Omitted {
		e.Reason = d.text(maxReasonBytes)
		return e
	}
	e.Mode = uint32(d.number(0o777))
	switch e.Type {
	case Symlink:
		e.Target = d.text(MaxTargetBytes)
	case Regular:
		e.Size = int64(d.number(1<<63 - 1))
		e.Content.Unit, e.Content.Depth = Unit(d.byte()), d.byte()
		if e.Size > 0 {
			e.Content.Root = d.id()
		}
	}
	if kind&flagMtime != 0 {
		v, n := binary.Varint(d.rest)
		if n <= 0 {
			d.fail("a time is missing")
			return e
		}
		e.Mtime, d.rest = v, d.rest[n:]
	}
	if kind&flagXattrs != 0 {
		e.Xattrs = d.xattrs()
	}
	return e
}

// child is a child of a branch: a run, or a branch of the level below.
type child struct {
	first   string // path of its first entry
	entries int64  // below it
	id      ID
}

// encodeBranch gives a branch:
//
//	'B', version, uvarint level (children of level 1 are runs), uvarint number of children;
//	each child: its first path, as in appendEntry, uvarint entries below it, 32 bytes id
func encodeBranch(level int, children []child) []byte {
	b := append(make([]byte, 0, 4096), branchKind, nodeVersion)
	b = binary.AppendUvarint(b, uint64(level))
	b = binary.AppendUvarint(b, uint64(len(children)))
	prev := ""
	for _, c := range children {
		b = appendPath(b, prev, c.first)
		b = binary.AppendUvarint(b, uint64(c.entries))
		b = append(b, c.id[:]...)
		prev = c.first
	}
	return b
}

// decodeBranch reads a branch.
func decodeBranch(data []byte) (level int, children []child, err error) {
	d := decoder{rest: data}
	d.open(branchKind)
	level = int(d.number(maxLevel))
	n := d.number(maxChildren)
	prev := ""
	for range n {
		c := child{first: d.path(prev), entries: int64(d.number(1 << 40)), id: d.id()}
		if d.err != nil {
			return 0, nil, d.err
		}
		if err := validPath(c.first); err != nil {
			return 0, nil, err
		}
		if len(children) > 0 && comparePaths(prev, c.first) >= 0 {
			return 0, nil, fmt.Errorf("%q does not come after %q", c.first, prev)
		}
		children = append(children, c)
		prev = c.first
	}
	switch {
	case d.err != nil:
		return 0, nil, d.err
	case level == 0 || n == 0:
		return 0, nil, fmt.Errorf("a branch without children")
	case !bytes.Equal(encodeBranch(level, children), data):
		return 0, nil, fmt.Errorf("branch is not in canonical form")
	}
	return level, children, nil
}

// comparePaths is the order of a manifest: "." first, then bytewise with the
// slash below every other byte, so that a directory is followed by what is
// in it.
func comparePaths(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == ".":
		return -1
	case b == ".":
		return 1
	}
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x == '/' || (y != '/' && x < y) {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

// validPath says what is wrong with the path of an entry.
func validPath(path string) error {
	switch {
	case path == ".":
		return nil
	case path == "":
		return errors.New("an empty path")
	case len(path) > MaxPathBytes:
		return fmt.Errorf("a path of %d bytes", len(path))
	case strings.IndexByte(path, 0) >= 0:
		return fmt.Errorf("a zero byte in path %q", path)
	}
	for elem := range strings.SplitSeq(path, "/") {
		if elem == "" || elem == "." || elem == ".." {
			return fmt.Errorf("an element %q in path %q", elem, path)
		}
	}
	return nil
}

// validEntry says what is wrong with an entry by itself.
func validEntry(e *Entry) error {
	if err := validPath(e.Path); err != nil {
		return err
	}
	if e.Mode > 0o777 {
		return fmt.Errorf("%q has mode %o", e.Path, e.Mode)
	}
	if e.Type != Regular && (e.Size != 0 || e.Sparse || len(e.Xattrs) > 0 || e.Content != Content{}) {
		return fmt.Errorf("%q is no regular file but has content", e.Path)
	}
	if (e.Type != Symlink && e.Target != "") || (e.Type != Omitted && e.Reason != "") {
		return fmt.Errorf("%q has a target or reason that its type has not", e.Path)
	}
	switch e.Type {
	case Directory:
		if e.Mtime != 0 {
			return fmt.Errorf("directory %q has a time", e.Path)
		}
		return nil
	case Regular:
		if e.Path == "." {
			return errors.New("the top is no directory")
		}
		if err := validContent(e.Content, e.Size); err != nil {
			return fmt.Errorf("%q: %w", e.Path, err)
		}
		return validXattrs(e)
	case Symlink:
		if e.Target == "" || len(e.Target) > MaxTargetBytes || strings.IndexByte(e.Target, 0) >= 0 || e.Path == "." {
			return fmt.Errorf("symbolic link %q has an impossible target", e.Path)
		}
		return nil
	case Omitted:
		if len(e.Reason) > maxReasonBytes || e.Mode != 0 || e.Mtime != 0 {
			return fmt.Errorf("omitted %q has more than a reason", e.Path)
		}
		return nil
	}
	return fmt.Errorf("%q has unknown type %d", e.Path, e.Type)
}

// validXattrs says what is wrong with the attributes of an entry.
func validXattrs(e *Entry) error {
	size := 0
	for i, x := range e.Xattrs {
		size += len(x.Name) + len(x.Value)
		if x.Name == "" || strings.IndexByte(x.Name, 0) >= 0 || size > MaxXattrBytes {
			return fmt.Errorf("%q has extended attributes that cannot be kept", e.Path)
		}
		if i > 0 && e.Xattrs[i-1].Name >= x.Name {
			return fmt.Errorf("%q has extended attributes out of order", e.Path)
		}
	}
	return nil
}
