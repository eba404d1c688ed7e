package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forklift/engine/config"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
)

// MaxFileBytes is the largest file that FileAt gives.
const MaxFileBytes = 16 << 20

// FileAt gives the content of a source file at a checkpoint. p is relative to
// the worktree, as it is on disk. A file that the checkpoint does not have is
// kind NotFound.
func (w *Worktree) FileAt(ctx context.Context, ref, p string) ([]byte, error) {
	pair, err := w.resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	e, ok, err := w.store.Lookup(ctx, pair.Source.Manifest, p)
	if err != nil {
		return nil, err
	}
	if !ok || e.Type == storage.Omitted {
		return nil, &fault.Error{Op: "read file", Path: p, Kind: fault.NotFound,
			Err: fmt.Errorf("the checkpoint %s has no file %s", pair.Name, worktree.QuotePath(p))}
	}
	if e.Type == storage.Symlink {
		return []byte(e.Target), nil
	}
	return w.store.ReadFile(ctx, e, MaxFileBytes)
}

// Holding lists the latest captured checkpoints of this worktree, newest
// first, at most limit, and tells of each whether it has the file at p with
// the content that is on disk now.
func (w *Worktree) Holding(ctx context.Context, p string, limit int) ([]HeldFile, error) {
	ids, err := w.latestCaptures(ctx, limit)
	if err != nil {
		return nil, err
	}
	var list []HeldFile
	known := map[storage.Content]bool{} // contents that were compared with the file
	for _, id := range ids {
		pair, err := w.store.Pair(ctx, w.rec.Project, id)
		if err != nil {
			return nil, err
		}
		h := HeldFile{ID: id, Name: pair.Name}
		e, ok, err := w.store.Lookup(ctx, pair.Source.Manifest, p)
		if err != nil {
			return nil, err
		}
		if h.Has = ok && e.Type == storage.Regular; h.Has {
			same, seen := known[e.Content]
			if !seen {
				if same, err = worktree.HasContent(ctx, w.fs, w.rec.Path, w.store, &e); err != nil {
					return nil, err
				}
				known[e.Content] = same
			}
			h.Same = same
		}
		list = append(list, h)
	}
	return list, nil
}

// HeldFile says what a checkpoint has of one file.
type HeldFile struct {
	ID   storage.PairID
	Name string
	Has  bool // the checkpoint has the file
	Same bool // with the content that is on disk
}

// Selected tells which of some relative paths a capture would save now.
func (w *Worktree) Selected(ctx context.Context, paths []string) (map[string]bool, error) {
	cfg, err := w.Config(ctx)
	if err != nil {
		return nil, err
	}
	sel := cfg.Selection()
	ignored, err := w.ignored(ctx, sel)
	if err != nil {
		return nil, err
	}
	rules, err := w.sourceRules(sel, ignored, nil)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, p := range paths {
		found[p] = worktree.Selects(rules, p)
	}
	return found, nil
}

// Move is a restore, undo or redo that was done.
type Move struct {
	Operation string       `json:"operation"`
	Verb      string       `json:"verb"`
	Name      string       `json:"name"`  // the checkpoint that it went to
	Files     []FileChange `json:"files"` // that it wrote or removed; at most MaxMoveFiles
	FileCount int          `json:"file_count"`
}

// MaxMoveFiles bounds the files of a Move.
const MaxMoveFiles = 100_000

// LastMove tells the last restore, undo or redo that was done; nil when there
// is none. Of one whose operation is known already the files are left out.
func (w *Worktree) LastMove(ctx context.Context, known string) (*Move, error) {
	row, err := w.lastMove()
	if err != nil || row == nil {
		return nil, err
	}
	m := &Move{Operation: row.Operation, Verb: row.Verb, Name: row.Name, Files: []FileChange{}}
	if row.Operation == known || row.Part.leavesCode() {
		return m, nil
	}
	before, err := w.store.Pair(ctx, w.rec.Project, row.Before)
	if err != nil {
		return nil, err
	}
	after, err := w.store.Pair(ctx, w.rec.Project, row.After)
	if fault.KindOf(err) == fault.NotFound {
		after, err = w.store.Pair(ctx, "", row.After) // a seed
	}
	if err != nil {
		return nil, err
	}
	opt := worktree.MoveOptions{Store: w.store, Saved: before.Source, Target: after.Source}
	if row.Part == PartPaths {
		opt.Only = unquoted(row.Paths)
	}
	if before.Source.Gitignored == config.Include && after.Source.Gitignored != config.Include {
		if opt.Ignored, err = w.host.Git.Ignored(ctx, w.repo, after.Source.Paths); err != nil {
			return nil, err
		}
	}
	changes, count, err := worktree.Moves(ctx, opt, MaxMoveFiles)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		m.Files = append(m.Files, FileChange{Path: c.Path, Change: c.Change})
	}
	m.FileCount = count
	return m, nil
}

// Recent is one of the latest checkpoints.
type Recent struct {
	ID      storage.PairID
	Name    string
	Created time.Time
	Current bool // the worktree rests on it
	Files   int  // that differ from the checkpoint that the worktree rests on; at most MaxStatusFiles
}

// Recent lists the latest captured checkpoints of this worktree, newest
// first, at most limit.
func (w *Worktree) Recent(ctx context.Context, limit int) ([]Recent, error) {
	sel, current, err := w.currentPair(ctx)
	if err == nil && sel.Source != nil {
		current, err = w.store.Pair(ctx, sel.Source.Project, sel.Source.Pair)
	}
	if err != nil {
		return nil, err
	}
	ids, err := w.latestCaptures(ctx, limit)
	if err != nil {
		return nil, err
	}
	var list []Recent
	for _, id := range ids {
		pair, err := w.store.Pair(ctx, w.rec.Project, id)
		if err != nil {
			return nil, err
		}
		r := Recent{ID: id, Name: pair.Name, Created: pair.Created, Current: id == sel.data().Pair && id == sel.source().Pair}
		for _, err := range w.store.Diff(ctx, current.Source.Manifest, pair.Source.Manifest) {
			if err != nil {
				return nil, err
			}
			if r.Files++; r.Files >= MaxStatusFiles {
				break
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// latestCaptures are the ids of the latest captured checkpoints, newest first.
func (w *Worktree) latestCaptures(ctx context.Context, limit int) ([]storage.PairID, error) {
	named, err := w.store.Names(ctx, w.rec.Project, w.rec.ID)
	if err != nil {
		return nil, err
	}
	var ids []storage.PairID
	for _, n := range named {
		if n.Kind == storage.Capture {
			ids = append(ids, n.ID)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids[:min(limit, len(ids))], nil
}
