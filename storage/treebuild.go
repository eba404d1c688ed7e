package storage

import (
	"encoding/binary"
	"fmt"
	"strings"

	"forklift/storage/internal/pack"
)

// Bits of a path's hash that must be zero for a run to end after it, and for a
// branch to end after the child that ends with it: one in 32, one in 64. A cut
// depends on what is before it and not on where it falls, so that a path
// that comes or goes changes its own run and leaves the others as they are.
const (
	runBits    = 5
	branchBits = 6
)

// pathHash is what cuts are decided by.
func pathHash(path string) uint64 {
	sum := pack.Sum([]byte(path))
	return binary.LittleEndian.Uint64(sum[:])
}

// cutsAt says whether the node of a level (0: a run) ends after a path.
func cutsAt(hash uint64, level int) bool {
	if level == 0 {
		return hash&(1<<runBits-1) == 0
	}
	shift := runBits + (level-1)*branchBits
	return shift+branchBits <= 64 && hash>>shift&(1<<branchBits-1) == 0
}

// treeOrder checks that entries make a tree: in order, each once, each
// in a directory that has an entry.
type treeOrder struct {
	prev string
	some bool
	dirs []string // that the next entry can be in
}

func (o *treeOrder) next(e *Entry) error {
	if o.some && comparePaths(o.prev, e.Path) >= 0 {
		return fmt.Errorf("%q does not come after %q", e.Path, o.prev)
	}
	o.prev, o.some = e.Path, true
	if e.Path == "." {
		if e.Type != Directory {
			return fmt.Errorf("the top is no directory")
		}
		return nil
	}
	parent := parentPath(e.Path)
	for len(o.dirs) > 0 && o.dirs[len(o.dirs)-1] != parent {
		o.dirs = o.dirs[:len(o.dirs)-1]
	}
	if parent != "." && len(o.dirs) == 0 {
		return fmt.Errorf("%q is in no directory of the tree", e.Path)
	}
	if e.Type == Directory {
		o.dirs = append(o.dirs, e.Path)
	}
	return nil
}

// parentPath is the directory that a path is in; "." at the top.
func parentPath(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return "."
}

// baseName is the last element of a path.
func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// treeBuilder makes the nodes of a manifest from entries in order.
type treeBuilder struct {
	put    func(node []byte) (ID, error)
	order  treeOrder
	run    []Entry
	bytes  int // of the run, about
	levels []treeLevel
}

// treeLevel holds the children that wait for their branch.
type treeLevel struct {
	children []child
	total    int // that there ever were
}

// add appends an entry.
func (b *treeBuilder) add(e Entry) error {
	if err := validEntry(&e); err != nil {
		return err
	}
	if err := b.order.next(&e); err != nil {
		return err
	}
	b.run = append(b.run, e)
	b.bytes += entrySize(&e)
	hash := pathHash(e.Path)
	if cutsAt(hash, 0) || len(b.run) == maxRunEntries || b.bytes >= maxRunBytes {
		return b.endRun(hash)
	}
	return nil
}

// entrySize is about what an entry takes, and depends on nothing but it.
func entrySize(e *Entry) int {
	n := len(e.Path) + len(e.Target) + 64
	for _, x := range e.Xattrs {
		n += len(x.Name) + len(x.Value) + 4
	}
	return n
}

// endRun makes a node of the run. hash is that of its last path.
func (b *treeBuilder) endRun(hash uint64) error {
	id, err := b.put(encodeRun(b.run))
	if err != nil {
		return err
	}
	c := child{entries: int64(len(b.run)), id: id}
	if len(b.run) > 0 {
		c.first = b.run[0].Path
	}
	b.run, b.bytes = b.run[:0], 0
	return b.addChild(1, c, hash)
}

// addChild appends a child to the branch that is being filled at a level.
func (b *treeBuilder) addChild(level int, c child, hash uint64) error {
	for len(b.levels) < level {
		b.levels = append(b.levels, treeLevel{})
	}
	l := &b.levels[level-1]
	l.children = append(l.children, c)
	l.total++
	// Two children at least, so that every level is smaller than the one below.
	if len(l.children) == maxChildren || (len(l.children) > 1 && cutsAt(hash, level)) {
		return b.endBranch(level, hash)
	}
	return nil
}

// endBranch makes a node of the children that wait at a level.
func (b *treeBuilder) endBranch(level int, hash uint64) error {
	l := &b.levels[level-1]
	id, err := b.put(encodeBranch(level, l.children))
	if err != nil {
		return err
	}
	c := child{first: l.children[0].first, id: id}
	for _, below := range l.children {
		c.entries += below.entries
	}
	l.children = l.children[:0]
	return b.addChild(level+1, c, hash)
}

// finish gives the manifest: the one node that holds all.
func (b *treeBuilder) finish() (ID, error) {
	// What the end of the tree cuts ends nothing else.
	const end = ^uint64(0)
	if len(b.run) > 0 || len(b.levels) == 0 {
		if err := b.endRun(end); err != nil {
			return ID{}, err
		}
	}
	for level := 1; ; level++ {
		l := &b.levels[level-1]
		if l.total == 1 {
			return l.children[0].id, nil
		}
		if len(l.children) > 0 {
			if err := b.endBranch(level, end); err != nil {
				return ID{}, err
			}
		}
	}
}
