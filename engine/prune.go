package engine

import (
	"context"
	"time"

	"forklift/engine/plan"
	"forklift/storage"
)

const verbPrune = "prune"

// UsualUnused is the share that may stay unused where nobody says another one.
const UsualUnused = 0.05

// PruneOptions are the wishes for a prune.
type PruneOptions struct {
	MaxUnused float64 // share of the store that may stay unused; see storage.PruneOptions
	Yes       bool    // do it; without it only the plan is made
	Plan      string  // do only this plan; "" does whatever comes out
}

// PruneResult is a plan, or what was done.
type PruneResult struct {
	Plan        string            `json:"plan_id"`     // its id
	Safety      []ForgetRow       `json:"safety"`      // safety checkpoints that have had their time
	Unfinished  int               `json:"unfinished"`  // records of captures that never ended
	Remove      int               `json:"remove"`      // packs of which nothing is needed
	Repack      int               `json:"repack"`      // packs that are written again without what is not needed
	Stray       int               `json:"stray"`       // files that nothing speaks of
	Packs       int               `json:"packs"`       // before
	Bytes       int64             `json:"bytes"`       // of them
	FreedBytes  int64             `json:"freed_bytes"` // about, until it is Done
	UnusedBytes int64             `json:"unused_bytes"`
	Limited     bool              `json:"limited"` // too little space to write more again at once: run it again
	Done        bool              `json:"done"`
	Details     storage.PrunePlan `json:"details"`
}

// Prune frees what no checkpoint of any project of the store needs, no
// worktree rests on, no slot holds and undo does not reach. Captures may run
// meanwhile; only its end waits for them.
//
// Without Yes nothing is changed. After an error or a crash everything that
// is needed is there; running it again frees the rest.
func (w *Worktree) Prune(ctx context.Context, opt PruneOptions) (*PruneResult, error) {
	old, rows, err := w.expiredSafety(ctx)
	if err != nil {
		return nil, err
	}
	pruner, err := w.store.PlanPrune(ctx, storage.PruneOptions{MaxUnused: opt.MaxUnused, Forget: old, Roots: w.roots, Wait: pruneWait})
	if err != nil {
		return nil, err
	}
	defer pruner.Close()
	id := pruneID(pruner.Report.Plan)
	if opt.Yes {
		if err := plan.Check(verbPrune, opt.Plan, id); err != nil {
			return nil, err
		}
		if err := pruner.Run(ctx); err != nil {
			return nil, err
		}
	}
	r := pruner.Report
	return &PruneResult{Plan: id, Safety: rows, Unfinished: len(r.Plan.Pairs), Remove: len(r.Plan.Remove), Repack: len(r.Plan.Repack),
		Stray: len(r.Plan.Stray), Packs: r.Packs, Bytes: r.Bytes, FreedBytes: r.FreedBytes, UnusedBytes: r.UnusedBytes,
		Limited: r.Limited, Done: r.Done, Details: r.Plan}, nil
}

// pruneID names what a prune does. Strays are left out: a capture that is
// under way has files that nothing speaks of yet.
func pruneID(p storage.PrunePlan) string {
	p.Stray = nil
	return plan.ID(struct {
		Verb string
		storage.PrunePlan
	}{verbPrune, p})
}

// expiredSafety lists the safety checkpoints of all worktrees of the project
// that have had their time and that nothing needs.
func (w *Worktree) expiredSafety(ctx context.Context) ([]storage.NameRef, []ForgetRow, error) {
	named, err := w.store.Names(ctx, w.rec.Project, "")
	if err != nil {
		return nil, nil, err
	}
	n, _, err := w.needed(ctx)
	if err != nil {
		return nil, nil, err
	}
	owners, err := w.worktreeNames()
	if err != nil {
		return nil, nil, err
	}
	groups, err := w.byOwner(ctx, named, storage.Safety)
	if err != nil {
		return nil, nil, err
	}
	refs, rows := []storage.NameRef{}, []ForgetRow{}
	for _, group := range groups {
		for _, p := range expired(group, w.host.Clock.Now()) {
			if len(n[storage.PairRef{Project: p.Project, ID: p.ID}]) > 0 {
				continue
			}
			refs = append(refs, storage.NameRef{Project: p.Project, Worktree: p.Worktree, Kind: p.Kind, Name: p.Name})
			rows = append(rows, forgetRow(p, owners, []string{}))
		}
	}
	return refs, rows, nil
}

// pruneWait is how long a prune waits at its end for running operations.
const pruneWait = 5 * time.Minute
