package engine

import (
	"context"
	"errors"

	"forklift/storage"
	"forklift/storage/fault"
)

// ChangeName gives a checkpoint another name. It refuses while an unfinished
// operation needs it: recovery finds it by its name.
//
// After nil the name is durable; after an error or a crash exactly one of the
// two holds.
func (w *Worktree) ChangeName(ctx context.Context, ref, to string) (*Checkpoint, error) {
	if err := storage.ValidName(to); err != nil {
		return nil, err
	}
	p, err := w.resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	name := storage.NameRef{Project: p.Project, Worktree: p.Worktree, Kind: p.Kind, Name: p.Name}
	err = w.store.ChangeName(ctx, name, to, func(_ context.Context, id storage.PairID) error {
		owner := &Worktree{project: w.project, rec: worktreeRecord{ID: p.Worktree}, dir: w.recordDir(p.Worktree)}
		j, err := owner.readJournal()
		if err != nil || j == nil || j.Pair != id && j.Target != id {
			return err
		}
		return &fault.Error{Op: "rename", Path: p.Name, Kind: fault.Interrupted,
			Err: errors.New("an unfinished " + j.Verb + " needs it"), Hint: "Run `forklift recover` first."}
	})
	if err != nil {
		return nil, err
	}
	return w.row(ctx, p)
}

// Note changes the note of a checkpoint; it is durable when the error is nil.
func (w *Worktree) Note(ctx context.Context, ref, text string) (*Checkpoint, error) {
	return w.changeMeta(ctx, ref, func(m *storage.Meta) { m.Note = text })
}

// Protect says of a checkpoint whether it must never be forgotten; durable
// when the error is nil.
func (w *Worktree) Protect(ctx context.Context, ref string, protect bool) (*Checkpoint, error) {
	return w.changeMeta(ctx, ref, func(m *storage.Meta) { m.Protected = protect })
}

func (w *Worktree) changeMeta(ctx context.Context, ref string, change func(*storage.Meta)) (*Checkpoint, error) {
	p, err := w.resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := w.store.ChangeMeta(ctx, storage.PairRef{Project: p.Project, ID: p.ID}, change); err != nil {
		return nil, err
	}
	return w.row(ctx, p)
}

// row describes a pair as it is now.
func (w *Worktree) row(ctx context.Context, p *storage.Pair) (*Checkpoint, error) {
	p, err := w.store.Pair(ctx, p.Project, p.ID)
	if err != nil {
		return nil, err
	}
	rows, err := w.rows(ctx, []*storage.Pair{p})
	if err != nil {
		return nil, err
	}
	return &rows[0], nil
}
