package storage

import (
	"context"
	"slices"

	"forklift/storage/fault"
)

// findHurt lists the pairs that are not whole.
func (r *Repairer) findHurt(ctx context.Context) error {
	release, err := r.s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	h := &hurtFinder{s: r.s, ctx: ctx, whole: map[ID]bool{}}
	return r.s.eachPair(func(_ string, p *Pair, err error) error {
		if err != nil {
			return err
		}
		found := HurtPair{PairRef: PairRef{p.Project, p.ID}, Name: p.Name, Worktree: p.Worktree, Kind: p.Kind, Files: []string{}}
		h.found = &found
		for _, id := range p.manifests() {
			if _, err := h.tree(id, "the list of files"); err != nil {
				return err
			}
		}
		if found.Count > 0 {
			r.Report.Hurt = append(r.Report.Hurt, found)
		}
		return nil
	})
}

// hurtFinder walks manifests as far as they can be read.
type hurtFinder struct {
	s     *Store
	ctx   context.Context
	whole map[ID]bool // nodes of which nothing is missing
	found *HurtPair
}

func (h *hurtFinder) missing(file string) {
	h.found.Count++
	if len(h.found.Files) < maxHurtFiles && !slices.Contains(h.found.Files, file) {
		h.found.Files = append(h.found.Files, file)
	}
}

// tree says whether a manifest is whole; where says what is lost if its node is.
func (h *hurtFinder) tree(id ID, where string) (bool, error) {
	if h.whole[id] {
		return true, nil
	}
	if err := h.ctx.Err(); err != nil {
		return false, err
	}
	node, err := h.s.treeNode(id)
	if fault.KindOf(err) == fault.Corrupt {
		h.missing(where)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	all := true
	for _, c := range node.children {
		ok, err := h.tree(c.id, c.first+" and what follows it")
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	for i := range node.entries {
		e := &node.entries[i]
		if e.Type != Regular || e.Size == 0 {
			continue
		}
		ok, err := h.content(contentRef{e.Content.Root, e.Size}, e.Content.Unit, e.Content.Depth)
		if err != nil {
			return false, err
		}
		if !ok {
			h.missing(e.Path)
			all = false
		}
	}
	h.whole[id] = all
	return all, nil
}

// content says whether the content of a file is whole.
func (h *hurtFinder) content(ref contentRef, unit Unit, depth uint8) (bool, error) {
	if depth == 0 {
		ok, err := h.s.blobs.known(ref.id)
		return ok, err
	}
	if h.whole[ref.id] {
		return true, nil
	}
	refs, err := h.s.contentNode(ref, unit, depth)
	if fault.KindOf(err) == fault.Corrupt {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, r := range refs {
		ok, err := h.content(r, unit, depth-1)
		if err != nil || !ok {
			return false, err
		}
	}
	h.whole[ref.id] = true
	return true, nil
}
