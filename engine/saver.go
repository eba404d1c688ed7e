package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"sync/atomic"

	"forklift/engine/config"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/progress"
	"forklift/storage/vfs"

	"golang.org/x/sync/errgroup"
)

// saver captures the present state of a worktree into the store, in two
// passes: a hot one while the server runs, which reads everything that was
// touched, and a cold one at rest, which reads again only what was touched
// since. Where the hot pass finds that nothing has happened in the database
// there is no cold one. Nothing it stores can be seen before commit and publish.
type saver struct {
	w      *Worktree
	writer *storage.Writer
	root   vfs.Root
	slot   Slot
	// committed is the writer whose work is durable.
	committed *storage.Writer

	selection config.Selection
	base      *storage.DatabaseState // that the server was started on, if it may be named again
	ignored   []string               // once asked
	asked     bool
	extra     []string // paths beside the selection
	source    *storage.Tree
	data      map[string]*savedTree
	carried   *storage.DatabaseState // that the running database was found to be still; then data is not read
	seen      Observation
	facts     json.RawMessage
	keeps     bool // the database cannot be read: its slot is going to be set aside
	head      *gitHead
	read      atomic.Int64
	warnings  []string
}

// gitHead is what git says that a pair keeps.
type gitHead struct{ commit, branch string }

// savedTree is one tree of the database as the last pass found it.
type savedTree struct {
	name      string
	dir       string
	tree      *storage.Tree
	inexact   []string
	signature storage.ID
}

// newSaver begins a capture of the selected slot and of the sources.
func (w *Worktree) newSaver(ctx context.Context, sel config.Selection, slot Slot) (*saver, error) {
	root, err := w.fs.OpenRoot(w.rec.Path)
	if err != nil {
		return nil, err
	}
	writer, err := w.store.NewWriter(ctx)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &saver{w: w, writer: writer, root: root, slot: slot, selection: sel,
		data: make(map[string]*savedTree)}, nil
}

// close gives up what was not committed.
func (s *saver) close() {
	s.writer.Abort()
	_ = s.root.Close()
}

// hot is the pass while the server runs: files and database side by side. A
// server that cannot be asked is captured all the same: what counts is what
// the pass at rest finds.
func (s *saver) hot(ctx context.Context) error {
	progress.Report(ctx, progress.Event{Phase: "read database"})
	still := false
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error { return s.scanSource(both) })
	g.Go(func() error {
		if still = s.still(both); still {
			return nil
		}
		return s.hotData(both)
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if !still {
		return nil
	}
	// Asked again now that the files are read: the answer holds for all the
	// time since the server was started, so both halves are of one moment.
	if s.still(ctx) {
		s.carried = s.base
		return nil
	}
	if err := ctx.Err(); err != nil {
		return canceled(ctx)
	}
	return s.hotData(ctx)
}

// still asks whether the running server holds what it was started on.
func (s *saver) still(ctx context.Context) bool {
	return s.base != nil && s.w.db.Unchanged(ctx, s.slot, s.base.Facts)
}

// hotData reads the database while its server runs, and asks about its tables
// meanwhile.
func (s *saver) hotData(ctx context.Context) error {
	var observed error
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		s.seen, observed = s.w.db.Observe(both)
		return nil
	})
	settled := s.w.db.Settle(ctx)
	g.Go(func() error { return s.scanData(both, true) })
	err := g.Wait()
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	if unasked := errors.Join(settled, observed); unasked != nil {
		s.warnings = append(s.warnings, "the server could not be asked about its tables, so this checkpoint has no row counts: "+unasked.Error())
	}
	return err
}

// cold is the pass at rest; what it finds is the capture.
func (s *saver) cold(ctx context.Context) error {
	progress.Report(ctx, progress.Event{Phase: "read what changed since"})
	if err := s.scanData(ctx, false); err != nil {
		return err
	}
	s.warnings = append(s.warnings, s.w.db.Warnings()...)
	if err := s.scanSource(ctx); err != nil {
		return err
	}
	facts, err := s.w.db.Facts(ctx, s.slot)
	s.facts = facts
	return err
}

func (s *saver) scanData(ctx context.Context, hot bool) error {
	trees, err := s.w.db.Trees(ctx, s.slot, hot)
	if err != nil {
		return err
	}
	for _, t := range trees {
		if err := s.scanDatabaseTree(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *saver) scanDatabaseTree(ctx context.Context, t DatabaseTree) error {
	root, err := s.w.fs.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	memory := s.w.loadMemory(memoryOfSlot(s.slot, t.Name))
	if before := s.data[t.Name]; before != nil {
		memory = before.tree.Memory
	}
	tree, err := s.writer.Scan(ctx, root, t.Rules, memory)
	if err != nil {
		return fmt.Errorf("capture %s: %w", t.Name, err)
	}
	s.read.Add(tree.Stats.ReadBytes)
	saved := &savedTree{name: t.Name, dir: t.Dir, tree: tree}
	for name := range t.Rules.Zero {
		saved.inexact = append(saved.inexact, name)
	}
	sort.Strings(saved.inexact)
	s.data[t.Name] = saved
	return nil
}

func (s *saver) scanSource(ctx context.Context) (err error) {
	if !s.asked {
		if s.ignored, err = s.w.ignored(ctx, s.selection); err != nil {
			return err
		}
		s.asked = true
	}
	rules, err := s.w.sourceRules(s.selection, s.ignored, s.extra)
	if err != nil {
		return err
	}
	memory := s.w.loadMemory(memoryOfSources)
	if s.source != nil {
		memory = s.source.Memory
	}
	tree, err := s.writer.Scan(ctx, s.root, rules, memory)
	if err != nil {
		return fmt.Errorf("capture source files: %w", err)
	}
	s.read.Add(tree.Stats.ReadBytes)
	s.source = tree
	return nil
}

// commit makes everything that was read durable in the store; a second time
// there is nothing to do.
func (s *saver) commit(ctx context.Context) error {
	if s.committed == s.writer {
		return nil
	}
	progress.Report(ctx, progress.Event{Phase: "store"})
	err := s.writer.Commit(ctx)
	if err == nil {
		s.committed = s.writer
	}
	return err
}

// conclude is commit, and meanwhile git is asked for HEAD and, with observe,
// the server for its counters: sessions hand in their counts when they end, so
// only behind a restart they are those of the moment of the stop.
func (s *saver) conclude(ctx context.Context, observe bool) error {
	g, all := errgroup.WithContext(ctx)
	g.Go(func() error { return s.commit(all) })
	if s.head == nil {
		g.Go(func() error {
			commit, branch, err := s.w.host.Git.Head(all, s.w.repo)
			s.head = &gitHead{commit, branch}
			return err
		})
	}
	if observe {
		g.Go(func() error {
			if seen, err := s.w.db.Observe(all); err == nil {
				s.seen = seen
			}
			return nil
		})
	}
	return g.Wait()
}

// sourceState is the source half of the pair.
func (s *saver) sourceState() storage.SourceState {
	return storage.SourceState{Manifest: s.source.Manifest, Paths: s.selection.Source, Ignore: s.selection.Ignore,
		Gitignored: s.selection.Gitignored, Covered: s.extra, Files: s.source.Stats.Files, Bytes: s.source.Stats.Bytes}
}

// trees is the database half of the pair.
func (s *saver) trees() []storage.TreeState {
	var list []storage.TreeState
	for _, t := range s.data {
		list = append(list, storage.TreeState{Name: t.name, Manifest: t.tree.Manifest,
			Files: t.tree.Stats.Files, Bytes: t.tree.Stats.Bytes})
	}
	sort.Slice(list, func(i, k int) bool { return list[i].Name < list[k].Name })
	return list
}

// pair makes the pair object of what the last pass found.
func (s *saver) pair(ctx context.Context, j *journal, reason, note string) *storage.Pair {
	p := &storage.Pair{ID: j.Pair, Project: s.w.rec.Project, Worktree: s.w.rec.ID, Name: j.PairName, Kind: j.PairKind,
		Created: s.w.host.Clock.Now(), Actor: s.w.host.Actor, Reason: reason, Note: note,
		Parents: []storage.PairID{j.Before.Pair}, Head: s.head.commit, GitBranch: s.head.branch,
		Source:     s.sourceState(),
		AddedBytes: s.writer.AddedBytes(), LogicalBytes: s.source.Stats.Bytes}
	if s.carried != nil {
		p.Databases = []storage.DatabaseState{*s.carried}
		for _, t := range s.carried.Trees {
			p.LogicalBytes += t.Bytes
		}
		return p
	}
	trees := s.trees()
	if s.keeps {
		p.Databases = []storage.DatabaseState{{Kind: s.w.rec.Kind, State: storage.StateKept}}
	}
	if len(trees) == 0 {
		return p
	}
	if s.seen.Counters == nil {
		s.seen = s.w.inheritedObservation(ctx, trees)
	}
	p.Databases = []storage.DatabaseState{{Kind: s.w.rec.Kind, State: storage.StateClean, Trees: trees, Facts: s.facts,
		Tables: s.seen.Tables, Counters: s.seen.Counters}}
	for _, t := range trees {
		p.LogicalBytes += t.Bytes
	}
	return p
}

// slotRecord says that the slot holds exactly what was captured. It is true
// only while no server starts in the slot, and once the slot was flushed.
func (s *saver) slotRecord() (slotRecord, error) {
	r := slotRecord{Clean: true, Trees: s.trees(), Boot: s.w.boot()}
	for _, t := range s.data {
		for _, name := range t.inexact {
			r.Inexact = append(r.Inexact, path.Join(t.name, name))
		}
	}
	sort.Strings(r.Inexact)
	var err error
	r.Signature, err = s.w.slotSignature(s.slot, r.Trees)
	return r, err
}

// skipped lists what a user should know was left out: not what is ignored.
func (s *saver) skipped() []Skipped {
	var list []Skipped
	for _, e := range s.source.Omitted {
		if e.Reason != "ignored" {
			list = append(list, Skipped{Path: worktree.QuotePath(e.Path), Reason: e.Reason})
		}
	}
	return list
}

// remember keeps what the passes learned about the files for the next capture.
func (s *saver) remember(withData bool) {
	s.w.saveMemory(memoryOfSources, s.source.Memory)
	if !withData {
		return
	}
	for _, t := range s.data {
		s.w.saveMemory(memoryOfSlot(s.slot, t.name), t.tree.Memory)
	}
}
