package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"forklift/engine/config"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/progress"

	"golang.org/x/sync/errgroup"
)

// auditShare is the part of the patched pages that is read back after a
// patch; --verify reads all.
const auditShare = 0.01

// hotAge is how old the reading of a running database may be when its server
// is stopped: what clients wrote since then is read while it is away.
const hotAge = 300 * time.Millisecond

// Restore puts the source files and the database of a checkpoint back, both
// or neither, after saving the present state as a safety checkpoint. When it
// returns nil the result is durable and the server runs again if it did.
func (w *Worktree) Restore(ctx context.Context, opt RestoreOptions) (*RestoreResult, error) {
	target, err := w.resolve(ctx, opt.Ref)
	if err == nil {
		err = w.checkPaths(ctx, target, opt)
	}
	if err != nil {
		return nil, err
	}
	return w.move(ctx, verbRestore, target, opt, nil)
}

// Undo takes the last restore, undo or redo back, saving the present state first.
func (w *Worktree) Undo(ctx context.Context, opt WaitOptions) (*RestoreResult, error) {
	if err := w.refuseLeft(verbUndo); err != nil {
		return nil, err
	}
	last, err := w.lastMove()
	if err != nil {
		return nil, err
	}
	if last == nil {
		return nil, &fault.Error{Op: "undo", Path: w.rec.Path, Kind: fault.NotFound,
			Err: errors.New("this worktree has no restore to undo"), Hint: "`forklift log` shows what was done."}
	}
	return w.moveBack(ctx, verbUndo, last, opt)
}

// Redo takes the last undo back. It fails when something was restored since.
func (w *Worktree) Redo(ctx context.Context, opt WaitOptions) (*RestoreResult, error) {
	if err := w.refuseLeft(verbRedo); err != nil {
		return nil, err
	}
	last, err := w.lastMove()
	if err != nil {
		return nil, err
	}
	if last == nil || last.Verb != verbUndo {
		return nil, &fault.Error{Op: "redo", Path: w.rec.Path, Kind: fault.NotFound,
			Err: errors.New("the last operation was not an undo"), Hint: "`forklift log` shows what was done."}
	}
	return w.moveBack(ctx, verbRedo, last, opt)
}

func (w *Worktree) moveBack(ctx context.Context, verb string, last *logRow, opt WaitOptions) (*RestoreResult, error) {
	target, err := w.store.Pair(ctx, w.rec.Project, last.Before)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	// While this waits for its turn, another process may restore something
	// or be killed doing so: then this is not what the user meant any more.
	still := func() error {
		now, err := w.lastMove()
		if err == nil && (now == nil || now.Operation != last.Operation) {
			err = &fault.Error{Op: verb, Path: w.rec.Path, Kind: fault.Busy,
				Err: errors.New("something else was restored meanwhile"), Hint: "Look at `forklift log`, then try again."}
		}
		return err
	}
	return w.move(ctx, verb, target, RestoreOptions{WaitOptions: opt, Part: last.Part, Paths: unquoted(last.Paths)}, still)
}

// restoring is a restore under way.
type restoring struct {
	*operation
	target  *storage.Pair
	data    storage.DatabaseState // of the target
	safety  *storage.Pair
	cfg     *config.File
	opt     RestoreOptions
	install *worktree.Install
	readAt  time.Time // the end of the first pass over the present state
	result  RestoreResult
}

// move is restore, undo and redo: design section 7, steps 1 to 8. still, if
// any, is asked once under the locks, before anything is changed.
func (w *Worktree) move(ctx context.Context, verb string, target *storage.Pair, opt RestoreOptions, still func() error) (res *RestoreResult, err error) {
	cfg, err := w.Config(ctx)
	if err != nil {
		return nil, err
	}
	opt, warnings := partOf(target, opt)
	data, err := w.checkPart(ctx, target, opt.Part)
	if err != nil {
		return nil, err
	}
	op, err := w.beginPart(ctx, verb, cfg, opt.Part, opt.WaitOptions)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = op.close(ctx, err); err != nil {
			res = nil
		} else {
			res.Hooks = op.hooks.runs
		}
	}()
	if still != nil {
		if err := still(); err != nil {
			return nil, err
		}
	}
	if err := w.refuseUnsavedRestore(ctx, verb, target.Source, opt.WaitOptions); err != nil {
		return nil, err
	}
	r := &restoring{operation: op, target: target, data: data, cfg: cfg, opt: opt}
	r.warnings = append(r.warnings, warnings...)
	r.plan()
	if err := r.samePlan(ctx); err != nil {
		return nil, err
	}
	if err := w.checkSpace(verb, r.j.ToSlot, data); err != nil {
		return nil, err
	}
	if err := r.run(ctx); err != nil {
		return nil, r.abort(ctx, err)
	}
	return r.finished(), nil
}

// plan completes the journal: everything that recover must know.
func (r *restoring) plan() {
	j := r.j
	j.Target, j.TargetProject, j.TargetKind, j.TargetName = r.target.ID, r.target.Project, r.target.Kind, r.w.refOf(r.target)
	j.TargetKept = isKept(r.target) && !j.Part.leavesData()
	j.Paths = quoted(r.opt.Paths)
	j.ToSlot = j.Before.Slot.Other()
	if j.Part.leavesData() {
		j.ToSlot = j.Before.Slot
	}
	j.Pair, j.PairKind = storage.PairID(j.Operation), storage.Safety
	j.PairName = fmt.Sprintf("before-%s-%s", j.Verb, j.Started.Format("20060102-150405.000"))
}

func (r *restoring) run(ctx context.Context) error {
	if err := r.start(r.j.TargetName, ""); err != nil {
		return err
	}
	// From the journal on nothing forgets it; until then it may be gone.
	if _, err := r.w.store.Pair(ctx, r.j.TargetProject, r.j.Target); err != nil {
		return err
	}
	r.enter(ctx, phasePatch)
	saved, err := r.ahead(ctx)
	if err != nil {
		return err
	}
	r.enter(ctx, phaseSave)
	if saved, err = r.save(ctx, saved); err != nil {
		return err
	}
	r.enter(ctx, phaseStage)
	if r.install, err = r.w.stage(ctx, r.j, r.safety, r.target); err != nil {
		return err
	}
	r.enter(ctx, phaseFlush)
	if err := r.flush(ctx, saved); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	r.switched = true
	ctx, cancel := afterSwitch(ctx)
	defer cancel()
	r.enter(ctx, phaseSwitch)
	if err := r.w.writeSelection(r.next()); err != nil {
		return err
	}
	return r.forward(ctx)
}

// patch makes the idle slot the target's database, flushed, while the server
// still runs on the other one.
func (r *restoring) patch(ctx context.Context) error {
	if r.j.Part.leavesData() {
		return nil
	}
	unlock, err := r.w.lockSlot(ctx, r.j.ToSlot)
	if err != nil {
		return err
	}
	defer unlock()
	if r.j.TargetKept {
		return r.w.bringKept(r.target.ID, r.j.ToSlot)
	}
	verify := auditShare
	if r.opt.Verify {
		verify = 1
	}
	r.result.PatchedBytes, err = r.w.fillSlot(ctx, r.j.ToSlot, r.data.Trees, verify)
	return err
}

// ahead does side by side what the server may run meanwhile for: it patches
// the idle slot, and reads the present state, of which little is left to read
// when the server is stopped. The saver is nil where only files are saved.
func (r *restoring) ahead(ctx context.Context) (*saver, error) {
	var s *saver
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error { return r.patch(both) })
	g.Go(func() (err error) {
		// One bar on the screen: that of the patch, which takes longer.
		s, err = r.beginSave(progress.With(both, progress.Func(func(progress.Event) {})))
		return err
	})
	err := g.Wait()
	if err != nil && s != nil {
		s.close()
	}
	if err != nil && ctx.Err() != nil {
		err = canceled(ctx)
	}
	return s, err
}

// beginSave brings the cluster to a state that can be read, and reads it the
// first time. The saver is nil where only files are going to be saved.
func (r *restoring) beginSave(ctx context.Context) (*saver, error) {
	if r.j.Part.leavesData() {
		return nil, nil
	}
	if err := r.readable(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, canceled(ctx)
		}
		if fault.KindOf(err) == fault.Busy || !r.opt.DiscardCurrent && !r.restsOnKept(ctx) {
			return nil, err
		}
		return nil, nil
	}
	s, err := r.w.newSaver(ctx, r.cfg.Selection(), r.j.Before.Slot)
	if err != nil {
		return nil, err
	}
	err = r.firstPass(ctx, s)
	r.readAt = r.w.host.Clock.Now()
	return s, err
}

// readable brings the cluster to a state that can be read. Its error is why the
// present database cannot be saved. A running server has its files read by
// itself every moment; of one at rest, what says how to read it may be lost.
func (r *restoring) readable(ctx context.Context) error {
	slot := r.j.Before.Slot
	cannot := func(err error, mend string) error {
		return &fault.Error{Op: r.j.Verb, Path: r.w.branch.SlotDir(slot), Err: fmt.Errorf("the present database cannot be saved: %w", err),
			Hint: mend + ", or give --discard-current to restore without saving it."}
	}
	if err := r.recoverUnclean(ctx); err != nil {
		return cannot(err, "Mend it")
	}
	if r.running {
		return nil
	}
	_, err := r.w.db.Trees(ctx, slot, false)
	if err == nil {
		return nil
	}
	mend := "Mend it"
	if hint := fault.HintOf(err); hint != "" {
		mend = strings.TrimSuffix(hint, ".")
	}
	return cannot(err, mend)
}

// save captures the present state as the safety pair and leaves the server
// stopped. A pair that holds exactly this state already serves as well.
func (r *restoring) save(ctx context.Context, s *saver) (*saver, error) {
	if s == nil {
		return r.saveSourcesOnly(ctx)
	}
	defer s.close()
	if r.running && r.w.host.Clock.Now().Sub(r.readAt) > hotAge {
		if err := r.firstPass(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := r.lastPass(ctx, s); err != nil {
		return nil, err
	}
	return s, r.publishSafety(ctx, s)
}

// publishSafety widens the capture to every path that the restore will touch,
// and publishes it or finds the pair that serves already.
func (r *restoring) publishSafety(ctx context.Context, s *saver) error {
	if err := s.conclude(ctx, false); err != nil {
		return err
	}
	var err error
	if s.extra, err = r.covered(ctx, s.source.Manifest); err != nil {
		return err
	}
	if len(s.extra) > 0 {
		if err := r.saveMore(ctx, s); err != nil {
			return err
		}
	}
	if serves, err := r.serving(ctx, s); err != nil || serves != nil {
		if err == nil {
			r.safety, r.j.Pair, r.j.PairKind, r.j.PairName, r.j.Reused = serves, serves.ID, serves.Kind, serves.Name, true
			err = r.w.writeJournal(r.j)
		}
		return err
	}
	if err := s.conclude(ctx, false); err != nil {
		return err
	}
	r.safety, err = r.publish(ctx, s, "before "+r.j.Verb+" of "+r.j.TargetName, "")
	if err == nil {
		s.remember(true)
	}
	return err
}

// saveMore scans the sources again with the extra paths.
func (r *restoring) saveMore(ctx context.Context, s *saver) error {
	writer, err := r.w.store.NewWriter(ctx)
	if err != nil {
		return err
	}
	s.writer.Abort() // it was committed: this only releases it
	s.writer = writer
	return s.scanSource(ctx)
}

// serving is the pair that the worktree rests on, if it is exactly what was
// just captured; nil otherwise. A seed never serves.
func (r *restoring) serving(ctx context.Context, s *saver) (*storage.Pair, error) {
	at := r.j.Before.data()
	if r.j.Part.leavesData() {
		at = r.j.Before.source()
	}
	if at.Project == "" {
		return nil, nil
	}
	p, err := r.w.store.Pair(ctx, at.Project, at.Pair)
	if err != nil {
		if fault.KindOf(err) == fault.NotFound {
			return nil, nil
		}
		return nil, err
	}
	if p.Worktree != r.w.rec.ID || !p.Source.Same(s.sourceState()) {
		return nil, nil
	}
	if !r.j.Part.leavesData() && (len(p.Databases) != 1 || !sameTrees(p.Databases[0].Trees, s.trees())) {
		return nil, nil
	}
	return p, nil
}

// saveSourcesOnly saves the files: all that a restore needs which leaves the
// database alone, and all that --discard-current can save; then the database,
// which cannot be brought to rest, is set aside byte for byte.
func (r *restoring) saveSourcesOnly(ctx context.Context) (*saver, error) {
	s, err := r.w.newSaver(ctx, r.cfg.Selection(), r.j.Before.Slot)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.keeps = !r.j.Part.leavesData()
	if err := s.scanSource(ctx); err != nil {
		return nil, err
	}
	return nil, r.publishSafety(ctx, s)
}

// flush makes the slot that was left durable, and records what it holds. What
// was patched, saved and staged is durable already: after it everything that
// the switch needs is on disk.
func (r *restoring) flush(ctx context.Context, saved *saver) error {
	from := r.j.Before.Slot
	if saved == nil && !isKept(r.safety) {
		return nil
	}
	unlock, err := r.w.lockSlot(ctx, from)
	if err != nil {
		return err
	}
	defer unlock()
	err = durable.SyncTree(r.w.fs, r.w.branch.SlotDir(from))
	if saved == nil && errors.Is(err, fs.ErrNotExist) {
		return nil // there is nothing of it at all
	}
	if err != nil || saved == nil {
		return err
	}
	rec, err := saved.slotRecord()
	if err != nil {
		return err
	}
	return r.w.writeSlot(from, rec)
}

// forward is everything behind the switch: install, verify, publish what was
// rescued, clear the journal, clean up, start the server.
func (r *restoring) forward(ctx context.Context) error {
	r.enter(ctx, phaseInstall)
	rescue, err := r.w.finishInstall(ctx, r.operation, r.install)
	if err != nil {
		return err
	}
	if rescue != nil {
		r.result.RescueName, r.result.Rescued = rescue.Name, rescue.paths
	}
	if !r.j.Part.leavesData() && !r.j.TargetKept {
		st, err := r.w.db.State(ctx, r.j.ToSlot)
		if err != nil {
			return err
		}
		if st.State != AtRest {
			return fmt.Errorf("the restored database is %s, not at rest", st.State)
		}
	}
	return r.concluded(ctx)
}

// concluded ends a restore that holds: outcome, journal, then what is not
// needed any more, then the server.
func (r *restoring) concluded(ctx context.Context) error {
	r.result.Changed, r.result.Removed, r.result.Kept = r.install.Counts()
	if err := r.keepDiscarded(ctx); err != nil {
		return err
	}
	if r.j.TargetKept {
		r.warnings = append(r.warnings, "the database is back as it was when it was set aside; its server was not started, `forklift db start` tries that")
	}
	if err := r.done(r.j.Pair, r.j.Target, r.j.TargetKind, r.j.TargetName); err != nil {
		return err
	}
	if err := r.install.Remove(ctx); err != nil {
		r.warnings = append(r.warnings, err.Error())
	}
	if err := r.restart(ctx, r.j.ToSlot); err != nil {
		return &fault.Error{Op: r.j.Verb, Path: r.target.Name, Err: fmt.Errorf("restored, but the database did not start: %w", err),
			Hint: "`forklift db start` tries again, `forklift undo` goes back."}
	}
	return nil
}

func (r *restoring) finished() *RestoreResult {
	res := r.result
	res.Verb, res.ID, res.Name = r.j.Verb, r.target.ID, r.j.TargetName
	res.Part, res.Paths = r.j.Part, r.j.Paths
	res.SafetyID, res.SafetyName = r.j.Pair, r.j.PairName
	res.Running, res.AwayMs, res.WallMs = r.running, r.away.Milliseconds(), r.wall().Milliseconds()
	res.Warnings = r.warnings
	if r.install != nil && r.j.Part != PartPaths {
		res.Unselected = unselected(r.install.Changed(), r.target.Source.Paths, r.cfg.Source)
	}
	return &res
}
