package engine

import (
	"context"
	"errors"
	"fmt"

	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
)

// Recover ends an interrupted operation: forward, as if it had finished, when
// its switch was made; else back, as if it had never begun. With opt.Back it
// ends a restore backwards although the switch was made, as long as the slot
// it came from is untouched. It may be killed and run again at any point.
func (w *Worktree) Recover(ctx context.Context, opt RecoverOptions) (res *RecoverResult, err error) {
	cfg, cfgErr := w.Config(ctx)
	if cfgErr != nil {
		cfg = nil // it must not keep anybody from recovering
	}
	op := &operation{w: w, hooks: w.newHooks(verbRecover, cfg, opt.WaitOptions), began: w.host.Clock.Now()}
	defer func() {
		if err = op.close(ctx, err); err != nil {
			res = nil
		} else {
			res.Hooks = op.hooks.runs
		}
	}()
	if err := op.lock(ctx, verbRecover, opt.WaitOptions); err != nil {
		return nil, err
	}
	res, err = op.recover(ctx, opt)
	if app, appErr := w.stoppedApp(); err == nil && cfg == nil && appErr == nil && app != nil {
		res.Warnings = append(res.Warnings, "the app was stopped for a "+app.Verb+
			" and is not started again, because .forklift.json cannot be read: "+problem(cfgErr))
	}
	return res, err
}

// recover is Recover under the locks.
func (op *operation) recover(ctx context.Context, opt RecoverOptions) (*RecoverResult, error) {
	w := op.w
	j, current, err := w.believe()
	if err != nil {
		return nil, err
	}
	if j == nil {
		// A kill right behind the end leaves what was staged.
		left, err := w.sweepStaging(ctx)
		return &RecoverResult{Nothing: true, Warnings: left}, err
	}
	op.j, op.logged, op.journald = j, true, true
	switched, err := op.hasSwitched(ctx, current)
	if err != nil {
		return nil, err
	}
	outcome, err := w.outcome(j.Operation)
	if err != nil {
		return nil, err
	}
	ctx, cancel := afterSwitch(ctx)
	defer cancel()
	res := &RecoverResult{Verb: j.Verb, Direction: "forward"}
	switch {
	case outcome != "":
		if outcome != outcomeDone {
			res.Direction = "back"
		}
		res.ID = current.Pair
		err = op.tidy(ctx, current)
	case j.Direction == directionBack || switched && opt.Back:
		res.Direction = "back"
		err = op.turnBack(ctx, res)
	case !switched:
		res.Direction, res.ID = "back", j.Before.Pair
		err = op.back(ctx, outcomeBack, nil)
	case j.restores():
		res.ID, res.Name = j.Target, j.TargetName
		err = op.recoverForward(ctx, res)
	default:
		res.ID, res.Name = j.Pair, j.PairName
		err = op.finishCapture(ctx)
	}
	if fault.KindOf(err) == fault.Interrupted {
		return nil, err
	}
	if err != nil && !op.journald { // it is over: there is nothing to recover any more
		if op.unstarted != nil {
			err = op.notStarted("recovered", nil)
		}
		return nil, err
	}
	if err != nil {
		return nil, &fault.Error{Op: "recover", Path: w.rec.Path, Kind: fault.Interrupted, Err: err,
			Hint: "Remove the cause and run `forklift recover` again; nothing is lost."}
	}
	res.Running, res.Warnings = op.running, op.warnings
	return res, nil
}

// tidy ends an operation whose outcome was written: only its journal, and
// what it staged, are left. What a restore displaced is in a checkpoint by
// now, or is reported.
func (op *operation) tidy(ctx context.Context, current selection) error {
	if err := op.w.clearJournal(); err != nil {
		return err
	}
	op.journald = false
	left, err := op.w.sweepStaging(ctx)
	if err != nil {
		return err
	}
	op.warnings = append(op.warnings, left...)
	return op.ensureServer(ctx, current.Slot)
}

// believe reads journal and selection after making them durable: what a
// power cut could still take back must not be acted upon.
func (w *Worktree) believe() (*journal, selection, error) {
	j, err := w.readJournal()
	if err != nil || j == nil {
		return nil, selection{}, err
	}
	for _, name := range []string{journalFile, selectionFile} {
		if err := durable.SyncFile(w.fs, w.file(name)); err != nil {
			return nil, selection{}, fault.Wrap("flush", w.file(name), err)
		}
	}
	if err := durable.SyncDir(w.fs, w.dir); err != nil {
		return nil, selection{}, fault.Wrap("flush", w.dir, err)
	}
	current, err := w.readSelection()
	return j, current, err
}

// hasSwitched tells whether the operation passed its point of no return.
func (op *operation) hasSwitched(ctx context.Context, current selection) (bool, error) {
	if op.j.restores() {
		return current.Operation == op.j.Operation, nil
	}
	return op.named(ctx)
}

// recoverForward finishes a restore behind its switch.
func (op *operation) recoverForward(ctx context.Context, res *RecoverResult) error {
	target, safety, err := op.pairs(ctx)
	if err != nil {
		return err
	}
	install, err := op.w.reopenStaging(ctx, op.j, false, safety, target)
	if err != nil {
		return err
	}
	r := &restoring{operation: op, target: target, safety: safety, install: install}
	if err := r.forward(ctx); err != nil {
		return err
	}
	res.RescueName, res.Rescued = r.result.RescueName, r.result.Rescued
	return nil
}

// pairs gives the two pairs of a restore's journal.
func (op *operation) pairs(ctx context.Context) (target, safety *storage.Pair, err error) {
	if target, err = op.w.store.Pair(ctx, op.j.TargetProject, op.j.Target); err != nil {
		return nil, nil, err
	}
	safety, err = op.w.store.Pair(ctx, op.w.rec.Project, op.j.Pair)
	return target, safety, err
}

// turnBack ends a restore backwards behind its switch. The journal durably
// says so first; from then on it only can be finished backwards.
func (op *operation) turnBack(ctx context.Context, res *RecoverResult) error {
	if !op.j.restores() {
		return op.noWayBack(errors.New("a capture that has its name cannot be taken back"), "Run `forklift recover` without --back: it finishes the capture.")
	}
	if op.j.Direction != directionBack {
		if err := op.oldSlotIntact(); err != nil {
			return err
		}
		op.j.Direction = directionBack
		if err := op.w.writeJournal(op.j); err != nil {
			return err
		}
	}
	target, safety, err := op.pairs(ctx)
	if err != nil {
		return err
	}
	install, err := op.w.reopenStaging(ctx, op.j, true, safety, target)
	if err != nil {
		return err
	}
	if err := op.w.writeSelection(op.j.Before); err != nil {
		return err
	}
	rescue, err := op.w.finishInstall(ctx, op, install)
	if err != nil {
		return err
	}
	if rescue != nil {
		res.RescueName, res.Rescued = rescue.Name, rescue.paths
	}
	return op.turnedBack(ctx, install, res)
}

// turnedBack ends a restore that was taken back.
func (op *operation) turnedBack(ctx context.Context, install *worktree.Install, res *RecoverResult) error {
	res.ID = op.j.Before.Pair
	if err := op.putBackKept(ctx); err != nil {
		return err
	}
	if err := op.end(logRow{Outcome: outcomeBack, Before: op.j.Before.Pair, After: op.j.Before.Pair}, nil); err != nil {
		return err
	}
	if err := install.Remove(ctx); err != nil {
		return err
	}
	return op.ensureServer(ctx, op.j.Before.Slot)
}

// oldSlotIntact refuses to go back when the slot that the restore left is not
// what was saved.
func (op *operation) oldSlotIntact() error {
	if op.j.Part.leavesData() {
		return nil // there is none: the database was not touched
	}
	r, err := op.w.proven(op.j.Before.Slot)
	if err != nil {
		return err
	}
	if r == nil {
		return op.noWayBack(fmt.Errorf("the database slot %s is not proven untouched since the restore left it", op.j.Before.Slot),
			"Run `forklift recover` without --back, then `forklift undo`.")
	}
	return nil
}

// noWayBack refuses recover --back, before it has changed anything.
func (op *operation) noWayBack(err error, hint string) error {
	return &fault.Error{Op: "recover", Path: op.w.rec.Path, Kind: fault.Interrupted, Err: err, Hint: hint}
}

// rescued is the rescue pair of an install, with the paths it holds.
type rescued struct {
	*storage.Pair
	paths []string
}

// finishInstall runs the install list to its end, checks the result, and
// publishes what was edited meanwhile as a rescue checkpoint.
func (w *Worktree) finishInstall(ctx context.Context, op *operation, install *worktree.Install) (*rescued, error) {
	found, err := install.Run(ctx)
	if err != nil {
		return nil, err
	}
	if err := install.Verify(ctx); err != nil {
		return nil, err
	}
	op.warnings = append(op.warnings, install.Warnings()...)
	if len(found) == 0 {
		return nil, nil
	}
	return w.publishRescue(ctx, op, install, found)
}
