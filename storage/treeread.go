package storage

import (
	"context"
	"errors"
	"iter"
	"sort"
)

// errStop ends a walk whose consumer has seen enough.
var errStop = errors.New("stop")

// Walk gives the entries of a manifest in order: by path bytewise with '/'
// below all other bytes, "." first. The zero ID is the empty tree. The first
// error ends it. The store's lock is held meanwhile.
func (s *Store) Walk(ctx context.Context, manifest ID) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		release, err := s.hold(ctx)
		if err == nil {
			defer release()
			err = s.walk(ctx, manifest, func(e *Entry) error {
				if !yield(*e, nil) {
					return errStop
				}
				return nil
			})
		}
		if err != nil && err != errStop {
			yield(Entry{}, err)
		}
	}
}

// walk calls yield for each entry.
func (s *Store) walk(ctx context.Context, manifest ID, yield func(*Entry) error) error {
	if manifest.IsZero() {
		return nil
	}
	root, err := s.treeNode(manifest)
	if err != nil {
		return err
	}
	var order treeOrder
	return s.walkNode(ctx, root, &order, yield)
}

// treeNode is a node of a manifest: a run (level 0) or a branch.
type treeNode struct {
	id       ID
	level    int
	entries  []Entry
	children []child
}

// treeNode reads a node.
func (s *Store) treeNode(id ID) (treeNode, error) {
	data, err := s.blobs.get(id)
	if err != nil {
		return treeNode{}, err
	}
	n := treeNode{id: id}
	if len(data) > 0 && data[0] == branchKind {
		n.level, n.children, err = decodeBranch(data)
	} else {
		n.entries, err = decodeRun(data)
	}
	if err != nil {
		return treeNode{}, badNode(id, err)
	}
	return n, nil
}

// below reads child c of a node and holds it against what the node says.
func (s *Store) below(n treeNode, c child) (treeNode, error) {
	node, err := s.treeNode(c.id)
	if err != nil {
		return treeNode{}, err
	}
	if node.level != n.level-1 || node.first() != c.first || node.count() != c.entries {
		return treeNode{}, badNode(c.id, errors.New("the node is not what the one above says"))
	}
	return node, nil
}

// first is the first path below a node.
func (n *treeNode) first() string {
	switch {
	case n.level > 0:
		return n.children[0].first
	case len(n.entries) > 0:
		return n.entries[0].Path
	}
	return ""
}

// count is the number of entries below a node.
func (n *treeNode) count() int64 {
	count := int64(len(n.entries))
	for _, c := range n.children {
		count += c.entries
	}
	return count
}

// walkNode calls yield for each entry below a node.
func (s *Store) walkNode(ctx context.Context, n treeNode, order *treeOrder, yield func(*Entry) error) error {
	if err := ctx.Err(); err != nil {
		return failed("read manifest", "", err)
	}
	for i := range n.entries {
		if err := order.next(&n.entries[i]); err != nil {
			return badNode(n.id, err)
		}
		if err := yield(&n.entries[i]); err != nil {
			return err
		}
	}
	for _, c := range n.children {
		node, err := s.below(n, c)
		if err != nil {
			return err
		}
		if err := s.walkNode(ctx, node, order, yield); err != nil {
			return err
		}
	}
	return nil
}

// Lookup finds the entry of a path; false if the manifest has none.
func (s *Store) Lookup(ctx context.Context, manifest ID, path string) (Entry, bool, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return Entry{}, false, err
	}
	defer release()
	if manifest.IsZero() {
		return Entry{}, false, nil
	}
	n, err := s.treeNode(manifest)
	for err == nil && n.level > 0 {
		i := sort.Search(len(n.children), func(i int) bool { return comparePaths(n.children[i].first, path) > 0 })
		if i == 0 {
			return Entry{}, false, nil
		}
		n, err = s.below(n, n.children[i-1])
	}
	if err != nil {
		return Entry{}, false, err
	}
	i := sort.Search(len(n.entries), func(i int) bool { return comparePaths(n.entries[i].Path, path) >= 0 })
	if i < len(n.entries) && n.entries[i].Path == path {
		return n.entries[i], true, nil
	}
	return Entry{}, false, nil
}
