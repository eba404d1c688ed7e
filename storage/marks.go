package storage

import (
	"context"
	"math/bits"
	"slices"

	"forklift/storage/internal/index"
	"forklift/storage/internal/pack"
	"forklift/storage/progress"
)

// marks says which of the stored blobs are needed. It is a bit for each
// blob, by its place, so that a store of a hundred gigabytes is marked in some
// ten megabytes; only nodes are remembered by id.
type marks struct {
	s      *Store
	ctx    context.Context
	packs  map[ID]*packMarks
	walked map[ID]struct{} // nodes whose children are marked
	report *reporter
}

// packMarks is a pack of which an index speaks.
type packMarks struct {
	size   int64
	frames []frameMarks
	at     map[int64]int // by offset
}

// frameMarks are the marks of a frame's blobs.
type frameMarks struct {
	pack.Frame
	used [pack.MaxFrameBlobs / 64]uint64
	node bool // it holds nodes
}

// newMarks reads all indexes, and marks nothing.
func (s *Store) newMarks(ctx context.Context) (*marks, error) {
	m := &marks{s: s, ctx: ctx, packs: map[ID]*packMarks{}, walked: map[ID]struct{}{}, report: newReporter(ctx)}
	m.report.event = progress.Event{Phase: "find what is needed"}
	if err := s.blobs.load(); err != nil {
		return nil, err
	}
	for _, x := range s.blobs.files {
		err := x.Verify(func(p index.Pack, f pack.Frame) {
			known := m.packs[p.ID]
			if known == nil {
				known = &packMarks{size: p.Size, at: map[int64]int{}}
				m.packs[p.ID] = known
			}
			if _, ok := known.at[f.Offset]; !ok {
				known.at[f.Offset] = len(known.frames)
				known.frames = append(known.frames, frameMarks{Frame: f})
			}
		})
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// pair marks all that a pair needs.
func (m *marks) pair(p *Pair) error {
	for _, id := range p.manifests() {
		if err := m.tree(id); err != nil {
			return failed("look up what a checkpoint needs", p.Name, err)
		}
	}
	m.report.add(0, 1)
	return nil
}

// one marks a blob. A node may have the bytes of a file, too, so that it was
// marked does not say that its children are.
func (m *marks) one(id ID, node bool) error {
	p, err := m.s.blobs.find(id)
	if err != nil {
		return err
	}
	known := m.packs[p.pack]
	if known == nil {
		return nil // published since the marks were made: it stays anyway
	}
	i, ok := known.at[p.Offset]
	if !ok {
		return corrupt("read index", packName(m.s.dir, p.pack), "no index speaks of its frame at %d", p.Offset)
	}
	f := &known.frames[i]
	f.used[p.slot/64] |= 1 << (p.slot % 64)
	f.node = f.node || node
	return nil
}

// enter marks a node; false if it was walked before.
func (m *marks) enter(id ID) (bool, error) {
	if _, ok := m.walked[id]; ok {
		return false, nil
	}
	if err := m.ctx.Err(); err != nil {
		return false, err
	}
	m.walked[id] = struct{}{}
	return true, m.one(id, true)
}

// tree marks a manifest and all below it. The zero ID is the empty tree.
func (m *marks) tree(id ID) error {
	if id.IsZero() {
		return nil
	}
	fresh, err := m.enter(id)
	if err != nil || !fresh {
		return err
	}
	node, err := m.s.treeNode(id)
	if err != nil {
		return err
	}
	for _, c := range node.children {
		if err := m.tree(c.id); err != nil {
			return err
		}
	}
	for i := range node.entries {
		e := &node.entries[i]
		if e.Type != Regular || e.Size == 0 {
			continue
		}
		if err := m.content(contentRef{e.Content.Root, e.Size}, e.Content.Unit, e.Content.Depth); err != nil {
			return failed("look up", e.Path, err)
		}
	}
	return nil
}

// content marks the content of a file, or a part of it.
func (m *marks) content(ref contentRef, unit Unit, depth uint8) error {
	if depth == 0 {
		return m.one(ref.id, false)
	}
	fresh, err := m.enter(ref.id)
	if err != nil || !fresh {
		return err
	}
	refs, err := m.s.contentNode(ref, unit, depth)
	if err != nil {
		return err
	}
	for _, r := range refs {
		if err := m.content(r, unit, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// usedBlobs is how many blobs of a frame are marked.
func (f *frameMarks) usedBlobs() int {
	n := 0
	for _, word := range f.used {
		n += bits.OnesCount64(word)
	}
	return n
}

// isUsed says whether a blob is marked.
func (f *frameMarks) isUsed(slot int) bool { return f.used[slot/64]>>(slot%64)&1 != 0 }

// usedBytes is about how much of a pack is needed: of each frame the share
// of its blobs that are marked.
func (p *packMarks) usedBytes() (bytes int64, blobs int) {
	for i := range p.frames {
		f := &p.frames[i]
		n := f.usedBlobs()
		bytes += int64(f.Stored) * int64(n) / int64(f.Blobs)
		blobs += n
	}
	return bytes, blobs
}

// sorted gives the ids of the marked packs in order.
func (m *marks) sorted() []ID {
	ids := make([]ID, 0, len(m.packs))
	for id := range m.packs {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b ID) int { return slices.Compare(a[:], b[:]) })
	return ids
}
