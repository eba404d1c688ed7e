package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"forklift/storage/internal/pack"
)

// contentFanOut is how many children a content node has at most: 64 pages of 8 KiB are
// a span of 512 KiB; a changed page rewrites 2 KiB at each level, and three
// levels hold PostgreSQL's segments of 1 GiB.
const contentFanOut = 64

// maxContentDepth bounds the recursion: 64^8 pages are more than a file can have.
const maxContentDepth = 8

// nodeVersion is the version of all nodes but some runs.
const nodeVersion = 1

// specialVersion is the version of a run with setuid, setgid or sticky bits.
// They came later: a Forklift that does not know them refuses such a run as
// newer, and not as damaged. All others are as they were.
const specialVersion = 2

// The first byte of a node.
const (
	contentKind = 'C'
	runKind     = 'R'
	branchKind  = 'B'
)

// contentRef is a child of a content node: a blob or a node, and how many
// bytes of the file it stands for.
type contentRef struct {
	id    ID
	bytes int64
}

// encodeContent gives a content node:
//
//	'C', version, unit, depth, number of children (1 to 64);
//	each child: 32 bytes id, for unit Chunks followed by a uvarint of its bytes
//
// The children of depth 1 are blobs, those of depth n are nodes of depth n-1.
// Pages need no lengths: all are full but the last of the file.
func encodeContent(unit Unit, depth uint8, refs []contentRef) []byte {
	b := make([]byte, 0, 5+len(refs)*(len(ID{})+3))
	b = append(b, contentKind, nodeVersion, byte(unit), depth, byte(len(refs)))
	for _, r := range refs {
		b = append(b, r.id[:]...)
		if unit == Chunks {
			b = binary.AppendUvarint(b, uint64(r.bytes))
		}
	}
	return b
}

// pageSpan is how many bytes of pages a node of a depth covers when full;
// depth 0 is a page.
func pageSpan(depth uint8) int64 {
	n := int64(PageBytes)
	for range depth {
		n *= contentFanOut
	}
	return n
}

// decodeContent reads a content node that must be of a unit and depth and
// stand for size bytes.
func decodeContent(data []byte, unit Unit, depth uint8, size int64) ([]contentRef, error) {
	if len(data) < 5 || data[0] != contentKind {
		return nil, fmt.Errorf("not a content node")
	}
	if data[1] != nodeVersion {
		return nil, errNodeVersion(data[1])
	}
	if Unit(data[2]) != unit || data[3] != depth || depth == 0 || depth > maxContentDepth {
		return nil, fmt.Errorf("content node of unit %d, depth %d where %d, %d belongs", data[2], data[3], unit, depth)
	}
	n := int(data[4])
	if n == 0 || n > contentFanOut {
		return nil, fmt.Errorf("content node of %d children", n)
	}
	refs := make([]contentRef, n)
	rest := data[5:]
	full := pageSpan(depth - 1)
	left := size
	for i := range refs {
		if len(rest) < len(ID{}) {
			return nil, fmt.Errorf("content node is cut off")
		}
		refs[i].id = ID(rest)
		rest = rest[len(ID{}):]
		refs[i].bytes = min(full, left)
		if unit == Chunks {
			v, k := binary.Uvarint(rest)
			if k <= 0 || v > uint64(left) {
				return nil, fmt.Errorf("content node has a wrong length")
			}
			refs[i].bytes, rest = int64(v), rest[k:]
		}
		if refs[i].bytes <= 0 || refs[i].id.IsZero() || (depth == 1 && refs[i].bytes > pack.MaxBlobBytes) {
			return nil, fmt.Errorf("content node has a wrong child")
		}
		left -= refs[i].bytes
	}
	if left != 0 || len(rest) != 0 {
		return nil, fmt.Errorf("content node does not stand for %d bytes", size)
	}
	if !bytes.Equal(encodeContent(unit, depth, refs), data) {
		return nil, fmt.Errorf("content node is not in canonical form")
	}
	return refs, nil
}

// errNodeVersion is a node of a newer format.
type errNodeVersion byte

func (e errNodeVersion) Error() string {
	return fmt.Sprintf("node format %d was written by a newer Forklift", byte(e))
}

// validContent says what is wrong with a reference to the content of a file
// of size bytes.
func validContent(c Content, size int64) error {
	switch {
	case c.Unit != Pages && c.Unit != Chunks:
		return fmt.Errorf("content of unknown unit %d", c.Unit)
	case size < 0:
		return fmt.Errorf("a size of %d bytes", size)
	case c.Depth > maxContentDepth:
		return fmt.Errorf("content of depth %d", c.Depth)
	case size == 0 && (c.Depth != 0 || !c.Root.IsZero()):
		return fmt.Errorf("an empty file with content")
	case size > 0 && c.Root.IsZero():
		return fmt.Errorf("a file of %d bytes without content", size)
	case c.Depth == 0 && c.Unit == Pages && size > PageBytes:
		return fmt.Errorf("a page of %d bytes", size)
	case c.Depth == 0 && size > pack.MaxBlobBytes:
		return fmt.Errorf("a blob of %d bytes", size)
	}
	return nil
}

// contentBuilder puts content nodes over the blobs of one file, in order.
// The form is unique: blobs fill spans, spans fill nodes, and the root is the
// lowest node that holds all.
type contentBuilder struct {
	unit   Unit
	put    func(node []byte) (ID, error)
	levels [][]contentRef // children waiting for their node; level 0 are blobs
}

// add appends a child at a level: a blob at 0, a full or the last span at 1.
func (b *contentBuilder) add(level int, ref contentRef) error {
	for len(b.levels) <= level {
		b.levels = append(b.levels, nil)
	}
	if len(b.levels[level]) == contentFanOut {
		if err := b.flush(level); err != nil {
			return err
		}
	}
	b.levels[level] = append(b.levels[level], ref)
	return nil
}

// flush makes a node of what waits at a level.
func (b *contentBuilder) flush(level int) error {
	refs := b.levels[level]
	id, err := b.put(encodeContent(b.unit, uint8(level+1), refs))
	if err != nil {
		return err
	}
	up := contentRef{id: id}
	for _, r := range refs {
		up.bytes += r.bytes
	}
	b.levels[level] = refs[:0]
	return b.add(level+1, up)
}

// finish gives the reference to the whole and makes the builder ready for
// another file.
func (b *contentBuilder) finish() (Content, error) {
	c := Content{Unit: b.unit}
	for level := 0; level < len(b.levels); level++ {
		refs := b.levels[level]
		top := level == len(b.levels)-1
		if top && len(refs) == 1 {
			c.Depth, c.Root = uint8(level), refs[0].id
			break
		}
		if len(refs) > 0 {
			if err := b.flush(level); err != nil {
				return c, err
			}
		}
	}
	b.levels = b.levels[:0]
	return c, nil
}
