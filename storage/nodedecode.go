package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

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
	rest := d.bytes(int(d.number(MaxPathBytes)))
	if d.err != nil {
		return ""
	}
	return prev[:shared] + string(rest) // one allocation
}

// open checks the first two bytes. Versions from nodeVersion to newest are read.
func (d *decoder) open(kind, newest byte) {
	if k := d.byte(); k != kind && d.err == nil {
		d.fail("not the kind of node that belongs here")
	}
	if v := d.byte(); (v < nodeVersion || v > newest) && d.err == nil {
		d.err = errNodeVersion(v)
	}
}

// decodeRun reads a run and refuses everything that encodeRun would not give.
func decodeRun(data []byte) ([]Entry, error) {
	d := decoder{rest: data}
	d.open(runKind, specialVersion)
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
	e.Mode = uint32(d.number(MaxMode))
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

// decodeBranch reads a branch.
func decodeBranch(data []byte) (level int, children []child, err error) {
	d := decoder{rest: data}
	d.open(branchKind, nodeVersion)
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
