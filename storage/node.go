package storage

import (
	"encoding/binary"
	"errors"
	"slices"

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
	b := append(make([]byte, 0, 4096), runKind, runVersion(entries))
	b = binary.AppendUvarint(b, uint64(len(entries)))
	prev := ""
	for i := range entries {
		b = appendEntry(b, prev, &entries[i])
		prev = entries[i].Path
	}
	return b
}

// runVersion is the version that a run has.
func runVersion(entries []Entry) byte {
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Mode > plainBits }) {
		return specialVersion
	}
	return nodeVersion
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
