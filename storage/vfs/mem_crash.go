package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// powerCut is the type of ErrPowerCut.
type powerCut struct{}

func (powerCut) Error() string { return "the power was cut" }

// ErrPowerCut is what every call fails with after CutAt's moment.
var ErrPowerCut error = powerCut{}

// CrashOptions say what a power cut leaves of what was not durable.
type CrashOptions struct {
	// Seed decides everything that is left to chance.
	Seed uint64
	// KeepUnsynced is how much of it survives, from 0 (nothing) to 1 (all).
	KeepUnsynced float64
}

// CutAt cuts the power at the n-th state-changing call from now: that call
// changes nothing, and it and every call after it, reading ones too, fail
// with ErrPowerCut. 0 takes it back.
func (m *Mem) CutAt(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cutAt, m.cut = 0, false
	if n > 0 {
		m.cutAt = m.calls + n
	}
}

// Cut says whether the power went.
func (m *Mem) Cut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cut
}

// Calls is how many state-changing calls were made so far.
func (m *Mem) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// CrashClone gives the file system as it is found when the power comes back.
// m itself is not changed.
//
// Of the directory changes that are not durable either the first so many
// survive, as with a journal, or any of them (a rename always as a whole).
// Each 4 KiB block of a file that was changed since its last Sync has its
// old or its new content, and the file its old or its new size; so has its
// metadata. Everything in the clone is durable; nothing is locked.
func (m *Mem) CrashClone(o CrashOptions) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := crash{
		rand: rand.New(rand.NewPCG(o.Seed, 0x63726173685f6661)),
		keep: o.KeepUnsynced,
		to:   map[*memNode]*memNode{},
		kids: map[*memNode]map[string]*memNode{},
	}
	for _, op := range c.choose(m.pending) {
		for _, change := range op.changes {
			if c.kids[change.dir] == nil {
				c.kids[change.dir] = maps.Clone(change.dir.diskKids)
			}
			setDisk(c.kids[change.dir], change)
		}
	}
	after := NewMem()
	after.now, after.lastIno, after.space = m.now+memTick, m.lastIno, m.space
	after.top = c.node(m.memView.top)
	after.top.nlink = 1
	return after
}

// crash is one power cut.
type crash struct {
	rand *rand.Rand
	keep float64
	to   map[*memNode]*memNode            // nodes by what they were
	kids map[*memNode]map[string]*memNode // entries of directories that kept unsynced changes
}

// lucky decides whether something that is not durable survives.
func (c *crash) lucky() bool {
	switch c.keep {
	case 0:
		return false
	case 1:
		return true
	}
	return c.rand.Float64() < c.keep
}

// choose picks the directory changes that survive, in order.
func (c *crash) choose(pending []*memOp) []*memOp {
	if c.keep > 0 && c.keep < 1 && c.rand.IntN(2) == 0 {
		return pending[:c.rand.IntN(len(pending)+1)]
	}
	picked := map[*memOp]bool{}
	for _, op := range pending {
		if c.lucky() {
			c.pick(picked, op)
		}
	}
	var list []*memOp
	for _, op := range pending {
		if picked[op] {
			list = append(list, op)
		}
	}
	return list
}

// pick takes an operation and all that it cannot be kept without.
func (c *crash) pick(picked map[*memOp]bool, op *memOp) {
	if op.done || picked[op] {
		return
	}
	picked[op] = true
	for _, before := range op.after {
		c.pick(picked, before)
	}
	for _, before := range op.needs {
		c.pick(picked, before)
	}
}

// node copies a node and what is below it as the crash leaves it.
func (c *crash) node(old *memNode) *memNode {
	if n := c.to[old]; n != nil {
		return n
	}
	n := &memNode{ino: old.ino, typ: old.typ, ctime: old.ctime, target: old.target, meta: old.disk}
	c.to[old] = n
	if c.lucky() {
		n.meta = old.meta
	}
	n.disk = n.meta
	if !old.typ.IsDir() {
		c.content(n, old)
		return n
	}
	entries := c.kids[old]
	if entries == nil {
		entries = old.diskKids
	}
	n.kids, n.diskKids = map[string]*memNode{}, map[string]*memNode{}
	for _, base := range slices.Sorted(maps.Keys(entries)) {
		kid := c.node(entries[base])
		kid.nlink++
		n.kids[base], n.diskKids[base] = kid, kid
	}
	return n
}

// content gives a file the blocks that survive.
func (c *crash) content(n, old *memNode) {
	size := len(old.safe)
	if c.lucky() {
		size = len(old.data)
	}
	n.data = make([]byte, size)
	copy(n.data, old.safe)
	for off := 0; off < size; off += memBlock {
		end := min(off+memBlock, size)
		if !old.shared && c.lucky() && off < len(old.data) {
			clear(n.data[off:end])
			copy(n.data[off:end], old.data[off:])
		}
		n.written = append(n.written, slices.ContainsFunc(n.data[off:end], func(b byte) bool { return b != 0 }))
	}
	n.safe, n.shared = n.data, true
}
