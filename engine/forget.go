package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forklift/engine/plan"
	"forklift/storage"
	"forklift/storage/fault"
)

const verbForget = "forget"

// ForgetOptions choose the checkpoints to forget: by name, or all that a
// policy does not keep.
type ForgetOptions struct {
	Refs   []string   // NAME or WORKTREE:NAME
	Policy KeepPolicy // of the captures of this worktree; each worktree for itself with Project
	// Project applies the policy to all worktrees of the project.
	Project bool
	Yes     bool   // do it; without it only the plan is made
	Plan    string // do only this plan; "" does whatever comes out
}

// ForgetRow is a checkpoint and what a forget does with it.
type ForgetRow struct {
	ID       storage.PairID   `json:"id"`
	Name     string           `json:"name"`
	Worktree string           `json:"worktree"`
	Kind     storage.PairKind `json:"kind"`
	Created  time.Time        `json:"created"`
	Reasons  []string         `json:"reasons"` // why it is kept; of one that goes: empty
}

// ForgetResult is a plan, or what was done.
type ForgetResult struct {
	Plan       string      `json:"plan_id"` // its id
	Forget     []ForgetRow `json:"forget"`
	Keep       []ForgetRow `json:"keep"`        // what the policy was asked about and leaves
	FreeBytes  int64       `json:"free_bytes"`  // about what `forklift prune` frees then
	LaterBytes int64       `json:"later_bytes"` // about what it leaves, unused among what is needed, unless --max-unused asks for less
	Done       bool        `json:"done"`
}

// Forget removes checkpoints: their names and their records, not yet what
// they held, which a prune does. It refuses, as a whole, if something needs
// one of them. A policy leaves those by itself and says so.
//
// Without Yes nothing is changed. After nil with Yes the checkpoints are
// gone, durably; after an error or a crash each is there, whole, or gone.
func (w *Worktree) Forget(ctx context.Context, opt ForgetOptions) (*ForgetResult, error) {
	if len(opt.Refs) > 0 != opt.Policy.Empty() {
		e := &fault.Error{Op: verbForget, Kind: fault.Usage, Err: errors.New("nothing says which checkpoints to forget"),
			Hint: "Name them (`forklift list` shows them), or say what to keep, such as --keep-last 10."}
		if len(opt.Refs) > 0 {
			e.Err = errors.New("it takes names of checkpoints, or what to keep, and one of the two")
		}
		return nil, e
	}
	res, names, err := w.planForget(ctx, opt)
	if err != nil {
		return nil, err
	}
	if !opt.Yes {
		return res, nil
	}
	if err := plan.Check(verbForget, opt.Plan, res.Plan); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		res.Done = true
		return res, nil
	}
	err = w.store.Forget(ctx, names, func(ctx context.Context, pairs []*storage.Pair) error {
		n, _, err := w.needed(ctx)
		if err != nil {
			return err
		}
		return refuseNeeded(pairs, n)
	})
	if err != nil {
		return nil, err
	}
	res.Done = true
	return res, nil
}

// planForget finds what goes and what stays.
func (w *Worktree) planForget(ctx context.Context, opt ForgetOptions) (*ForgetResult, []storage.NameRef, error) {
	n, _, err := w.needed(ctx)
	if err != nil {
		return nil, nil, err
	}
	owners, err := w.worktreeNames()
	if err != nil {
		return nil, nil, err
	}
	res := &ForgetResult{Forget: []ForgetRow{}, Keep: []ForgetRow{}}
	var gone []*storage.Pair
	if len(opt.Refs) > 0 {
		for _, ref := range opt.Refs {
			p, err := w.resolve(ctx, ref)
			if err != nil {
				return nil, nil, err
			}
			if !slices.ContainsFunc(gone, func(q *storage.Pair) bool { return q.ID == p.ID }) {
				gone = append(gone, p)
			}
		}
		if err := refuseNeeded(gone, n); err != nil {
			return nil, nil, err
		}
	} else {
		groups, err := w.captures(ctx, opt.Project)
		if err != nil {
			return nil, nil, err
		}
		for _, pairs := range groups {
			for i, why := range opt.Policy.reasons(pairs, time.Local) {
				p := pairs[i]
				if p.Protected {
					why = append(why, "protected")
				}
				why = append(why, n[storage.PairRef{Project: p.Project, ID: p.ID}]...)
				if len(why) == 0 {
					gone = append(gone, p)
					continue
				}
				res.Keep = append(res.Keep, forgetRow(p, owners, why))
			}
		}
	}
	var names []storage.NameRef
	var ids []storage.PairID
	for _, p := range gone {
		res.Forget = append(res.Forget, forgetRow(p, owners, []string{}))
		names = append(names, storage.NameRef{Project: p.Project, Worktree: p.Worktree, Kind: p.Kind, Name: p.Name})
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	res.Plan = plan.ID(struct {
		Verb  string
		Pairs []storage.PairID
	}{verbForget, ids})
	res.FreeBytes, res.LaterBytes = w.freedBy(ctx, names)
	return res, names, nil
}

func forgetRow(p *storage.Pair, owners map[string]string, why []string) ForgetRow {
	return ForgetRow{ID: p.ID, Name: p.Name, Worktree: owners[p.Worktree], Kind: p.Kind, Created: p.Created, Reasons: why}
}

// captures gives the user's checkpoints by worktree, newest first.
func (w *Worktree) captures(ctx context.Context, project bool) ([][]*storage.Pair, error) {
	owner := w.rec.ID
	if project {
		owner = ""
	}
	named, err := w.store.Names(ctx, w.rec.Project, owner)
	if err != nil {
		return nil, err
	}
	return w.byOwner(ctx, named, storage.Capture)
}

// byOwner gives the pairs of a kind that names lead to, by worktree in the
// order of names, each list newest first.
func (w *Worktree) byOwner(ctx context.Context, named []storage.NamedPair, kind storage.PairKind) ([][]*storage.Pair, error) {
	at := map[string]int{}
	var groups [][]*storage.Pair
	for _, n := range named {
		if n.Kind != kind {
			continue
		}
		p, err := w.store.Pair(ctx, w.rec.Project, n.ID)
		if err != nil {
			return nil, err
		}
		i, ok := at[n.Worktree]
		if !ok {
			i = len(groups)
			at[n.Worktree], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	for _, g := range groups {
		slices.SortFunc(g, func(a, b *storage.Pair) int { return strings.Compare(string(b.ID), string(a.ID)) })
	}
	return groups, nil
}

// refuseNeeded fails if one of the pairs is protected or something needs it.
func refuseNeeded(pairs []*storage.Pair, n needs) error {
	e := &fault.Error{Op: verbForget, Kind: fault.Busy, Err: errors.New("what is needed cannot be forgotten"),
		Hint: "Nothing was forgotten. Leave those out; capture a new checkpoint first where a worktree rests on one."}
	for _, p := range pairs {
		why := n[storage.PairRef{Project: p.Project, ID: p.ID}]
		if p.Protected {
			why = append([]string{"it is protected; see `forklift unprotect`"}, why...)
		}
		if len(why) > 0 {
			e.Items = append(e.Items, fmt.Sprintf("%s: %s", p.Name, strings.Join(why, ", ")))
		}
	}
	if len(e.Items) == 0 {
		return nil
	}
	return e
}

// freedBy is about how many bytes a prune with its usual wishes frees once
// names are gone, and how many it then leaves in packs that are mostly needed;
// zeros where damage, or a prune that runs, keeps that from being known.
func (w *Worktree) freedBy(ctx context.Context, names []storage.NameRef) (free, later int64) {
	if len(names) == 0 {
		return 0, 0
	}
	old, _, err := w.expiredSafety(ctx)
	if err != nil {
		return 0, 0
	}
	for _, n := range names {
		if !slices.Contains(old, n) {
			old = append(old, n)
		}
	}
	pruner, err := w.store.PlanPrune(ctx, storage.PruneOptions{MaxUnused: UsualUnused, Forget: old, Roots: w.roots})
	if err != nil {
		return 0, 0
	}
	defer pruner.Close()
	return pruner.Report.FreedBytes, pruner.Report.UnusedBytes
}
