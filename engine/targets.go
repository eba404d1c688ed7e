package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/agnivade/levenshtein"

	"forklift/storage"
	"forklift/storage/fault"
)

const (
	// nearDistance is how many letters a near match may differ in.
	nearDistance = 3
	// maxNear bounds the near matches of a hint.
	maxNear = 3
	// pairIDLength is the length of a PairID.
	pairIDLength = 26
)

// namedKinds are the namespaces that a bare name is looked up in, in order.
var namedKinds = [...]storage.PairKind{storage.Capture, storage.Safety, storage.Rescue}

// resolve finds the pair that NAME, WORKTREE:NAME or a pair id means.
func (w *Worktree) resolve(ctx context.Context, ref string) (*storage.Pair, error) {
	owner, name, qualified := strings.Cut(ref, ":")
	id := w.rec.ID
	if qualified {
		rec, err := w.sibling(owner)
		if err != nil {
			return nil, err
		}
		id = rec.ID
	} else {
		name = ref
	}
	for _, kind := range namedKinds {
		pair, err := w.store.Name(ctx, w.rec.Project, id, kind, name)
		if err == nil {
			return w.store.Pair(ctx, w.rec.Project, pair)
		}
		if k := fault.KindOf(err); k != fault.NotFound && k != fault.Usage {
			return nil, err
		}
	}
	if !qualified && len(ref) == pairIDLength {
		if p, err := w.store.Pair(ctx, w.rec.Project, storage.PairID(ref)); err == nil {
			return p, nil
		}
	}
	known, err := w.knownNames(ctx, id)
	if err != nil {
		return nil, err
	}
	err = unknown("checkpoint", name, known)
	if e, ok := errors.AsType[*fault.Error](err); ok && !qualified {
		elsewhere, err := w.elsewhere(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(elsewhere) > 0 {
			e.Hint = "Did you mean " + strings.Join(elsewhere, " or ") + "?"
		}
	}
	return nil, err
}

// refOf is what resolve finds a pair by: its name, for another worktree's
// WORKTREE:NAME.
func (w *Worktree) refOf(p *storage.Pair) string {
	if p.Worktree == w.rec.ID || p.Worktree == "" {
		return p.Name
	}
	rec, err := w.readRecord(p.Worktree)
	if err != nil {
		return p.Name // its record is gone: only the id finds it
	}
	return rec.Name + ":" + p.Name
}

// elsewhere gives the checkpoints of exactly this name that other worktrees
// of the project have, as WORKTREE:NAME.
func (w *Worktree) elsewhere(ctx context.Context, name string) ([]string, error) {
	records, err := w.records(w.rec.Project)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, r := range records {
		known, err := w.knownNames(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if r.ID != w.rec.ID && slices.Contains(known, name) && len(found) < maxNear {
			found = append(found, r.Name+":"+name)
		}
	}
	return found, nil
}

func (w *Worktree) knownNames(ctx context.Context, worktreeID string) ([]string, error) {
	names, err := w.store.Names(ctx, w.rec.Project, worktreeID)
	var known []string
	for _, n := range names {
		if n.Kind == storage.Capture {
			known = append(known, n.Name)
		}
	}
	return known, err
}

// sibling finds a worktree of the project by name.
func (w *Worktree) sibling(name string) (worktreeRecord, error) {
	records, err := w.records(w.rec.Project)
	if err != nil {
		return worktreeRecord{}, err
	}
	var known []string
	for _, r := range records {
		if r.Name == name {
			return r, nil
		}
		known = append(known, r.Name)
	}
	return worktreeRecord{}, unknown("worktree", name, known)
}

// unknown is the error for a name that is not there, with near matches.
func unknown(what, name string, known []string) error {
	e := &fault.Error{Path: name, Kind: fault.NotFound, Err: fmt.Errorf("no %s is named %q", what, name)}
	near := nearest(name, known)
	switch {
	case len(near) > 0:
		e.Hint = "Did you mean " + strings.Join(near, " or ") + "?"
	case what == "checkpoint":
		e.Hint = "`forklift list` shows the checkpoints."
	case what == "seed":
		e.Hint = "`forklift seed list` shows the seeds."
	default:
		e.Hint = "`forklift list --project` shows what there is."
	}
	return e
}

// nearest gives the known names that look like name, the nearest first.
func nearest(name string, known []string) []string {
	type match struct {
		name     string
		distance int
	}
	var found []match
	for _, k := range known {
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(k))
		if d <= nearDistance && d < len(name) || len(name) > 2 && strings.HasPrefix(k, name) {
			found = append(found, match{k, d})
		}
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].distance != found[j].distance {
			return found[i].distance < found[j].distance
		}
		return found[i].name < found[j].name
	})
	var names []string
	for _, m := range found[:min(len(found), maxNear)] {
		names = append(names, m.name)
	}
	return names
}

// checkTarget says why a pair cannot be restored here, before anything is
// touched, or gives its database.
func (w *Worktree) checkTarget(ctx context.Context, p *storage.Pair) (storage.DatabaseState, error) {
	if p.Source.Manifest.IsZero() {
		return storage.DatabaseState{}, fmt.Errorf("checkpoint %s holds no source files", p.Name)
	}
	if len(p.Databases) == 0 {
		return storage.DatabaseState{}, nil // files only
	}
	return w.checkDatabase(ctx, p)
}

// checkDatabase gives the one database of a pair, when it is of the
// worktree's kind and can be started here.
func (w *Worktree) checkDatabase(ctx context.Context, p *storage.Pair) (storage.DatabaseState, error) {
	e := &fault.Error{Op: "restore", Path: p.Name, Kind: fault.Unsupported}
	if len(p.Databases) != 1 {
		e.Err = fmt.Errorf("it holds %d databases, this worktree has one", len(p.Databases))
		return storage.DatabaseState{}, e
	}
	db := p.Databases[0]
	switch {
	case db.Kind != w.rec.Kind:
		e.Err = fmt.Errorf("its database is of kind %q, this worktree's is %q", db.Kind, w.rec.Kind)
	case isKept(p):
		return db, w.checkKept(p)
	case db.State != storage.StateClean:
		e.Err, e.Hint = fmt.Errorf("its database is in state %q", db.State), "Install the Forklift that wrote it."
	default:
		return db, w.db.CheckFacts(ctx, db.Facts)
	}
	return storage.DatabaseState{}, e
}
