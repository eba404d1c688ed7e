package session

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"forklift/commands"
	"forklift/server/lsp"
	"forklift/storage/fault"

	"go.lsp.dev/protocol"
)

// maxFolders bounds the folders of one session.
const maxFolders = 256

// folder is a workspace folder.
type folder struct {
	uri  string // as the client wrote it
	dir  string // absolute; "" when it is not a directory of files
	tree *tree  // nil when dir is ""
}

// addFolder attaches a folder. One that is not a directory of files stays in
// the list, without a tree.
func (s *session) addFolder(ctx context.Context, text string) {
	s.mu.Lock()
	full := len(s.folders) >= maxFolders
	for _, f := range s.folders {
		full = full || f.uri == text // once more is nothing new
	}
	s.mu.Unlock()
	if full {
		return
	}
	f := folder{uri: text}
	dir, err := lsp.FilePath(text)
	if err == nil {
		f.dir, f.tree = dir, s.hub.attach(ctx, s, dir)
	} else {
		s.hub.opt.Log.Info("a folder without files", "uri", text, "error", err)
		s.notify("forklift/status", commands.Untracked("", err))
	}
	s.mu.Lock()
	s.folders = append(s.folders, f)
	s.mu.Unlock()
	s.adoptDocuments()
	if f.tree != nil {
		s.rediagnose(f.tree)
	}
}

// removeFolder detaches a folder.
func (s *session) removeFolder(text string) {
	s.mu.Lock()
	var gone []folder
	kept := s.folders[:0:0]
	for _, f := range s.folders {
		if f.uri == text {
			gone = append(gone, f)
		} else {
			kept = append(kept, f)
		}
	}
	s.folders = kept
	s.mu.Unlock()
	for _, f := range gone {
		s.release(f)
	}
}

func (s *session) release(f folder) {
	if f.tree == nil {
		return
	}
	if !slices.Contains(s.trees(), f.tree) {
		s.undiagnose(f.tree)
	}
	s.hub.detach(s, f.tree)
}

func (s *session) didChangeFolders(ctx context.Context, params json.RawMessage) error {
	var p protocol.DidChangeWorkspaceFoldersParams
	if err := lsp.Decode(params, &p); err != nil {
		return err
	}
	// Added first, so that a worktree that changes folders is not left.
	for _, f := range p.Event.Added {
		s.addFolder(ctx, f.URI.String())
	}
	for _, f := range p.Event.Removed {
		s.removeFolder(f.URI.String())
	}
	return nil
}

// trees are the session's worktrees and directories, each once.
func (s *session) trees() []*tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*tree
	seen := map[*tree]bool{}
	for _, f := range s.folders {
		if f.tree != nil && !seen[f.tree] {
			seen[f.tree] = true
			list = append(list, f.tree)
		}
	}
	return list
}

// treeOf is the tree that holds a path; nil when none of the session's does.
// Of nested ones it is the innermost.
func (s *session) treeOf(path string) *tree {
	var best *tree
	for _, t := range s.trees() {
		if within(path, t.root) && (best == nil || len(t.root) > len(best.root)) {
			best = t
		}
	}
	if best != nil {
		return best
	}
	// A folder can be reached by a link: its name is not below the top's.
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.folders {
		if f.tree != nil && within(path, f.dir) {
			return f.tree
		}
	}
	return nil
}

// within reports that path is dir or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+string(filepath.Separator))
}

// place is where a request acts.
type place struct {
	dir  string // absolute
	tree *tree  // nil when the session has no folder there
}

// placeOf finds the worktree that a request means: that of the URI, else the
// only one of the session. where is the path of the argument for messages.
func (s *session) placeOf(text, where string) (place, error) {
	if text != "" {
		dir, err := lsp.FilePath(text)
		if err != nil {
			return place{}, &fault.Error{Op: "read request", Path: where, Kind: fault.Usage, Err: err,
				Hint: "Give the file: URI of a directory in the worktree."}
		}
		if t := s.treeOf(dir); t != nil {
			return place{dir: t.root, tree: t}, nil
		}
		return place{dir: dir}, nil
	}
	trees := s.trees()
	switch len(trees) {
	case 1:
		return place{dir: trees[0].root, tree: trees[0]}, nil
	case 0:
		return place{}, &fault.Error{Op: "read request", Path: where, Kind: fault.Usage, Err: errors.New("this session has no worktree open"),
			Hint: "Open a folder, or give the URI of a worktree."}
	}
	e := &fault.Error{Op: "read request", Path: where, Kind: fault.Usage, Err: errors.New("this session has several worktrees open"),
		Hint: "Give the URI of one of them."}
	for _, t := range trees {
		e.Items = append(e.Items, lsp.FileURI(t.root).String())
	}
	return place{}, e
}
