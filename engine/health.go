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
	Store    string `json:"store"`
	SetAside int    `json:"set_aside"` // databases that could not be saved and were found as they were set aside
	// Checkpoints are the names of those that cannot be restored because of
	// a problem, as far as known.
	Checkpoints []string `json:"checkpoints"`
}

// Check looks for damage in the store, of all its projects. Problems are in
// the result; an error means that it could not be made. Nothing is changed.
func (w *Worktree) Check(ctx context.Context, opt storage.CheckOptions) (*CheckResult, error) {
	return w.check(ctx, opt)
}

// CheckStore is [Worktree.Check] for a directory that is in no worktree that
// was set up: of the store of its repository, else of the host's.
func CheckStore(ctx context.Context, host Host, dir string, opt storage.CheckOptions) (*CheckResult, error) {
	p, err := seeds(ctx, host, dir, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	return p.check(ctx, opt)
}

func (p *project) check(ctx context.Context, opt storage.CheckOptions) (*CheckResult, error) {
	report, err := p.store.Check(ctx, opt)
	if err != nil {
		return nil, err
	}
	res := &CheckResult{CheckReport: report, Store: p.store.Dir(), Checkpoints: []string{}}
	// The problems are what was asked for: what keeps these names from being
	// known is one of them.
	if records, err := p.records(""); err == nil {
		for _, rec := range records {
			p.checkKeptOf(ctx, rec, res)
		}
		p.nameHurt(ctx, records, res)
	}
	if res.Problems == nil {
		res.Problems = []storage.Problem{}
	}
	return res, nil
}

// nameHurt names the checkpoints that cannot be restored.
func (p *project) nameHurt(ctx context.Context, records []worktreeRecord, res *CheckResult) {
	owners, projects := map[string]string{}, map[string]bool{}
	for _, rec := range records {
		owners[rec.ID], projects[rec.Project] = rec.Name, true
	}
	seen := map[storage.PairID]bool{}
	for _, problem := range res.Problems {
		for _, id := range problem.Pairs {
			for project := range projects {
				if pair, err := p.store.Pair(ctx, project, id); err == nil && !seen[id] {
					seen[id] = true
					res.Checkpoints = append(res.Checkpoints, owners[pair.Worktree]+":"+pair.Name)
				}
			}
		}
	}
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
	// SetAsideBytes are those of Bytes that are databases which could not be
	// saved, and were set aside for undo.
	SetAsideBytes int64 `json:"set_aside_bytes,omitempty"`
}

// DiskUsage tells what the store takes. With refs only those checkpoints are listed.
func (w *Worktree) DiskUsage(ctx context.Context, refs []string) (*DiskUsage, error) {
	du, err := w.usageOfStore(ctx)
	if err != nil {
		return nil, err
	}
	if len(refs) == 0 {
		du.Checkpoints, err = w.List(ctx, ListOptions{All: true, Project: true})
		return du, err
	}
	var pairs []*storage.Pair
	for _, ref := range refs {
		p, err := w.resolve(ctx, ref)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	du.Checkpoints, err = w.rows(ctx, pairs)
	return du, err
}

// StoreUsage is [Worktree.DiskUsage] for a directory that is in no worktree
// that was set up: of the store of its repository, else of the host's. It lists
// no checkpoints.
func StoreUsage(ctx context.Context, host Host, dir string) (*DiskUsage, error) {
	p, err := seeds(ctx, host, dir, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.store.Close() }()
	return p.usageOfStore(ctx)
}

// usageOfStore tells all but the checkpoints.
func (p *project) usageOfStore(ctx context.Context) (*DiskUsage, error) {
	du := &DiskUsage{Checkpoints: []Checkpoint{}, Store: p.store.Dir(), Stored: p.store.Totals(), Branches: []BranchUsage{},
		StoreLimit: p.machine.Limits.StoreSize, FreeLimit: p.machine.Limits.FreeSpace}
	records, err := p.records("")
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if err := ctx.Err(); err != nil {
			return nil, canceled(ctx)
		}
		b := p.branchAt(r.Branch, p.recordDir(r.ID))
		if n := p.occupied(b.Dir, "."); n > 0 {
			du.Branches = append(du.Branches, BranchUsage{r.Name, n, p.occupied(b.Dir, keptDir)})
		}
	}
	space, err := p.fs.Space(p.store.Dir())
	if err != nil {
		return nil, fault.Wrap("look at free space", p.store.Dir(), err)
	}
	du.FreeBytes = space.FreeBytes
	return du, nil
}
