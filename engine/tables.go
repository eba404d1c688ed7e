package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sort"

	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
)

// maxLineage bounds how far a pair's parents are followed.
const maxLineage = 10_000

// errNoCheckpoint is why there is nothing to compare with.
var errNoCheckpoint = errors.New("this worktree rests on no checkpoint yet")

// dataSide is one side of a comparison of databases.
type dataSide struct {
	pair     *storage.Pair // that it is, or comes from
	state    storage.DatabaseState
	counters json.RawMessage     // nil: not known
	tables   json.RawMessage     // what files are called; nil: not known
	trees    []storage.TreeState // nil: not known without reading
	dirty    bool                // the working state, which goes on from pair
}

// tables compares the database halves.
func (d *differ) tables(ctx context.Context) error {
	old, now := dataSide{pair: d.old}, dataSide{pair: d.now}
	if d.now == nil {
		var err error
		if now, err = d.w.workingData(ctx, d.res); err != nil {
			return err
		}
	}
	for _, s := range []*dataSide{&old, &now} {
		if len(s.pair.Databases) == 1 {
			s.state = s.pair.Databases[0]
			if isKept(s.pair) {
				d.res.Problems = append(d.res.Problems, "the database of "+s.pair.Name+" could not be saved and was set aside as it was, so tables are not compared")
				return nil
			}
			if !s.dirty {
				s.tables, s.counters, s.trees = s.state.Tables, s.state.Counters, s.state.Trees
			}
		}
	}
	if old.state.Kind != d.w.rec.Kind || now.state.Kind != d.w.rec.Kind {
		d.res.Problems = append(d.res.Problems, "one side holds no database, so tables are not compared")
		return nil
	}
	rows, known, err := d.w.rowsBetween(ctx, old, now)
	if err != nil {
		return err
	}
	files, catalogs, err := d.w.filesBetween(ctx, old, now)
	if err != nil {
		return err
	}
	d.res.RowsKnown, d.res.Catalogs = known, catalogs
	d.res.Tables = mergeTables(rows, known, files)
	if d.res.Definitions, d.res.DefinitionsKnown, err = d.w.definitionsBetween(ctx, old, now); err != nil {
		return err
	}
	d.blind = !known && now.dirty && now.trees == nil && len(d.res.Tables)+len(d.res.Problems) == 0
	return nil
}

// workingData is the database as it is now: the pair it goes on from, and
// what its server tells, or told when it was stopped.
func (w *Worktree) workingData(ctx context.Context, res *DiffResult) (dataSide, error) {
	sel, pair, err := w.currentPair(ctx)
	if err != nil {
		return dataSide{}, err
	}
	s := dataSide{pair: pair, dirty: true}
	st, err := w.db.State(ctx, sel.Slot)
	if err != nil {
		return s, err
	}
	switch st.State {
	case Running:
		seen, err := w.db.Observe(ctx)
		if err != nil {
			res.Problems = append(res.Problems, problem(err))
		}
		s.counters, s.tables = seen.Counters, seen.Tables
	case AtRest:
		if seen, ok := w.lastObservation(sel.Slot); ok {
			s.counters, s.tables = seen.Counters, seen.Tables
		}
		rec, err := w.proven(sel.Slot)
		if err != nil {
			return s, err
		}
		if rec != nil {
			s.trees = rec.Trees
		}
	default:
		res.Problems = append(res.Problems, "the server is "+st.State.String()+", so what changed since "+pair.Name+" is not known")
	}
	return s, nil
}

// rowsBetween compares counters. They only mean something along one history:
// when one side's pair comes from the other's, and they were not reset.
func (w *Worktree) rowsBetween(ctx context.Context, old, now dataSide) ([]TableChange, bool, error) {
	if len(old.counters) == 0 || len(now.counters) == 0 {
		return nil, false, nil
	}
	forward, back, err := w.oneHistory(ctx, old, now, func() bool {
		since, err := w.db.Changes(now.state.Counters, now.counters)
		return err == nil && len(since) == 0
	})
	if err != nil || !forward && !back {
		return nil, false, err
	}
	if forward {
		rows, err := w.db.Changes(old.counters, now.counters)
		return rows, err == nil, nil
	}
	rows, err := w.db.Changes(now.counters, old.counters)
	for i := range rows {
		rows[i].Inserted, rows[i].Deleted = rows[i].Deleted, rows[i].Inserted
	}
	return rows, err == nil, nil
}

// oneHistory reports whether the state of now went on from that of old, or
// else whether old went on from now: the working state counts as the pair that
// it goes on from only when unchanged says that it is equal to it.
func (w *Worktree) oneHistory(ctx context.Context, old, now dataSide, unchanged func() bool) (forward, back bool, err error) {
	if forward, err = w.descends(ctx, now.pair, old.pair.ID); err != nil || forward {
		return forward, false, err
	}
	if now.dirty && !unchanged() {
		return false, false, nil
	}
	back, err = w.descends(ctx, old.pair, now.pair.ID)
	return false, back, err
}

// definitionsBetween compares definitions. The catalog names objects by
// numbers, which mean the same along one history only: the same migration on
// two of them may give them others.
func (w *Worktree) definitionsBetween(ctx context.Context, old, now dataSide) ([]DefinitionChange, bool, error) {
	none := []DefinitionChange{}
	definer, ok := w.db.(Definer)
	if !ok || len(old.tables) == 0 || len(now.tables) == 0 {
		return none, false, nil
	}
	forward, back, err := w.oneHistory(ctx, old, now, func() bool {
		since, known, err := definer.Definitions(now.state.Tables, now.tables)
		return err == nil && known && len(since) == 0
	})
	if err != nil || !forward && !back {
		return none, false, err
	}
	all, known, err := definer.Definitions(old.tables, now.tables)
	list := none
	for _, c := range all {
		if c.Kind != "table" || c.Change == DefinitionChanged {
			list = append(list, c)
		}
	}
	return list, known, err
}

// descends reports whether a pair is the one with an id, or was made from it.
func (w *Worktree) descends(ctx context.Context, p *storage.Pair, id storage.PairID) (bool, error) {
	for range maxLineage {
		if p.ID == id {
			return true, nil
		}
		if len(p.Parents) == 0 || p.Parents[0] == "" {
			return false, nil
		}
		next, err := w.store.Pair(ctx, w.rec.Project, p.Parents[0])
		if fault.KindOf(err) == fault.NotFound {
			next, err = w.store.Pair(ctx, "", p.Parents[0]) // a seed
		}
		if fault.KindOf(err) == fault.NotFound {
			return false, nil // it was forgotten
		}
		if err != nil {
			return false, err
		}
		p = next
	}
	return false, nil
}

// filesBetween tells the tables whose files differ. A running server's files
// are not looked at: those of the pair it goes on from are, and what it calls
// its own.
func (w *Worktree) filesBetween(ctx context.Context, old, now dataSide) (tables []TableFile, catalogs bool, err error) {
	trees := now.trees
	if trees == nil {
		trees = now.state.Trees
	}
	var changed []ChangedFile
	for _, t := range trees {
		for _, o := range old.trees {
			if o.Name != t.Name {
				continue
			}
			for c, err := range worktree.Differences(w.store.Walk(ctx, o.Manifest), w.store.Walk(ctx, t.Manifest)) {
				if err != nil {
					return nil, false, err
				}
				if e := c.Old; e != nil && e.Type == storage.Regular || c.New != nil && c.New.Type == storage.Regular {
					changed = append(changed, ChangedFile{Tree: t.Name, Path: c.Path(), Old: c.Old != nil, New: c.New != nil})
				}
			}
		}
	}
	all, err := w.db.TableFiles(old.tables, now.state.Tables, changed)
	if err == nil && now.dirty && old.tables != nil && now.tables != nil {
		// What the server calls its files now says better what was made,
		// dropped or rewritten than the files of the pair it goes on from.
		var latest []TableFile
		latest, err = w.db.TableFiles(old.tables, now.tables, nil)
		all = append(slices.DeleteFunc(all, func(t TableFile) bool { return t.Change != TableTouched }), latest...)
	}
	for _, t := range all {
		if t.Table == "" {
			catalogs = true
			continue
		}
		tables = append(tables, t)
	}
	return tables, catalogs, err
}

// mergeTables makes one list of what is known. Where rows are known, files
// that merely differ say nothing: reading a page can change it.
func mergeTables(rows []TableChange, known bool, files []TableFile) []TableDiff {
	type key struct{ database, table string }
	at := map[key]*TableDiff{}
	for _, f := range files {
		if known && f.Change == TableTouched {
			continue
		}
		at[key{f.Database, f.Table}] = &TableDiff{Database: f.Database, Table: f.Table, Change: f.Change}
	}
	for _, r := range rows {
		k := key{r.Database, r.Table}
		if at[k] == nil {
			at[k] = &TableDiff{Database: r.Database, Table: r.Table, Change: "rows"}
		}
		at[k].RowsOK, at[k].Inserted, at[k].Updated, at[k].Deleted = true, r.Inserted, r.Updated, r.Deleted
	}
	list := []TableDiff{}
	for _, t := range at {
		list = append(list, *t)
	}
	sort.Slice(list, func(i, k int) bool {
		if list[i].Database != list[k].Database {
			return list[i].Database < list[k].Database
		}
		return list[i].Table < list[k].Table
	})
	return list
}
