package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
)

// keptDir is where a branch has the slots that were set aside byte for byte,
// each named by the safety pair that it belongs to.
const keptDir = "kept"

func (w *Worktree) keptPath(id storage.PairID) string {
	return path.Join(w.branch.Dir, keptDir, string(id))
}

// isKept reports a pair whose database is no manifest but a slot that was set
// aside, because it could not be brought to rest.
func isKept(p *storage.Pair) bool {
	return len(p.Databases) == 1 && p.Databases[0].State == storage.StateKept
}

// checkKept says why the kept database of a pair cannot be brought back here.
func (w *Worktree) checkKept(p *storage.Pair) error {
	if p.Worktree != w.rec.ID {
		return keptElsewhere(p)
	}
	_, err := w.fs.Lstat(w.keptPath(p.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Op: "restore", Path: p.Name, Kind: fault.NotFound, Hint: keptHint,
			Err: errors.New("its database could not be saved, and what was set aside of it is not there any more")}
	}
	return err
}

const keptHint = "Its files can be restored with --code-only."

// keptElsewhere refuses a kept database in another worktree than its own.
func keptElsewhere(p *storage.Pair) error {
	return &fault.Error{Op: "restore", Path: p.Name, Kind: fault.Unsupported, Hint: keptHint,
		Err: errors.New("its database could not be saved and was set aside; only the worktree that it is of can bring it back")}
}

// restsOnKept reports that the database is one that was brought back as it was
// when it was set aside.
func (r *restoring) restsOnKept(ctx context.Context) bool {
	ref := r.j.Before.data()
	p, err := r.w.store.Pair(ctx, ref.Project, ref.Pair)
	return err == nil && isKept(p)
}

// bringKept makes a kept directory the idle slot, durably. Killed in between,
// exactly one of the two is it: as long as the kept one is there nothing has
// happened, else the slot is it. The caller holds the slot's lock.
func (w *Worktree) bringKept(id storage.PairID, slot Slot) error {
	kept := w.keptPath(id)
	if _, err := w.fs.Lstat(kept); err != nil {
		return fault.Wrap("bring back the database that was set aside", kept, err)
	}
	if err := w.soil(slot); err != nil {
		return err
	}
	if _, seen := w.lastObservation(slot); seen {
		if err := w.removeRecord(observedFile); err != nil {
			return err
		}
	}
	if err := durable.RemoveAll(w.fs, w.branch.SlotDir(slot)); err != nil {
		return err
	}
	return durable.Rename(w.fs, kept, w.branch.SlotDir(slot))
}

// putBackKept takes bringKept back for an operation that goes back, whether
// it had come so far or not.
func (op *operation) putBackKept(ctx context.Context) error {
	if !op.j.TargetKept {
		return nil
	}
	return op.w.keep(ctx, op.j.ToSlot, op.j.Target)
}

// keep sets a slot that is not selected aside for a pair, durably. What was
// kept for it before stays as it is; then, or without the slot, there is nothing
// to do.
func (w *Worktree) keep(ctx context.Context, slot Slot, id storage.PairID) error {
	unlock, err := w.lockSlot(ctx, slot)
	if err != nil {
		return err
	}
	defer unlock()
	for name, there := range map[string]bool{w.keptPath(id): true, w.branch.SlotDir(slot): false} {
		switch _, err := w.fs.Lstat(name); {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case (err == nil) == there:
			return nil
		}
	}
	if err := w.soil(slot); err != nil {
		return err
	}
	if err := durable.MkdirAll(w.fs, path.Dir(w.keptPath(id)), 0o700); err != nil {
		return err
	}
	return durable.Rename(w.fs, w.branch.SlotDir(slot), w.keptPath(id))
}

// keepDiscarded sets the slot that could not be saved aside, byte for byte. It
// was flushed before the switch.
func (r *restoring) keepDiscarded(ctx context.Context) error {
	if !isKept(r.safety) || r.j.Part.leavesData() {
		return nil
	}
	if _, err := r.w.fs.Lstat(r.w.branch.SlotDir(r.j.Before.Slot)); errors.Is(err, fs.ErrNotExist) {
		r.warnings = append(r.warnings, "the database as it was is not there any more: `forklift restore "+r.safety.Name+" --code-only` brings back the files alone")
		return nil
	}
	r.warnings = append(r.warnings, "the database as it was could not be saved and was set aside: undo brings it back as it was")
	return r.w.keep(ctx, r.j.Before.Slot, r.safety.ID)
}

// withdrawKept removes the safety pair of an operation that goes back if it
// says that the slot was set aside: it was not.
func (op *operation) withdrawKept(ctx context.Context) error {
	if !op.j.restores() || op.j.Reused || op.j.Pair == "" {
		return nil
	}
	p, err := op.w.store.Pair(ctx, op.w.rec.Project, op.j.Pair)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil || !isKept(p) {
		return err
	}
	if named, err := op.named(ctx); err != nil || !named {
		return err
	}
	return op.w.store.RemoveName(ctx, op.w.rec.Project, op.w.rec.ID, op.j.PairKind, op.j.PairName)
}

// sweepKept removes what was set aside for pairs that were forgotten since.
// Nothing is lost by what it cannot remove. The caller holds operation.lock, and
// no journal is present.
func (w *Worktree) sweepKept(ctx context.Context) error {
	dir := path.Join(w.branch.Dir, keptDir)
	entries, err := w.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := w.store.Pair(ctx, w.rec.Project, storage.PairID(e.Name)); fault.KindOf(err) != fault.NotFound {
			if err != nil {
				return fmt.Errorf("look for what was set aside: %w", err)
			}
			continue
		}
		if err := durable.RemoveAll(w.fs, path.Join(dir, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// countKeptOf counts what is set aside for a worktree's checkpoints. What is
// not there any more is no damage: brought back and left again it is set aside
// for another checkpoint.
func (p *project) countKeptOf(ctx context.Context, rec worktreeRecord) (found int) {
	entries, err := p.fs.ReadDir(path.Join(p.branchAt(rec.Branch, p.recordDir(rec.ID)).Dir, keptDir))
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if pair, err := p.store.Pair(ctx, rec.Project, storage.PairID(e.Name)); err == nil && isKept(pair) {
			found++
		}
	}
	return found
}
