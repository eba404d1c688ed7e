package storage

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/internal/index"
	"forklift/storage/progress"
)

// Run does what the plan says, and nothing else: it writes what is needed of
// packs that go again, then locks everybody out, looks that nothing that was
// published since needs what goes, switches the indexes and removes the packs.
//
// It fails with kind Busy if the plan no longer fits, and then nothing that
// has a name was removed. After a crash every pair that was not to go is
// whole; the next prune removes the rest. A pair of the plan is gone whole or
// there whole. After nil all that goes is gone; room that a power cut gives
// back is freed by the next prune.
func (p *Pruner) Run(ctx context.Context) error {
	const op = "prune"
	if err := p.repack(ctx); err != nil {
		return failed(op, p.s.dir, err)
	}
	progress.Report(ctx, progress.Event{Phase: "wait for running operations"})
	release, err := p.s.LockExclusive(ctx, p.opt.Wait)
	if err != nil {
		return err
	}
	defer release()
	before := p.s.stored().Bytes
	doomed := map[ID]bool{}
	for _, pp := range slices.Concat(p.Report.Plan.Remove, p.Report.Plan.Repack) {
		// Packs are named by their content: what was written again can be what
		// a killed prune has written before, and then it stays.
		if !slices.Contains(p.written, pp.ID) {
			doomed[pp.ID] = true
		}
	}
	if err := p.stillFits(ctx, doomed); err != nil {
		return failed(op, p.s.dir, err)
	}
	if err := ctx.Err(); err != nil {
		return failed(op, p.s.dir, err)
	}
	if err := p.remove(doomed); err != nil {
		return failed(op, p.s.dir, err)
	}
	p.s.removeAbandoned()
	p.Report.Done = true
	p.Report.FreedBytes = max(0, before-p.s.stored().Bytes)
	return nil
}

// repack writes the needed blobs of packs that go into new packs, and
// publishes those. Until the indexes are switched they are there twice, which hurts
// nobody.
func (p *Pruner) repack(ctx context.Context) error {
	plan := p.Report.Plan.Repack
	if len(plan) == 0 {
		return nil
	}
	w, err := p.s.NewWriter(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	report := newReporter(ctx)
	report.event = progress.Event{Phase: "write again what is needed"}
	for _, pp := range plan {
		report.event.TotalBytes += pp.Used
	}
	for _, pp := range plan {
		if err := p.copyMarked(ctx, w, pp.ID); err != nil {
			return err
		}
		report.add(pp.Used, 0)
	}
	report.done()
	err = w.Commit(ctx)
	p.written = w.named
	return err
}

// copyMarked stores the marked blobs of a pack again, verified.
func (p *Pruner) copyMarked(ctx context.Context, w *Writer, id ID) error {
	content := w.packer()
	defer w.giveBack(content)
	frames := p.marks.packs[id].frames
	for i := range frames {
		f := &frames[i]
		if f.usedBlobs() == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		blobs, err := w.s.blobs.frameBlobs(id, f)
		if err != nil {
			return err
		}
		for _, b := range blobs {
			p.copied = append(p.copied, b.id)
			if f.node {
				w.metaMu.Lock()
				err = w.meta.put(b.id, b.data)
				w.metaMu.Unlock()
			} else {
				err = content.put(b.id, b.data)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// stillFits looks, while nobody else can change anything, whether what was
// published since the plan was made needs what it removes. It takes out of
// the plan what is gone already.
func (p *Pruner) stillFits(ctx context.Context, doomed map[ID]bool) error {
	if err := p.s.blobs.hide(doomed); err != nil {
		return err
	}
	for _, id := range p.copied {
		// All of them were written and read back; this is to be sure.
		if _, err := p.s.blobs.find(id); err != nil {
			return err
		}
	}
	roots, err := p.opt.Roots(ctx)
	if err != nil {
		return err
	}
	if err := p.refuseForget(ctx, roots); err != nil {
		return err
	}
	needed, unnamed, err := p.s.neededPairs(ctx, roots, p.opt.Forget)
	if err != nil {
		return err
	}
	changed := &fault.Error{Kind: fault.Busy, Err: errors.New("what was saved meanwhile needs what would be removed"),
		Hint: "Nothing was removed. Run it again."}
	for _, ref := range p.Report.Plan.Pairs {
		if !slices.Contains(unnamed, ref) && slices.ContainsFunc(needed, func(q *Pair) bool { return q.ID == ref.ID }) {
			return changed
		}
	}
	switch err := p.mark(needed, roots); {
	case err != nil && fault.KindOf(err) == fault.Corrupt:
		changed.Err = errors.Join(changed.Err, err)
		return changed
	case err != nil:
		return err
	}
	// No writer is at work now: what no index names is nobody's.
	marks, err := p.s.newMarks(ctx)
	if err != nil {
		return err
	}
	stray, err := p.s.strays(marks.packs)
	p.Report.Plan.Stray = slices.DeleteFunc(p.Report.Plan.Stray, func(name string) bool { return !slices.Contains(stray, name) })
	return err
}

// remove is the switch and the removal. The order is what makes it safe:
// nobody trusts what he remembers, no pair rests on what goes, no index names it, then it goes.
func (p *Pruner) remove(doomed map[ID]bool) error {
	plan := p.Report.Plan
	if len(doomed)+len(plan.Forget)+len(plan.Pairs)+len(plan.Stray) == 0 {
		return nil
	}
	if len(doomed) > 0 {
		if err := p.s.renew(); err != nil {
			return err
		}
	}
	if err := p.s.forget(plan.Forget); err != nil {
		return err
	}
	for _, ref := range plan.Pairs {
		if err := p.s.removePair(ref); err != nil {
			return err
		}
	}
	if err := p.s.dropFromIndexes(doomed); err != nil {
		return err
	}
	for id := range doomed {
		if err := ignoreNotExist(p.s.fs.Remove(packName(p.s.dir, id))); err != nil {
			return err
		}
	}
	for _, name := range plan.Stray {
		if err := ignoreNotExist(p.s.fs.Remove(p.s.path(name))); err != nil {
			return err
		}
	}
	return nil
}

// dropFromIndexes makes the indexes forget packs: durable when it returns
// nil. The lock is held exclusively.
func (s *Store) dropFromIndexes(doomed map[ID]bool) error {
	if err := s.blobs.hide(nil); err != nil {
		return err
	}
	work, err := s.newWorkDir()
	if err != nil {
		return err
	}
	defer work.remove()
	b := &s.blobs
	var old []*index.File
	made := map[string]bool{}
	for _, x := range b.files {
		drops, keeps := 0, 0
		for _, p := range x.Packs() {
			if doomed[p.ID] {
				drops++
			} else {
				keeps++
			}
		}
		if drops == 0 {
			made[x.Name()] = true
			continue
		}
		old = append(old, x)
		if keeps == 0 {
			continue
		}
		name, err := s.buildIndex(work, nil, []*index.File{x}, doomed)
		if err != nil {
			return err
		}
		made[name] = true
	}
	for _, x := range old {
		if !made[x.Name()] {
			if err := ignoreNotExist(s.fs.Remove(x.Name())); err != nil {
				return err
			}
		}
	}
	// Behind this no removed index comes back, not even one that a capture
	// removed without a flush.
	if err := durable.SyncDir(s.fs, s.path(indexDir)); err != nil {
		return err
	}
	return b.load()
}

// removePair removes a pair and what has changed about it; absent is not an error.
func (s *Store) removePair(ref PairRef) error {
	name, err := s.pairName(ref.Project, ref.ID)
	if err != nil {
		return err
	}
	err = durable.Remove(s.fs, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return failed("delete pair", name, err)
	}
	return s.removeMeta(ref)
}
