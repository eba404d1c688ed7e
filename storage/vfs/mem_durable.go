package vfs

import "syscall"

// memKey is an entry of a directory.
type memKey struct {
	dir  *memNode
	base string
}

// memChange gives an entry another node, nil for none.
type memChange struct {
	dir  *memNode
	base string
	node *memNode
}

func (c memChange) key() memKey { return memKey{c.dir, c.base} }

// memOp is one atomic change of directory entries: one entry, or the two of
// a rename, the new name last. Syncing the directory of the last makes it
// durable; what a sync of only the old directory does for a rename is left
// open by POSIX, and here it does nothing.
type memOp struct {
	changes []memChange
	after   []*memOp // what is durable whenever this is
	needs   []*memOp // what a journal would keep whenever it keeps this
	done    bool     // durable
}

// enact makes an atomic change and notes that it is not durable.
//
// A later change of the same entry is never durable without the earlier one,
// nor the removal of a directory without the removal of what was in it:
// these hold on any file system (after). Of changes that nobody synced, the
// journals of file systems keep the making of a directory with what is put
// into it, so that a power cut loses no file by moving it into a new
// directory (needs). But a program may not rely on that once it has synced
// only the new directory: then the entry can be durable in a directory that
// has no durable name.
func (m *Mem) enact(changes ...memChange) {
	op := &memOp{changes: changes}
	for _, c := range changes {
		if before := m.lastOp[c.key()]; before != nil && !before.done {
			op.after = append(op.after, before)
		}
		if c.dir.born != nil && !c.dir.born.done {
			op.needs = append(op.needs, c.dir.born)
		}
		m.lastOp[c.key()] = op
	}
	last := changes[len(changes)-1]
	if gone := last.dir.kids[last.base]; gone != nil {
		op.after = append(op.after, gone.ops...)
	}
	for _, c := range changes {
		m.setEntry(c)
		if n := len(c.dir.ops); n == 0 || c.dir.ops[n-1] != op {
			c.dir.ops = append(c.dir.ops, op)
		}
		if c.node != nil && c.node.typ.IsDir() {
			c.node.born = op
		}
	}
	m.pending = append(m.pending, op)
}

// setEntry changes an entry as programs see it.
func (m *Mem) setEntry(c memChange) {
	if old := c.dir.kids[c.base]; old != nil {
		old.nlink--
		m.touchMeta(old)
	}
	if c.node == nil {
		delete(c.dir.kids, c.base)
	} else {
		c.dir.kids[c.base] = c.node
		c.node.nlink++
		m.touchMeta(c.node)
	}
	m.touch(c.dir)
}

// syncNode makes a file's content and metadata, or a directory's entries and
// metadata, durable.
func (m *Mem) syncNode(n *memNode) {
	n.disk = n.meta
	n.safe, n.shared = n.data, true
	for _, op := range n.ops {
		if op.changes[len(op.changes)-1].dir == n {
			op.settle()
		}
	}
	m.forget(n)
}

// settle makes an operation durable, and what comes before it.
func (op *memOp) settle() {
	if op.done {
		return
	}
	op.done = true
	for _, before := range op.after {
		before.settle()
	}
	for _, c := range op.changes {
		setDisk(c.dir.diskKids, c)
	}
	op.after, op.needs = nil, nil
}

func setDisk(entries map[string]*memNode, c memChange) {
	if c.node == nil {
		delete(entries, c.base)
	} else {
		entries[c.base] = c.node
	}
}

// forget drops durable operations from the lists.
func (m *Mem) forget(dir *memNode) {
	keep := func(list []*memOp) []*memOp {
		var left []*memOp
		for _, op := range list {
			if !op.done {
				left = append(left, op)
			}
		}
		return left
	}
	if len(dir.ops) > 0 {
		dir.ops = keep(dir.ops)
		m.pending = keep(m.pending)
		for key, op := range m.lastOp {
			if op.done {
				delete(m.lastOp, key)
			}
		}
	}
}

// SyncDir makes the entries of a directory durable.
func (v *memView) SyncDir(name string) error {
	return v.onTarget(OpSyncDir, name, func(n *memNode) error {
		if err := n.dirOnly(); err != nil {
			return err
		}
		v.m.syncNode(n)
		return nil
	})
}

// SyncFS makes everything durable.
func (v *memView) SyncFS(name string) error {
	return v.onTarget(OpSyncFS, name, func(n *memNode) error {
		if n.typ.Type() != 0 && !n.typ.IsDir() {
			return syscall.ELOOP
		}
		for _, op := range v.m.pending {
			op.settle()
		}
		v.m.pending = nil
		clear(v.m.lastOp)
		v.m.top.syncBelow(map[*memNode]bool{})
		return nil
	})
}

// syncBelow makes all nodes durable once their entries are.
func (n *memNode) syncBelow(seen map[*memNode]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	n.disk, n.ops, n.born = n.meta, nil, nil
	n.safe, n.shared = n.data, true
	for _, kid := range n.kids {
		kid.syncBelow(seen)
	}
}
