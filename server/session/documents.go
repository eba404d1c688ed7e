package session

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"time"

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
	// savingFor is how long a save may take: who typed so shortly before the
	// word of it may have typed behind what was written.
	savingFor = 2 * time.Second
	// maxWork bounds what one notification may copy, in bytes: changes times
	// length of the text.
	maxWork = 1 << 29
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
	tree    *tree  // that it belongs to; nil for none
	version int32
	text    string // "" and big when it is too large
	big     bool
	unsaved bool
	changed time.Time   // when the client last told of a change
	changes int         // how often it did; not every client counts versions
	timer   *time.Timer // compares it when it has been quiet; nil when it did
}

// didOpen notes a document of a file; others are no matter of ours. An editor
// that was restarted may open a file with the changes that it kept: that is
// looked at here and now, for of what another program writes later the client
// has yet to hear, and has nothing unsaved.
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
	d := &document{path: path, tree: s.homeOf(path), version: p.TextDocument.Version}
	d.set(p.TextDocument.Text)
	d.unsaved = !d.big && onDisk(d.path, d.text) == other
	s.docs.mu.Lock()
	before := s.docs.open[p.TextDocument.URI.String()]
	s.docs.open[p.TextDocument.URI.String()] = d
	news := d.unsaved || before != nil && before.unsaved
	s.docs.mark(d.tree, news)
	s.docs.mu.Unlock()
	if news {
		go s.saveUnsaved(d.tree)
	}
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
	d.version, d.changed = p.TextDocument.Version, s.hub.opt.Clock.Now()
	d.changes++
	d.applyAll(p.ContentChanges)
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

// didSave believes that the buffer is on disk, unless something was typed
// while it was written: that is told before the save is.
func (s *session) didSave(_ context.Context, params json.RawMessage) error {
	var p protocol.DidSaveTextDocumentParams
	if err := lsp.Decode(params, &p); err != nil {
		return err
	}
	s.docs.mu.Lock()
	d := s.docs.open[p.TextDocument.URI.String()]
	news := d != nil && d.unsaved && !s.typedOn(d)
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

// applyAll makes the changes of one notification. So many of so long a text
// that they would hold everything up make it one that is not known.
func (d *document) applyAll(changes []protocol.TextDocumentContentChangeEvent) {
	if len(changes)*len(d.text) > maxWork {
		d.text, d.big = "", true
	}
	for _, change := range changes {
		d.apply(change)
	}
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
			if d.unsaved && d.tree != nil && d.tree.root == t.root {
				paths = append(paths, d.path)
			}
		}
	}
	s.docs.mu.Unlock()
	if status := t.last(); status != nil && !status.Tracked {
		s.docs.retell(t, paths)
		return
	}
	name := s.client.name
	if name == "" {
		name = "an editor"
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	err := s.tellUnsaved(ctx, t, engine.UnsavedSession{ID: s.id, Editor: name, PID: s.peer.PID}, paths)
	if err != nil && t.apart {
		s.hub.opt.Log.Debug("no record of unsaved buffers", "worktree", t.root, "error", err) // it has no database
		return
	}
	if err != nil {
		s.hub.opt.Log.Warn("record unsaved buffers", "worktree", t.root, "error", err)
		s.docs.retell(t, paths)
		return
	}
	t.refresh(false)
}

// retell notes that the record of a tree could not be written: the next look
// at the tree writes it.
func (d *documents) retell(t *tree, paths []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mark(t, len(paths) > 0 && !d.closing)
}

// lookedAt is called after every look at a tree: a record that is behind can
// be written when the tree was set up meanwhile, and a file that another
// program wrote may have the text of its buffer now.
func (s *session) lookedAt(t *tree) {
	status := t.last()
	s.docs.mu.Lock()
	behind := s.docs.untold[t] && status != nil && status.Tracked
	var ask []*document
	for _, d := range s.docs.open {
		if d.tree == t && d.unsaved && d.timer == nil {
			ask = append(ask, d)
		}
	}
	s.docs.mu.Unlock()
	if behind {
		go s.saveUnsaved(t)
	}
	for _, d := range ask {
		s.compareSoon(d)
	}
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

// adoptDocuments finds the trees of open documents anew when a folder has
// come: there may have been none, one around it, or one that was left.
func (s *session) adoptDocuments() {
	s.docs.mu.Lock()
	var behind []*tree
	for _, d := range s.docs.open {
		t := s.homeOf(d.path)
		if t == nil || t == d.tree {
			continue
		}
		if d.unsaved && d.tree != nil {
			behind = append(behind, d.tree)
		}
		if d.tree = t; d.unsaved {
			behind = append(behind, t)
			s.docs.mark(t, true)
		}
	}
	s.docs.mu.Unlock()
	for _, t := range behind {
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
