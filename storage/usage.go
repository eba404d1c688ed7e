package storage

import (
	"context"
	"path"
	"strings"
)

// Usage is what a pair takes in the store, in compressed bytes. A blob's
// share of its frame is counted.
type Usage struct {
	OwnBytes    int64 // needed by no other pair that was asked about
	SharedBytes int64 // needed by others too
}

// Totals is what the whole store takes.
type Totals struct {
	Packs int   `json:"packs"`
	Bytes int64 `json:"bytes"` // of packs and indexes, as their sizes say
}

// Totals adds up the sizes of the packs and indexes that are there. It takes
// no lock: while something is written or removed it is about right.
func (s *Store) Totals() Totals { return s.stored() }

// stored counts what can be read; the rest counts nothing.
func (s *Store) stored() Totals {
	var t Totals
	add := func(dir string) {
		files, err := s.fs.ReadDir(dir)
		if err != nil {
			return
		}
		for _, f := range files {
			if info, err := s.fs.Lstat(path.Join(dir, f.Name)); err == nil && info.IsRegular() {
				t.Bytes += info.Size
				if strings.HasSuffix(f.Name, packSuffix) {
					t.Packs++
				}
			}
		}
	}
	add(s.path(indexDir))
	dirs, _ := s.list(s.path(packsDir))
	for _, dir := range dirs {
		add(s.path(packsDir, dir))
	}
	return t
}

// Usage tells what each of the pairs takes, as if there were no others than
// those. A pair whose data is damaged is an error.
func (s *Store) Usage(ctx context.Context, pairs []*Pair) (map[PairID]Usage, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	g := graph{s: s, ctx: ctx, numbers: map[ID]uint32{}}
	roots := make([][]uint32, len(pairs))
	for i, p := range pairs {
		for _, id := range p.manifests() {
			n, err := g.tree(id)
			if err != nil {
				return nil, failed("measure pair", string(p.ID), err)
			}
			roots[i] = append(roots[i], n)
		}
	}
	// Two rounds over the numbered graph: how many pairs need each blob, then
	// what each pair needs.
	g.seen = make([]uint32, len(g.nodes))
	users := make([]uint32, len(g.nodes))
	for i := range pairs {
		g.visit(uint32(i+1), roots[i], func(n uint32) { users[n]++ })
	}
	clear(g.seen)
	usage := make(map[PairID]Usage, len(pairs))
	for i, p := range pairs {
		var u Usage
		g.visit(uint32(i+1), roots[i], func(n uint32) {
			if users[n] == 1 {
				u.OwnBytes += g.nodes[n].bytes
			} else {
				u.SharedBytes += g.nodes[n].bytes
			}
		})
		usage[p.ID] = u
	}
	return usage, nil
}

// graph is what pairs reach, each blob once, with numbers for ids: so that
// many pairs that share most of their data are cheap.
type graph struct {
	s       *Store
	ctx     context.Context
	near    nearby
	numbers map[ID]uint32
	nodes   []graphNode
	seen    []uint32 // by number: the last visitor
}

type graphNode struct {
	bytes    int64
	children []uint32
}

// add numbers a blob; false if it has a number already.
func (g *graph) add(id ID) (uint32, bool, error) {
	if n, ok := g.numbers[id]; ok {
		return n, false, nil
	}
	p, err := g.near.find(&g.s.blobs, id)
	if err != nil {
		return 0, false, err
	}
	n := uint32(len(g.nodes))
	g.numbers[id] = n
	share := int64(p.Stored) * int64(p.rows[p.slot].Bytes) / max(1, int64(p.Plain))
	g.nodes = append(g.nodes, graphNode{bytes: share})
	return n, true, nil
}

// tree adds a manifest and all below it.
func (g *graph) tree(id ID) (uint32, error) {
	number, fresh, err := g.add(id)
	if err != nil || !fresh {
		return number, err
	}
	if err := g.ctx.Err(); err != nil {
		return 0, err
	}
	node, err := g.s.treeNode(id)
	if err != nil {
		return 0, err
	}
	var children []uint32
	for _, c := range node.children {
		n, err := g.tree(c.id)
		if err != nil {
			return 0, err
		}
		children = append(children, n)
	}
	for i := range node.entries {
		e := &node.entries[i]
		if e.Type != Regular || e.Size == 0 {
			continue
		}
		n, err := g.content(contentRef{e.Content.Root, e.Size}, e.Content.Unit, e.Content.Depth)
		if err != nil {
			return 0, failed("measure", e.Path, err)
		}
		children = append(children, n)
	}
	g.nodes[number].children = children
	return number, nil
}

// content adds the content of a file, or a part of it.
func (g *graph) content(ref contentRef, unit Unit, depth uint8) (uint32, error) {
	number, fresh, err := g.add(ref.id)
	if err != nil || !fresh || depth == 0 {
		return number, err
	}
	refs, err := g.s.contentNode(ref, unit, depth)
	if err != nil {
		return 0, err
	}
	children := make([]uint32, len(refs))
	for i, r := range refs {
		if children[i], err = g.content(r, unit, depth-1); err != nil {
			return 0, err
		}
	}
	g.nodes[number].children = children
	return number, nil
}

// visit calls yield once for each blob that is reached from roots. visitor
// is another number for each visit.
func (g *graph) visit(visitor uint32, roots []uint32, yield func(n uint32)) {
	for _, n := range roots {
		if g.seen[n] == visitor {
			continue
		}
		g.seen[n] = visitor
		yield(n)
		g.visit(visitor, g.nodes[n].children, yield)
	}
}
