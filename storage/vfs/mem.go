package vfs

import (
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Limits of Mem, those of Linux.
const (
	memNameBytes = 255 // of one element
	memLinkDepth = 40  // symbolic links in one name
	memBlock     = 4096
)

// memTick is how far the clock of a Mem moves on at each change.
const memTick = 1_000_000

// Mem is a file system in memory, for tests. It behaves as [OS] does for
// root: names are absolute, permission bits are kept but forbid nothing.
// Only that a file loses setuid and setgid when it is written to, as it does
// for everybody else: code that sets modes too early fails here.
//
// It remembers what is durable. The content and the metadata of a file are
// durable by Sync or SyncFS, the entries of a directory by SyncDir or
// SyncFS; [Mem.CrashClone] gives what a power cut leaves, and [Mem.CutAt]
// cuts the power at any call. A sweep over all calls of some work:
//
//	for n := 1; ; n++ {
//		m := prepared()
//		m.CutAt(n)
//		err := work(m)
//		check(m.CrashClone(CrashOptions{Seed: seed, KeepUnsynced: 0.5}))
//		if !m.Cut() {
//			break // work took n-1 calls
//		}
//	}
//
// Its clock is a counter that moves on by a millisecond at each change.
type Mem struct {
	memView

	mu      sync.Mutex
	now     int64
	lastIno uint64
	space   Space

	calls int  // state-changing calls so far
	cutAt int  // the call at which the power goes; 0 = never
	cut   bool // it went

	pending []*memOp          // changes of directories that are not durable, in order
	lastOp  map[memKey]*memOp // the last pending one of each name
}

// memView is a Mem as seen from the top (no links in the last element) or
// from a Root (no links at all).
type memView struct {
	m      *Mem
	top    *memNode
	root   bool
	closed bool
}

// memRoot is a memView that is confined to a directory.
type memRoot struct{ *memView }

// memNode is a file, directory or symbolic link.
type memNode struct {
	ino   uint64
	typ   fs.FileMode
	nlink int
	ctime int64
	meta  memMeta
	disk  memMeta // the durable metadata

	data    []byte // of a regular file
	safe    []byte // its durable content
	shared  bool   // data and safe are the same bytes
	written []bool // which blocks are not holes
	target  string // of a link

	kids     map[string]*memNode // of a directory
	diskKids map[string]*memNode // its durable entries
	ops      []*memOp            // pending changes of its entries
	born     *memOp              // the pending change that linked it

	locks int // shared holders, or -1
}

// memMeta is what chmod, chown, utimes and setxattr change. The map is
// replaced, never changed.
type memMeta struct {
	perm     fs.FileMode
	uid, gid int
	mtime    int64
	xattrs   map[string][]byte
}

// memSpot is what a name leads to: node is nil if there is nothing, dir is
// nil for the top.
type memSpot struct {
	dir  *memNode
	base string
	node *memNode
}

// NewMem makes an empty file system.
func NewMem() *Mem {
	m := &Mem{
		now:    1_000_000_000_000_000_000,
		space:  Space{FreeBytes: 1 << 40, TotalBytes: 1 << 40},
		lastOp: map[memKey]*memOp{},
	}
	m.memView = memView{m: m, top: m.newNode(fs.ModeDir, 0o755)}
	m.top.nlink = 1
	return m
}

// newNode makes a node that nothing names yet.
func (m *Mem) newNode(typ, perm fs.FileMode) *memNode {
	m.lastIno++
	m.now += memTick
	n := &memNode{ino: m.lastIno, typ: typ, ctime: m.now,
		meta: memMeta{perm: perm, uid: os.Geteuid(), gid: os.Getegid(), mtime: m.now}}
	n.disk = n.meta
	if typ.IsDir() {
		n.kids, n.diskKids = map[string]*memNode{}, map[string]*memNode{}
	}
	return n
}

// newIn is newNode in a directory: with its group if it is setgid.
func (m *Mem) newIn(dir *memNode, typ, perm fs.FileMode) *memNode {
	n := m.newNode(typ, perm)
	if dir.meta.perm&fs.ModeSetgid != 0 {
		n.meta.gid = dir.meta.gid
		n.disk = n.meta
	}
	return n
}

// dropRights takes setuid and setgid from a file whose content or owner changes.
func (n *memNode) dropRights() {
	if n.typ != 0 {
		return
	}
	n.meta.perm &^= fs.ModeSetuid
	if n.meta.perm&0o010 != 0 {
		n.meta.perm &^= fs.ModeSetgid
	}
}

// Advance moves the clock on by so many nanoseconds.
func (m *Mem) Advance(nanoseconds int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += nanoseconds
}

// Now is what the clock shows.
func (m *Mem) Now() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// SetSpace sets what Space tells. Writing takes nothing of it.
func (m *Mem) SetSpace(s Space) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.space = s
}

// enter locks the file system for one call. The caller unlocks it also
// after an error.
func (v *memView) enter(op Op) error {
	m := v.m
	m.mu.Lock()
	if v.closed {
		return fs.ErrClosed
	}
	if op.Changes() && !m.cut {
		m.calls++
		m.cut = m.calls == m.cutAt
	}
	if m.cut {
		return ErrPowerCut
	}
	return nil
}

// on makes one call at name.
func (v *memView) on(op Op, name string, call func(s memSpot) error) error {
	err := v.enter(op)
	defer v.m.mu.Unlock()
	if err == nil {
		var s memSpot
		if s, err = v.find(name); err == nil {
			err = call(s)
		}
	}
	return pathError(string(op), name, err)
}

// onNode makes one call with what name leads to.
func (v *memView) onNode(op Op, name string, call func(n *memNode) error) error {
	return v.on(op, name, func(s memSpot) error {
		if s.node == nil {
			return syscall.ENOENT
		}
		return call(s.node)
	})
}

// onTarget is onNode, through a link unless it is in a Root.
func (v *memView) onTarget(op Op, name string, call func(n *memNode) error) error {
	return v.on(op, name, func(s memSpot) (err error) {
		if s.node != nil && s.node.typ == fs.ModeSymlink && !v.root {
			if s, err = v.find(name + "/."); err != nil {
				return err
			}
		}
		if s.node == nil {
			return syscall.ENOENT
		}
		return call(s.node)
	})
}

// find walks to name. A last element that does not exist is no error.
func (v *memView) find(name string) (memSpot, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return memSpot{}, syscall.EINVAL
	}
	if v.root && !validName(name) || !v.root && !strings.HasPrefix(name, "/") {
		return memSpot{}, fs.ErrInvalid
	}
	path := []*memNode{v.top} // from the top to where we are
	at := memSpot{base: ".", node: v.top}
	links := 0
	for rest := splitName(name); len(rest) > 0; {
		elem := rest[0]
		rest = rest[1:]
		cur := path[len(path)-1]
		if len(elem) > memNameBytes {
			return memSpot{}, syscall.ENAMETOOLONG
		}
		if elem == "." || elem == ".." {
			if elem == ".." {
				path = path[:max(1, len(path)-1)]
			}
			at = memSpot{base: ".", node: path[len(path)-1]}
			continue
		}
		kid := cur.kids[elem]
		at = memSpot{dir: cur, base: elem, node: kid}
		switch {
		case len(rest) == 0:
			return at, nil
		case kid == nil:
			return memSpot{}, syscall.ENOENT
		case kid.typ == fs.ModeSymlink:
			if links++; v.root || links > memLinkDepth {
				return memSpot{}, syscall.ELOOP
			}
			if strings.HasPrefix(kid.target, "/") {
				path = path[:1]
			}
			rest = append(splitName(kid.target), rest...)
		case !kid.typ.IsDir():
			return memSpot{}, syscall.ENOTDIR
		default:
			path = append(path, kid)
		}
	}
	return at, nil
}

// splitName gives the elements of a name.
func splitName(name string) []string {
	var list []string
	for elem := range strings.SplitSeq(name, "/") {
		if elem != "" {
			list = append(list, elem)
		}
	}
	return list
}

// touch says that the content (of a directory: an entry) changed.
func (m *Mem) touch(n *memNode) {
	m.now += memTick
	n.meta.mtime, n.ctime = m.now, m.now
}

// touchMeta says that the inode changed.
func (m *Mem) touchMeta(n *memNode) {
	m.now += memTick
	n.ctime = m.now
}

// info describes a node.
func (n *memNode) info(name string) Info {
	i := Info{
		Name:  name[strings.LastIndexByte(name, '/')+1:],
		Size:  int64(len(n.data)),
		Mode:  n.typ | n.meta.perm,
		Mtime: n.meta.mtime,
		Ctime: n.ctime,
		Dev:   1,
		Ino:   n.ino,
		UID:   uint32(n.meta.uid),
		GID:   uint32(n.meta.gid),
		Nlink: uint64(n.nlink),
	}
	switch n.typ {
	case fs.ModeSymlink:
		i.Size = int64(len(n.target))
	case fs.ModeDir:
		i.Size, i.Blocks = memBlock, memBlock/512
		for _, kid := range n.kids {
			if kid.typ.IsDir() {
				i.Nlink++
			}
		}
		i.Nlink++
	}
	for _, w := range n.written {
		if w {
			i.Blocks += memBlock / 512
		}
	}
	return i
}

// setXattr replaces the map of attributes.
func (n *memNode) setXattr(x Xattr) {
	all := maps.Clone(n.meta.xattrs)
	if all == nil {
		all = map[string][]byte{}
	}
	all[x.Name] = append([]byte{}, x.Value...)
	n.meta.xattrs = all
}
