package engine

import (
	"context"
	"path"

	"forklift/engine/plan"
	"forklift/storage"
	"forklift/storage/fault"
)

// CheckResult is what a check of the store found.
type CheckResult struct {
	storage.CheckReport
	// Checkpoints are the names of those that cannot be restored because of
	// a problem, as far as known.
	Checkpoints []string `json:"checkpoints"`
}

// Check looks for damage in the store, of all its projects. Problems are in
// the result; an error means that it could not be made. Nothing is changed.
func (w *Worktree) Check(ctx context.Context, opt storage.CheckOptions) (*CheckResult, error) {
	report, err := w.store.Check(ctx, opt)
	if err != nil {
		return nil, err
	}
	if report.Problems == nil {
		report.Problems = []storage.Problem{}
	}
	res := &CheckResult{CheckReport: report, Checkpoints: []string{}}
	owners, err := w.worktreeNames()
	if err != nil {
		return res, nil // the problems are what was asked for
	}
	seen := map[storage.PairID]bool{}
	for _, p := range report.Problems {
		for _, id := range p.Pairs {
			if pair, err := w.store.Pair(ctx, w.rec.Project, id); err == nil && !seen[id] {
				seen[id] = true
				res.Checkpoints = append(res.Checkpoints, owners[pair.Worktree]+":"+pair.Name)
			}
		}
	}
	return res, nil
}

// RepairOptions are the wishes for a repair.
type RepairOptions struct {
	Yes  bool   // do it; without it only the plan is made
	Plan string // do only this plan; "" does whatever comes out
}

// RepairResult is a plan, or what was done.
type RepairResult struct {
	ID string `json:"plan_id"`
	storage.RepairReport
	Aside string            `json:"aside"` // where damaged files are
	Names map[string]string `json:"names"` // of the hurt checkpoints by id, as WORKTREE:NAME
}

const verbRepair = "repair"

// Repair makes a damaged store usable again: see storage.Repairer. Without
// Yes nothing is changed.
func (w *Worktree) Repair(ctx context.Context, opt RepairOptions) (*RepairResult, error) {
	r, err := w.store.PlanRepair(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	id := plan.ID(struct {
		Verb string
		storage.RepairPlan
	}{verbRepair, r.Report.Plan})
	if opt.Yes {
		if err := plan.Check(verbRepair, opt.Plan, id); err != nil {
			return nil, err
		}
		if err := r.Run(ctx); err != nil {
			return nil, err
		}
	}
	res := &RepairResult{ID: id, RepairReport: r.Report, Aside: path.Join(w.store.Dir(), "damaged"), Names: map[string]string{}}
	owners, err := w.worktreeNames()
	if err != nil && fault.KindOf(err) != fault.Corrupt {
		return nil, err
	}
	for _, h := range r.Report.Hurt {
		name := h.Name
		if owner := owners[h.Worktree]; owner != "" {
			name = owner + ":" + name
		}
		res.Names[string(h.ID)] = name
	}
	return res, nil
}

// DiskUsage is what a store takes, and what of it each checkpoint.
type DiskUsage struct {
	Checkpoints []Checkpoint   `json:"checkpoints"` // of the project, all kinds, the largest first
	Store       string         `json:"store"`
	Stored      storage.Totals `json:"stored"`   // of all projects
	Branches    []BranchUsage  `json:"branches"` // databases as they are now
	FreeBytes   int64          `json:"free_bytes"`
	StoreLimit  string         `json:"store_limit,omitempty"`
	FreeLimit   string         `json:"free_limit,omitempty"`
}

// BranchUsage is what the two slots of a worktree's database take.
type BranchUsage struct {
	Worktree string `json:"worktree"`
	Bytes    int64  `json:"bytes"`
}

// DiskUsage tells what the store takes. With refs only those checkpoints are listed.
func (w *Worktree) DiskUsage(ctx context.Context, refs []string) (*DiskUsage, error) {
	du := &DiskUsage{Store: w.store.Dir(), Branches: []BranchUsage{}, StoreLimit: w.machine.Limits.StoreSize, FreeLimit: w.machine.Limits.FreeSpace}
	var err error
	if len(refs) == 0 {
		if du.Checkpoints, err = w.List(ctx, ListOptions{All: true, Project: true}); err != nil {
			return nil, err
		}
	} else {
		var pairs []*storage.Pair
		for _, ref := range refs {
			p, err := w.resolve(ctx, ref)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, p)
		}
		if du.Checkpoints, err = w.rows(ctx, pairs); err != nil {
			return nil, err
		}
	}
	du.Stored = w.store.Totals()
	records, err := w.records("")
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if err := ctx.Err(); err != nil {
			return nil, canceled(ctx)
		}
		b := w.branchAt(r.Branch, w.recordDir(r.ID))
		if n := w.occupied(b.Dir, "."); n > 0 {
			du.Branches = append(du.Branches, BranchUsage{r.Name, n})
		}
	}
	space, err := w.fs.Space(w.store.Dir())
	if err != nil {
		return nil, fault.Wrap("look at free space", w.store.Dir(), err)
	}
	du.FreeBytes = space.FreeBytes
	return du, nil
}
