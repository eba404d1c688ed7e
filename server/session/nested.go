package session

import (
	"os"
	"path/filepath"
)

// homeOf is the tree that a file belongs to: where a worktree of its own is in
// an open folder, as linked worktrees often are, that one and not the one
// around it, whose captures and restores never touch it. When it is not open
// itself it is a tree apart, for the record of its unsaved buffers only.
func (s *session) homeOf(path string) *tree {
	t := s.treeOf(path)
	if t == nil || !within(path, t.root) {
		return t
	}
	for dir := filepath.Dir(path); len(dir) > len(t.root); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return s.treeApart(dir)
		}
	}
	return t
}

// treeApart is the session's tree of a worktree that it has not open.
func (s *session) treeApart(root string) *tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.apart[root]
	if t == nil {
		t = newTree(s.hub, root, "", s.peer)
		t.apart = true
		s.apart[root] = t
	}
	return t
}
