package engine

import (
	"context"
	"errors"
	"fmt"

	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
)

// Part is what of a checkpoint a restore puts back.
type Part string

// The parts. A part is asked for, never fallen back to; only a checkpoint that
// holds nothing but files is restored as what it is.
const (
	PartAll   Part = ""      // both halves
	PartCode  Part = "code"  // the source files; the database is not touched, its server goes on
	PartData  Part = "data"  // the database; no source file is touched
	PartPaths Part = "paths" // some source files; the rest of PartCode holds
)

// leavesData reports a part that does not touch the database.
func (p Part) leavesData() bool { return p == PartCode || p == PartPaths }

// leavesCode reports a part that does not touch the source files.
func (p Part) leavesCode() bool { return p == PartData }

// sources gives the source halves that a restore's install goes from and to.
// One that leaves the files alone stays where it is.
func (j *journal) sources(safety, target *storage.Pair) (saved, wanted storage.SourceState) {
	if j.Part.leavesCode() {
		return safety.Source, safety.Source
	}
	return safety.Source, target.Source
}

// only are the paths that a restore is limited to, nil for all.
func (j *journal) only() []string {
	if j.Part != PartPaths {
		return nil
	}
	return unquoted(j.Paths)
}

// quoted writes paths for a record.
func quoted(paths []string) []string {
	var list []string
	for _, p := range paths {
		list = append(list, worktree.QuotePath(p))
	}
	return list
}

// unquoted reads them. They were written by quoted, so they can be read; one
// that cannot matches nothing.
func unquoted(list []string) []string {
	var paths []string
	for _, q := range list {
		if p, err := worktree.UnquotePath(q); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// next is the selection that the restore switches to. Each half rests on the
// checkpoint that it was taken from. Single paths leave both halves where they
// were: they show up as changes.
func (r *restoring) next() selection {
	s := r.j.Before
	s.Slot, s.Operation, s.At = r.j.ToSlot, r.j.Operation, r.w.host.Clock.Now()
	target := pairRef{r.j.TargetProject, r.j.Target, r.j.TargetKind}
	switch r.j.Part {
	case PartPaths:
	case PartCode:
		s = s.rest(target, s.data())
	case PartData:
		s = s.rest(s.source(), target)
	default:
		s = s.rest(target, target)
	}
	return s
}

// partOf is what of the target can be put back: of one that holds nothing but
// files the files, and of a rescue checkpoint those that it rescued.
func partOf(target *storage.Pair, opt RestoreOptions) (RestoreOptions, []string) {
	if len(target.Databases) > 0 || opt.Part != PartAll {
		return opt, nil
	}
	opt.Part = PartCode
	if target.Kind == storage.Rescue {
		opt.Part, opt.Paths = PartPaths, unquoted(target.Source.Paths)
	}
	return opt, []string{"this checkpoint holds files only: the database stays as it is"}
}

// checkPart says why a part of a pair cannot be restored here, before
// anything is touched, or gives its database where that is part of it.
func (w *Worktree) checkPart(ctx context.Context, p *storage.Pair, part Part) (storage.DatabaseState, error) {
	switch {
	case part.leavesCode() && len(p.Databases) == 0:
		return storage.DatabaseState{}, &fault.Error{Op: "restore", Path: p.Name, Kind: fault.Unsupported,
			Err: errors.New("this checkpoint holds no database"), Hint: "Its files can be restored with --code-only."}
	case part.leavesCode():
		return w.checkDatabase(ctx, p)
	case part.leavesData() && !p.Source.Manifest.IsZero():
		return storage.DatabaseState{}, nil
	}
	return w.checkTarget(ctx, p)
}

// checkPaths refuses paths that the target does not hold, and a part that
// there is not.
func (w *Worktree) checkPaths(ctx context.Context, target *storage.Pair, opt RestoreOptions) error {
	switch opt.Part {
	case PartAll, PartCode, PartData, PartPaths:
	default:
		return fmt.Errorf("restore: no part is called %q", opt.Part)
	}
	for _, p := range opt.Paths {
		e, found, err := w.lookup(ctx, target, p)
		switch {
		case err != nil:
			return err
		case !found:
			return w.unknownPath(ctx, target, p)
		case e.Type == storage.Omitted:
			return leftOut("restore", target, e)
		}
	}
	return nil
}

// leftOut is the error for a path that a checkpoint left out.
func leftOut(op string, pair *storage.Pair, e storage.Entry) error {
	return &fault.Error{Op: op, Path: worktree.QuotePath(e.Path), Kind: fault.NotFound,
		Err:  fmt.Errorf("it was there when %s was captured, and was left out (%s)", pair.Name, e.Reason),
		Hint: "`source`, `ignore` and `gitignored` in .forklift.json say what is captured."}
}

// covered lists what the safety pair must save beside the selection.
func (r *restoring) covered(ctx context.Context, present storage.ID) ([]string, error) {
	if r.j.Part.leavesCode() {
		return nil, nil
	}
	list, err := worktree.Covered(ctx, r.w.store, present, r.target.Source)
	if only := r.j.only(); err == nil && only != nil {
		list = worktree.RestrictCovered(list, only)
	}
	return list, err
}
