package storage

import (
	"encoding/hex"
	"fmt"
)

// ID names stored bytes: their BLAKE3-256.
type ID [32]byte

// String is the ID in 64 lower-case hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports the ID of nothing.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText writes String; the zero ID is written as "".
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParseID reads 64 hexadecimal digits.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return ID{}, fmt.Errorf("parse id %q: not %d hexadecimal digits", s, 2*len(id))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, fmt.Errorf("parse id %q: %w", s, err)
	}
	return id, nil
}

// EntryType says what a manifest entry is. The numbers are the format.
type EntryType uint8

// The types of a manifest entry.
const (
	Directory EntryType = 1
	Regular   EntryType = 2
	Symlink   EntryType = 3
	// Omitted is something that was there and was left out: an ignored
	// path, a nested repository, a socket, FIFO or device. It records that
	// a restore must leave that path (and all below it) alone.
	Omitted EntryType = 4
)

// Unit says how the content of a regular file is cut into blobs.
type Unit uint8

// The ways of cutting. The numbers are the format.
const (
	// Pages cuts at each 8 KiB: the files of a cluster.
	Pages Unit = 1
	// Chunks keeps a file below MinChunkedBytes whole and cuts a larger one
	// where its content says: source files.
	Chunks Unit = 2
)

// PageBytes is the size of a page: PostgreSQL's block size.
const PageBytes = 8192

// Content is where the bytes of a regular file are. Depth 0: Root is the
// only blob (the zero ID for an empty file). Depth 1: Root is a span, a node
// that lists blobs. Depth n: a node that lists nodes of depth n-1.
type Content struct {
	Unit  Unit
	Depth uint8
	Root  ID
}

// Entry is one path of a tree.
type Entry struct {
	// Path is relative, slash-separated, without "." and ".." elements; its
	// bytes need not be UTF-8. "." is the tree's own top directory.
	Path    string
	Type    EntryType
	Mode    uint32 // bits as chmod(2) takes them, at most MaxMode; of a link 0777
	Size    int64  // bytes of a regular file
	Mtime   int64  // nanoseconds since 1970; 0 where the tree keeps none
	Sparse  bool   // has holes: zero pages need not be written
	Target  string // what a symbolic link says
	Reason  string // why it was omitted: "ignored", "repository", "socket", "fifo", "device"
	Xattrs  []EntryXattr
	Content Content
}

// EntryXattr is a user extended attribute of a regular file.
type EntryXattr struct {
	Name  string
	Value []byte
}
