package session

import (
	"context"
	"path/filepath"

	"forklift/commands"
	"forklift/engine"
	"forklift/engine/worktree"
	"forklift/server/lsp"
)

// didRestore is what forklift/didRestore carries: exactly the files that a
// restore, undo or redo has written or removed, by whomever.
type didRestore struct {
	Worktree  string        `json:"worktree"` // URI of its top
	Operation string        `json:"operation"`
	Verb      string        `json:"verb"`
	Name      string        `json:"name"`
	Files     []changedFile `json:"files"`
	FileCount int           `json:"file_count"` // more than Files when there were very many
}

// changedFile is one of them. URI is "" when the name is not UTF-8.
type changedFile struct {
	URI    string `json:"uri,omitempty"`
	Path   string `json:"path"`
	Change string `json:"change"`
}

// tellMoves tells the sessions of a restore, undo or redo that was done since
// the last look.
func (t *tree) tellMoves(ctx context.Context) {
	var move *engine.Move
	err := t.open(ctx, func(w commands.Worktree) (err error) {
		known := t.lastMove
		if !t.moveSeen {
			if move, err = w.LastMove(ctx, ""); move != nil {
				known = move.Operation // of before this session: nothing to tell
			}
		}
		if err == nil {
			move, err = w.LastMove(ctx, known)
		}
		if err == nil && !t.moveSeen {
			t.moveSeen, t.lastMove = true, known
		}
		return err
	})
	if err != nil {
		t.hub.opt.Log.Warn("look for restores", "worktree", t.root, "error", err)
		return
	}
	t.mu.Lock()
	t.move = move
	t.mu.Unlock()
	if move == nil || move.Operation == t.lastMove {
		return
	}
	t.lastMove = move.Operation
	n := didRestore{Worktree: lsp.FileURI(t.root).String(), Operation: move.Operation, Verb: move.Verb, Name: move.Name,
		Files: []changedFile{}, FileCount: move.FileCount}
	for _, f := range move.Files {
		n.Files = append(n.Files, t.changed(f))
	}
	t.each(func(s *session) { s.notify("forklift/didRestore", n) })
}

// changed is a file with its URI.
func (t *tree) changed(f engine.FileChange) changedFile {
	c := changedFile{Path: f.Path, Change: f.Change}
	if rel, err := worktree.UnquotePath(f.Path); err == nil && rel == f.Path {
		c.URI = lsp.FileURI(filepath.Join(t.root, rel)).String()
	}
	return c
}
