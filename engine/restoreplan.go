package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"forklift/engine/plan"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// MaxPlanFiles bounds the list of files in a plan; the counts have the whole
// number.
const MaxPlanFiles = 1000

// RestorePlan is what a restore would do now.
type RestorePlan struct {
	PlanID  string         `json:"plan_id"` // the same as long as the restore would do the same
	ID      storage.PairID `json:"id"`
	Name    string         `json:"name"`
	Part    Part           `json:"part,omitempty"`
	Paths   []string       `json:"paths,omitempty"`
	Files   []FileChange   `json:"files"`   // at most MaxPlanFiles: added and modified are written, removed and mode say themselves
	Written int            `json:"written"` // files, links and directories
	Removed int            `json:"removed"`
	Modes   int            `json:"modes"` // paths of which only the mode changes
	Kept    int            `json:"kept"`  // files that are right already
	Bytes   int64          `json:"bytes"` // of source files that would be written

	// Unselected is where source files would be changed that .forklift.json does
	// not select now: sources of the checkpoint. Empty for single paths.
	Unselected []string `json:"unselected,omitempty"`

	Database *DatabasePlan `json:"database,omitempty"` // absent where the database is not touched
	Safety   string        `json:"safety"`             // how the checkpoint begins that would be made first
	// InTheWay is what would keep the restore from being done now.
	InTheWay []string `json:"in_the_way,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// DatabasePlan is what a restore would do to the database.
type DatabasePlan struct {
	Bytes            int64              `json:"bytes"` // of the checkpoint's database
	Stops            bool               `json:"stops"` // the server runs, and would be away for a moment
	Tables           []TableDiff        `json:"tables"`
	RowsKnown        bool               `json:"rows_known"`
	DefinitionsKnown bool               `json:"definitions_known"`
	Definitions      []DefinitionChange `json:"definitions"`
	Catalogs         bool               `json:"catalogs"`
	Problems         []string           `json:"problems,omitempty"`
}

// PlanRestore tells what Restore would do with the same options. It changes
// nothing, and takes no lock for long.
func (w *Worktree) PlanRestore(ctx context.Context, opt RestoreOptions) (*RestorePlan, error) {
	target, err := w.resolve(ctx, opt.Ref)
	if err == nil {
		err = w.checkPaths(ctx, target, opt)
	}
	if err != nil {
		return nil, err
	}
	opt, warnings := partOf(target, opt)
	if _, err := w.checkPart(ctx, target, opt.Part); err != nil {
		return nil, err
	}
	p, err := w.describe(ctx, target, opt)
	if err != nil {
		return nil, err
	}
	p.Warnings = warnings
	return p, w.inTheWay(ctx, p)
}

// samePlan refuses a restore that would do something else than was planned.
func (r *restoring) samePlan(ctx context.Context) error {
	if r.opt.Plan == "" {
		return nil
	}
	p, err := r.w.describe(ctx, r.target, r.opt)
	if err != nil {
		return err
	}
	return plan.Check(r.j.Verb, r.opt.Plan, p.PlanID)
}

// describe finds out what a restore would do. The id is of what it would
// write, remove and replace, the present content included.
func (w *Worktree) describe(ctx context.Context, target *storage.Pair, opt RestoreOptions) (*RestorePlan, error) {
	p := &RestorePlan{ID: target.ID, Name: target.Name, Part: opt.Part, Paths: quoted(opt.Paths), Files: []FileChange{}, Safety: "before-restore-"}
	var steps []worktree.PreviewStep
	if !opt.Part.leavesCode() {
		var err error
		if steps, err = w.describeFiles(ctx, p, target); err != nil {
			return nil, err
		}
	}
	if !opt.Part.leavesData() {
		if err := w.describeData(ctx, p, target); err != nil {
			return nil, err
		}
	}
	actions := struct {
		ID          storage.PairID
		Part        Part
		Paths       []string
		Steps       []worktree.PreviewStep
		Tables      []TableDiff
		Definitions []DefinitionChange
		Data        bool
	}{ID: p.ID, Part: p.Part, Paths: p.Paths, Steps: steps}
	if p.Database != nil {
		actions.Tables, actions.Definitions, actions.Data = p.Database.Tables, p.Database.Definitions, p.Database.Catalogs
	}
	p.PlanID = plan.ID(actions)
	return p, nil
}

func (w *Worktree) describeFiles(ctx context.Context, p *RestorePlan, target *storage.Pair) ([]worktree.PreviewStep, error) {
	present, err := w.present(ctx, target.Source)
	if err != nil {
		return nil, err
	}
	cfg, err := w.Config(ctx)
	if err != nil {
		return nil, err
	}
	sel := cfg.Selection()
	saved := storage.SourceState{Paths: sel.Source, Ignore: sel.Ignore, Gitignored: sel.Gitignored}
	j := journal{Part: p.Part, Paths: p.Paths}
	steps, kept, err := worktree.Preview(ctx, w.stageOptions("plan", j.only(), saved, target.Source), present)
	if e, ok := inTheWayOf(err); ok {
		p.InTheWay = append(p.InTheWay, e...)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p.Kept = kept
	if p.Part != PartPaths {
		p.Unselected = unselected(previewed(steps), target.Source.Paths, sel.Source)
	}
	for _, s := range steps {
		switch s.Change {
		case worktree.Removed:
			p.Removed++
		case worktree.ModeModified:
			p.Modes++
		default:
			p.Written++
			p.Bytes += s.Size
		}
		if len(p.Files) < MaxPlanFiles {
			p.Files = append(p.Files, FileChange{Path: s.Path, Change: s.Change})
		}
	}
	return steps, nil
}

// inTheWayOf takes the refusals of a stage: what is in the way, by name.
func inTheWayOf(err error) ([]string, bool) {
	items := fault.ItemsOf(err)
	return items, len(items) > 0
}

// backwards is what a change is when it is taken back.
func backwards(change string) string {
	switch change {
	case TableCreated:
		return TableDropped
	case TableDropped:
		return TableCreated
	}
	return change
}

func (w *Worktree) describeData(ctx context.Context, p *RestorePlan, target *storage.Pair) error {
	d := &differ{w: w, old: target, res: &DiffResult{Tables: []TableDiff{}, Definitions: []DefinitionChange{}}}
	if err := d.tables(ctx); err != nil {
		return err
	}
	db := &DatabasePlan{Bytes: target.LogicalBytes - target.Source.Bytes, Tables: d.res.Tables, RowsKnown: d.res.RowsKnown,
		DefinitionsKnown: d.res.DefinitionsKnown, Definitions: d.res.Definitions, Catalogs: d.res.Catalogs, Problems: d.res.Problems}
	// The restore goes the other way: from the present state to the target.
	for i := range db.Tables {
		t := &db.Tables[i]
		t.Inserted, t.Deleted = t.Deleted, t.Inserted
		t.Change = backwards(t.Change)
	}
	for i := range db.Definitions {
		db.Definitions[i].Change = backwards(db.Definitions[i].Change)
	}
	slot, err := w.selectedSlot()
	if err != nil {
		return err
	}
	st, err := w.db.State(ctx, slot)
	db.Stops = st.State == Running
	p.Database = db
	return err
}

// inTheWay tells who would have to be waited for.
func (w *Worktree) inTheWay(ctx context.Context, p *RestorePlan) error {
	lock, err := w.fs.Lock(w.file(operationLock), false)
	switch {
	case err == nil:
		if err := lock.Unlock(); err != nil {
			return err
		}
	case errors.Is(err, vfs.ErrLocked):
		p.InTheWay = append(p.InTheWay, strings.Join(append(fault.ItemsOf(w.busyOperation("restore")), "another operation is under way"), ": "))
	default:
		return err
	}
	if err := w.refuseLeft("restore"); err != nil {
		p.InTheWay = append(p.InTheWay, problem(err))
	}
	holders, err := w.holders()
	if err != nil {
		return err
	}
	for _, h := range w.strangers(holders) {
		i := h.info()
		p.InTheWay = append(p.InTheWay, fmt.Sprintf("managed command, pid %d: %s", i.PID, strings.Join(i.Argv, " ")))
	}
	if p.Database == nil {
		return nil
	}
	slot, err := w.selectedSlot()
	if err != nil {
		return err
	}
	st, err := w.db.State(ctx, slot)
	switch {
	case err != nil:
		return err
	case st.State == Foreign:
		p.InTheWay = append(p.InTheWay, problem(w.foreign("restore", slot)))
	case st.State == Running:
		_, busy, err := w.clients(ctx, "restore", false)
		if err != nil {
			p.InTheWay = append(p.InTheWay, problem(err))
		} else if busy != nil {
			p.InTheWay = append(p.InTheWay, busy.Items...)
		}
	}
	return nil
}
