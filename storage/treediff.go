package storage

import (
	"context"
	"iter"
	"slices"
)

// Change is a path at which two manifests differ: Old is nil where it came,
// New where it went.
type Change struct {
	Old, New *Entry
}

// Path is where the change is.
func (c Change) Path() string {
	if c.New != nil {
		return c.New.Path
	}
	return c.Old.Path
}

// Diff gives the paths at which manifest b differs from a, in order; nodes
// that they share are not read. The zero ID is the empty tree. Entries
// differ if anything of them does, times too. The first error ends it.
func (s *Store) Diff(ctx context.Context, a, b ID) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		release, err := s.hold(ctx)
		if err == nil {
			defer release()
			err = s.diff(ctx, a, b, func(c Change) error {
				if !yield(c, nil) {
					return errStop
				}
				return nil
			})
		}
		if err != nil && err != errStop {
			yield(Change{}, err)
		}
	}
}

func (s *Store) diff(ctx context.Context, a, b ID, yield func(Change) error) error {
	if a == b {
		return nil
	}
	old, err := s.frontier(a)
	if err != nil {
		return err
	}
	cur, err := s.frontier(b)
	if err != nil {
		return err
	}
	// Down level by level, leaving out what both have. A path is in one run of
	// a tree, and equal runs have equal paths, so what is left out of both
	// differs nowhere.
	for top := max(level(old), level(cur)); top > 0; top-- {
		if level(old) == top {
			old, err = s.descend(ctx, old)
		}
		if err == nil && level(cur) == top {
			cur, err = s.descend(ctx, cur)
		}
		if err != nil {
			return err
		}
		drop(&old, &cur)
	}
	olds, err := s.entriesOf(ctx, old)
	if err != nil {
		return err
	}
	curs, err := s.entriesOf(ctx, cur)
	if err != nil {
		return err
	}
	for len(olds) > 0 || len(curs) > 0 {
		var c Change
		order := 0
		switch {
		case len(olds) == 0:
			order = 1
		case len(curs) == 0:
			order = -1
		default:
			order = comparePaths(olds[0].Path, curs[0].Path)
		}
		if order <= 0 {
			c.Old, olds = olds[0], olds[1:]
		}
		if order >= 0 {
			c.New, curs = curs[0], curs[1:]
		}
		if order == 0 && equalEntries(c.Old, c.New) {
			continue
		}
		if err := yield(c); err != nil {
			return err
		}
	}
	return nil
}

// pending is a node that a comparison has come to; it is read when its turn
// comes, if the other side does not have it.
type pending struct {
	level int
	id    ID
	read  func() (treeNode, error)
}

// frontier is where a comparison begins: the root.
func (s *Store) frontier(manifest ID) ([]pending, error) {
	if manifest.IsZero() {
		return nil, nil
	}
	n, err := s.treeNode(manifest)
	return []pending{{n.level, n.id, func() (treeNode, error) { return n, nil }}}, err
}

// level is the level of nodes that are all of one.
func level(nodes []pending) int {
	if len(nodes) == 0 {
		return 0
	}
	return nodes[0].level
}

// drop leaves out the nodes that both sides have.
func drop(a, b *[]pending) {
	in := func(nodes []pending) map[ID]bool {
		ids := make(map[ID]bool, len(nodes))
		for i := range nodes {
			ids[nodes[i].id] = true
		}
		return ids
	}
	ofA, ofB := in(*a), in(*b)
	*a = slices.DeleteFunc(*a, func(n pending) bool { return ofB[n.id] })
	*b = slices.DeleteFunc(*b, func(n pending) bool { return ofA[n.id] })
}

// descend gives the children of branches.
func (s *Store) descend(ctx context.Context, nodes []pending) ([]pending, error) {
	var below []pending
	for _, p := range nodes {
		if err := ctx.Err(); err != nil {
			return nil, failed("read manifest", "", err)
		}
		n, err := p.read()
		if err != nil {
			return nil, err
		}
		for _, c := range n.children {
			below = append(below, pending{n.level - 1, c.id, func() (treeNode, error) { return s.below(n, c) }})
		}
	}
	return below, nil
}

// entriesOf gives the entries of runs, in order.
func (s *Store) entriesOf(ctx context.Context, nodes []pending) ([]*Entry, error) {
	var entries []*Entry
	for _, p := range nodes {
		if err := ctx.Err(); err != nil {
			return nil, failed("read manifest", "", err)
		}
		n, err := p.read()
		if err != nil {
			return nil, err
		}
		for k := range n.entries {
			entries = append(entries, &n.entries[k])
		}
	}
	return entries, nil
}

// equalEntries says whether two entries of one path are the same.
func equalEntries(a, b *Entry) bool {
	return slices.Equal(appendEntry(nil, "", a), appendEntry(nil, "", b))
}
