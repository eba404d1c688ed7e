package engine

import (
	"context"
	"encoding/json"
	"sort"

	"forklift/storage"
	"forklift/storage/fault"
)

// List lists checkpoints, the newest first.
func (w *Worktree) List(ctx context.Context, opt ListOptions) ([]Checkpoint, error) {
	owner := w.rec.ID
	if opt.Project {
		owner = ""
	}
	named, err := w.store.Names(ctx, w.rec.Project, owner)
	if err != nil {
		return nil, err
	}
	var pairs []*storage.Pair
	for _, n := range named {
		if n.Kind != storage.Capture && !opt.All {
			continue
		}
		p, err := w.store.Pair(ctx, w.rec.Project, n.ID)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	sort.Slice(pairs, func(i, k int) bool { return pairs[i].ID > pairs[k].ID })
	return w.rows(ctx, pairs)
}

// rows describes pairs for a list, in their order.
func (w *Worktree) rows(ctx context.Context, pairs []*storage.Pair) ([]Checkpoint, error) {
	usage, err := w.usage(ctx)
	if err != nil {
		return nil, err
	}
	current, err := w.readSelection()
	if err != nil {
		return nil, err
	}
	names, err := w.worktreeNames()
	if err != nil {
		return nil, err
	}
	list := make([]Checkpoint, 0, len(pairs))
	for _, p := range pairs {
		list = append(list, checkpoint(p, names[p.Worktree], usage[p.ID], current))
	}
	return list, nil
}

// usage tells what each pair of the project takes in the store; what is
// shared is counted among them and the seeds. Where damage keeps that from being
// known, nothing is told: a list must not fail for it.
func (w *Worktree) usage(ctx context.Context) (map[storage.PairID]storage.Usage, error) {
	pairs, err := w.measured(ctx)
	if err != nil {
		return nil, err
	}
	usage, err := w.store.Usage(ctx, pairs)
	if fault.KindOf(err) == fault.Corrupt {
		return nil, nil
	}
	return usage, err
}

// measured gives the pairs that share what is stored: those of the project
// and the seeds.
func (w *Worktree) measured(ctx context.Context) ([]*storage.Pair, error) {
	pairs, err := w.store.Pairs(ctx, w.rec.Project)
	if err != nil {
		return nil, err
	}
	seeds, err := w.store.Pairs(ctx, "")
	return append(pairs, seeds...), err
}

// worktreeNames gives the names of the project's worktrees by id.
func (w *Worktree) worktreeNames() (map[string]string, error) {
	records, err := w.records(w.rec.Project)
	names := make(map[string]string)
	for _, r := range records {
		names[r.ID] = r.Name
	}
	return names, err
}

func checkpoint(p *storage.Pair, worktree string, u storage.Usage, current selection) Checkpoint {
	c := Checkpoint{ID: p.ID, Name: p.Name, Worktree: worktree, Kind: p.Kind, Created: p.Created, Note: p.Note,
		Reason: p.Reason, Actor: p.Actor, Head: p.Head, GitBranch: p.GitBranch, Files: p.Source.Files,
		LogicalBytes: p.LogicalBytes, OwnBytes: u.OwnBytes, SharedBytes: u.SharedBytes, Protected: p.Protected}
	switch data, source := current.data().Pair == p.ID, current.source().Pair == p.ID; {
	case data && source:
		c.Current = true
	case data:
		c.Half = PartData
	case source:
		c.Half = PartCode
	}
	return c
}

// Show describes one checkpoint.
func (w *Worktree) Show(ctx context.Context, ref string) (*CheckpointDetail, error) {
	p, err := w.resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	rows, err := w.rows(ctx, []*storage.Pair{p})
	if err != nil {
		return nil, err
	}
	d := &CheckpointDetail{Checkpoint: rows[0], Pair: p, Facts: []json.RawMessage{}}
	for _, db := range p.Databases {
		d.Facts = append(d.Facts, db.Facts)
	}
	return d, nil
}

// Names lists what `restore` and `show` accept: the names of this worktree's
// checkpoints, and WORKTREE:NAME for those of the project's others.
func (w *Worktree) Names(ctx context.Context) ([]string, error) {
	owner, err := w.worktreeNames()
	if err != nil {
		return nil, err
	}
	named, err := w.store.Names(ctx, w.rec.Project, "")
	if err != nil {
		return nil, err
	}
	var list []string
	for _, n := range named {
		switch {
		case n.Kind != storage.Capture:
		case n.Worktree == w.rec.ID:
			list = append(list, n.Name)
		case owner[n.Worktree] != "":
			list = append(list, owner[n.Worktree]+":"+n.Name)
		}
	}
	sort.Strings(list)
	return list, nil
}
