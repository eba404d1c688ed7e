package session

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"forklift/commands"
	"forklift/engine"
	"forklift/engine/config"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
)

const (
	// maxDocument is the largest text that is followed; of a larger one only
	// is known that it was changed.
	maxDocument = 4 << 20
	// compareAfter is how long a document must be quiet before it is compared
	// with the disk: who undoes his changes has nothing unsaved.
	compareAfter = 150 * time.Millisecond
)

// documents are what the client has open.
type documents struct {
	mu      sync.Mutex
	open    map[string]*document // by URI
	closing bool
	// untold are the trees whose record is behind what is known here.
	untold map[*tree]bool
	// saving orders the writes of the record, so that the last one wins.
	saving sync.Mutex
}

// document is an open file.
type document struct {
	path    string // absolute
	tree    *tree  // that held it when it was opened; nil for none
	version int32
	text    string // "" and big when it is too large
	big     bool
	unsaved bool
	timer   *time.Timer // compares it when it has been quiet
}

// didOpen notes a document of a file; others are no matter of ours. An editor
// that was restarted may open a file with the changes that it kept.
func (s *session) didOpen(_ context.Context, params json.RawMessage) error {
	var p protocol.DidOpenTextDocumentParams
	if err := lsp.Decode(params, &p); err != nil {
		return err
	}
	path, err := lsp.FilePath(p.TextDocument.URI.String())
	if err != nil {
		return nil
	}
	path = realPath(path)
	d := &document{path: path, tree: s.treeOf(path), version: p.TextDocument.Version}
	d.set(p.TextDocument.Text)
	s.docs.mu.Lock()
	s.docs.open[p.TextDocument.URI.String()] = d
	s.docs.mu.Unlock()
	s.compareSoon(d)
	s.diagnoseSoon(d.tree)
	return nil
}

// didChange follows the text. A document counts as unsaved at once; whether
// it differs from the disk is looked at when it has been quiet.
func (s *session) didChange(_ context.Context, params json.RawMessage) error {
	var p protocol.DidChangeTextDocumentParams
	if err := lsp.Decode(params, &p); err != nil {
		return err
	}
	s.docs.mu.Lock()
	d := s.docs.open[p.TextDocument.URI.String()]
	if d == nil {
		s.docs.mu.Unlock()
		return nil
	}
	d.version = p.TextDocument.Version
	for _, change := range p.ContentChanges {
		d.apply(change)
	}
	news := !d.unsaved
	d.unsaved = true
	s.docs.mark(d.tree, news)
	s.docs.mu.Unlock()
	if news {
		go s.saveUnsaved(d.tree)
	}
	s.compareSoon(d)
	if d.diagnosed() {
		s.diagnoseSoon(d.tree)
	}
	return nil
}

func (s *session) didSave(_ context.Context, params json.RawMessage) error {
	var p protocol.DidSaveTextDocumentParams
	if err := lsp.Decode(params, &p); err != nil {
		return err
	}
	s.docs.mu.Lock()
	d := s.docs.open[p.TextDocument.URI.String()]
	news := d != nil && d.unsaved
	if news {
		d.unsaved = false
		s.docs.mark(d.tree, news)
	}
	s.docs.mu.Unlock()
	if news {
		go s.saveUnsaved(d.tree)
	}
	if d != nil && d.diagnosed() {
		s.diagnoseSoon(d.tree)
	}
	return nil
}

func (s *session) didClose(_ context.Context, params json.RawMessage) error {
	var p protocol.DidCloseTextDocumentParams
	if err := lsp.Decode(params, &p); err != nil {
		return err
	}
	s.docs.mu.Lock()
	d := s.docs.open[p.TextDocument.URI.String()]
	delete(s.docs.open, p.TextDocument.URI.String())
	news := d != nil && d.unsaved
	if news {
		s.docs.mark(d.tree, news)
	}
	s.docs.mu.Unlock()
	if news {
		go s.saveUnsaved(d.tree)
	}
	if d != nil {
		s.diagnoseSoon(d.tree)
	}
	return nil
}

// diagnosed reports a document whose text has diagnostics.
func (d *document) diagnosed() bool {
	base := filepath.Base(d.path)
	return base == config.Name || strings.HasPrefix(base, ".env")
}

// set takes a whole text.
func (d *document) set(text string) {
	if d.big = len(text) > maxDocument; d.big {
		text = ""
	}
	d.text = text
}

// apply makes one change of the text. What does not fit into it makes the
// document one whose text is not known.
func (d *document) apply(change protocol.TextDocumentContentChangeEvent) {
	switch c := change.(type) {
	case *protocol.TextDocumentContentChangeWholeDocument:
		d.set(c.Text)
	case *protocol.TextDocumentContentChangePartial:
		from, to := lsp.Offset(d.text, c.Range.Start), lsp.Offset(d.text, c.Range.End)
		if d.big || from > to {
			d.text, d.big = "", true
			return
		}
		d.set(d.text[:from] + c.Text + d.text[to:])
	}
}

// compareSoon looks whether a document differs from the disk when it has been
// quiet for a moment.
func (s *session) compareSoon(d *document) {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	if s.docs.closing {
		return
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer = time.AfterFunc(compareAfter, func() { s.compare(d) })
}

// compare sets whether a document is unsaved by what is on disk.
func (s *session) compare(d *document) {
	s.docs.mu.Lock()
	text, version, big, closing := d.text, d.version, d.big, s.docs.closing
	s.docs.mu.Unlock()
	if big || closing {
		return // it stays what it is said to be
	}
	data, err := readText(d.path)
	if err != nil && !os.IsNotExist(err) {
		return
	}
	differs := !sameText(string(data), text)
	if err == nil && !utf8.Valid(data) {
		differs = false // another encoding: what the client said counts
	}
	s.docs.mu.Lock()
	news := d.version == version && d.unsaved != differs
	if news {
		d.unsaved = differs
		s.docs.mark(d.tree, news)
	}
	s.docs.mu.Unlock()
	if news {
		s.saveUnsaved(d.tree)
		if d.diagnosed() {
			s.diagnoseSoon(d.tree)
		}
	}
}

// readText reads a file that may be compared.
func readText(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxDocument {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(name)
}

// sameText compares what is on disk with a buffer. Editors keep the byte order
// mark, the ends of lines and the last of them aside.
func sameText(disk, buffer string) bool {
	return disk == buffer || even(disk) == even(buffer)
}

func even(text string) string {
	text = strings.TrimPrefix(text, "\uFEFF")
	return strings.TrimRight(string(bytes.ReplaceAll([]byte(text), []byte("\r\n"), []byte("\n"))), "\n")
}

// saveUnsaved writes the record of the unsaved documents of a tree.
func (s *session) saveUnsaved(t *tree) {
	if t == nil {
		return
	}
	s.docs.saving.Lock()
	defer s.docs.saving.Unlock()
	var paths []string
	s.docs.mu.Lock()
	delete(s.docs.untold, t)
	if !s.docs.closing {
		for _, d := range s.docs.open {
			if d.unsaved && d.tree == t {
				paths = append(paths, d.path)
			}
		}
	}
	s.docs.mu.Unlock()
	if status := t.last(); status != nil && !status.Tracked {
		return
	}
	name := s.client.name
	if name == "" {
		name = "an editor"
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	err := s.tellUnsaved(ctx, t, engine.UnsavedSession{ID: s.id, Editor: name, PID: s.peer.PID}, paths)
	if err != nil {
		s.hub.opt.Log.Warn("record unsaved buffers", "worktree", t.root, "error", err)
		return
	}
	t.refresh(false)
}

// mark notes that the record of a tree is behind; docs.mu is held.
func (d *documents) mark(t *tree, behind bool) {
	if behind && t != nil {
		d.untold[t] = true
	}
}

// settleUnsaved returns when the record says what the client told before: a
// file that was saved just now does not refuse the verb that comes next.
func (s *session) settleUnsaved(t *tree) {
	s.docs.mu.Lock()
	behind := s.docs.untold[t]
	s.docs.mu.Unlock()
	if behind {
		s.saveUnsaved(t)
		return
	}
	s.docs.saving.Lock() // one that is being written
	defer s.docs.saving.Unlock()
}

// tellUnsaved writes the record.
func (s *session) tellUnsaved(ctx context.Context, t *tree, id engine.UnsavedSession, paths []string) error {
	return s.inTree(ctx, t, func(w commands.Worktree) error { return w.SetUnsaved(ctx, id, paths) })
}

// adoptDocuments finds the trees of documents that were opened before their
// folder was.
func (s *session) adoptDocuments() {
	s.docs.mu.Lock()
	var adopted []*tree
	for _, d := range s.docs.open {
		if d.tree == nil {
			if d.tree = s.treeOf(d.path); d.tree != nil && d.unsaved {
				adopted = append(adopted, d.tree)
			}
		}
	}
	s.docs.mu.Unlock()
	for _, t := range adopted {
		go s.saveUnsaved(t)
	}
}

// closeDocuments takes the records back: what an editor did not save before it
// ended is its own matter.
func (s *session) closeDocuments() {
	s.docs.mu.Lock()
	s.docs.closing = true
	trees := map[*tree]bool{}
	for _, d := range s.docs.open {
		if d.timer != nil {
			d.timer.Stop()
		}
		if d.unsaved && d.tree != nil {
			trees[d.tree] = true
		}
	}
	s.docs.mu.Unlock()
	for t := range trees {
		s.saveUnsaved(t)
	}
}

// realPath is a path whose directory is not reached by links, as git and the
// records have it.
func realPath(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}
