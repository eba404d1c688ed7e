package engine

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"forklift/storage"
	"forklift/storage/fault"
)

// needs says of each pair that something beside its name needs, what does.
type needs map[storage.PairRef][]string

func (n needs) add(project string, id storage.PairID, why string) {
	ref := storage.PairRef{Project: project, ID: id}
	if id != "" && !slices.Contains(n[ref], why) {
		n[ref] = append(n[ref], why)
	}
}

// needed reads the records of all worktrees of the store: what their
// selections, journals and the reach of undo name, and the manifests that
// their slots hold. Records that cannot be read are an error: who does not know what
// is needed must not delete.
func (p *project) needed(ctx context.Context) (needs, []storage.ID, error) {
	dir := path.Join(p.store.Dir(), worktreesDir)
	entries, err := p.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return needs{}, nil, nil
	}
	if err != nil {
		return nil, nil, fault.Wrap("list worktrees", dir, err)
	}
	n := needs{}
	var manifests []storage.ID
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, nil, canceled(ctx)
		}
		w := &Worktree{project: p, dir: path.Join(dir, e.Name)}
		w.rec, err = p.readRecord(e.Name)
		if errors.Is(err, fs.ErrNotExist) {
			w.rec = worktreeRecord{ID: e.Name, Name: e.Name} // a setup that was killed early
		} else if err != nil {
			return nil, nil, fault.Wrap("read worktree", w.dir, err)
		}
		held, err := w.neededHere(n)
		if err != nil {
			return nil, nil, err
		}
		manifests = append(manifests, held...)
	}
	return n, manifests, nil
}

// addHalves adds the pairs that the two halves of a worktree rest on.
func (n needs) addHalves(sel selection, why string) {
	data, source := sel.data(), sel.source()
	n.add(data.Project, data.Pair, why)
	n.add(source.Project, source.Pair, why)
}

// neededHere adds what one worktree needs, and gives the manifests of its slots.
func (w *Worktree) neededHere(n needs) ([]storage.ID, error) {
	sel, err := w.readSelection()
	switch {
	case err == nil:
		n.addHalves(sel, "the worktree "+w.rec.Name+" rests on it")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fault.Wrap("read selection", w.file(selectionFile), err)
	}
	j, err := w.readJournal()
	if err != nil {
		return nil, err
	}
	if j != nil {
		why := "the unfinished " + j.Verb + " of the worktree " + w.rec.Name + " needs it"
		n.add(w.rec.Project, j.Pair, why)
		n.add(j.TargetProject, j.Target, why)
		n.addHalves(j.Before, why)
	}
	if !w.rec.TornDown {
		last, err := w.lastMove()
		if err != nil {
			return nil, err
		}
		if last != nil {
			n.add(w.rec.Project, last.Before, "`forklift undo` in the worktree "+w.rec.Name+" goes back to it")
		}
	}
	var manifests []storage.ID
	for _, slot := range []Slot{SlotA, SlotB} {
		r, err := w.readSlot(slot)
		if err != nil {
			return nil, fault.Wrap("read slot", w.file(slotFile(slot)), err)
		}
		for _, t := range r.Trees {
			manifests = append(manifests, t.Manifest)
		}
	}
	return manifests, nil
}

// roots is needed as a prune asks it.
func (p *project) roots(ctx context.Context) (storage.Roots, error) {
	n, manifests, err := p.needed(ctx)
	roots := storage.Roots{Manifests: manifests}
	for ref := range n {
		roots.Pairs = append(roots.Pairs, ref)
	}
	return roots, err
}
