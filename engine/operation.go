package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

const (
	// cleanupTime bounds what is done after an operation failed or was
	// interrupted by the user: putting back what was there.
	cleanupTime = 2 * time.Minute
	// switchTime bounds what follows the switch: it is finished even when
	// the user interrupts.
	switchTime = 30 * time.Minute
)

// operation is a capture, restore, undo, redo or recover under way: the
// locks it holds, its journal, and what it did to the server.
type operation struct {
	w        *Worktree
	j        *journal
	hooks    *hooks   // around it
	unlock   []func() // in the order they were taken
	logged   bool     // the started row is written
	journald bool     // the journal is written
	switched bool     // past the point of no return
	running  bool     // the server runs on the selected slot
	sessions int      // sessions of clients that a stop cuts off
	patience *patience
	// unstarted is why the server does not run again although it did.
	unstarted error
	began     time.Time
	awayFrom  time.Time
	away      time.Duration
	warnings  []string
}

// begin takes the locks of an operation that changes the worktree, runs the
// stop hook, waits for managed commands, and looks at the server. Nothing is
// changed yet.
func (w *Worktree) begin(ctx context.Context, verb string, cfg *config.File, opt WaitOptions) (*operation, error) {
	return w.beginPart(ctx, verb, cfg, PartAll, opt)
}

// beginPart is begin for a restore of a part: what leaves the database alone
// needs nothing of its server and its clients.
func (w *Worktree) beginPart(ctx context.Context, verb string, cfg *config.File, part Part, opt WaitOptions) (_ *operation, err error) {
	op := &operation{w: w, hooks: w.newHooks(verb, cfg, opt), began: w.host.Clock.Now()}
	if err := op.lock(ctx, verb, opt); err != nil {
		return nil, op.close(ctx, err)
	}
	if err := w.refuseInterrupted(verb); err != nil {
		return nil, op.close(ctx, err)
	}
	if err := op.look(ctx, verb, part, opt); err != nil {
		return nil, op.close(ctx, err)
	}
	if op.warnings, err = w.sweepStaging(ctx); err != nil {
		return nil, op.close(ctx, err)
	}
	if err := w.sweepKept(ctx); err != nil {
		op.warnings = append(op.warnings, err.Error())
	}
	return op, nil
}

// lock takes operation.lock, runs the stop hook, waits for the holders, and
// takes server.lock.
func (op *operation) lock(ctx context.Context, verb string, opt WaitOptions) error {
	if err := op.hooks.lock(ctx, opt.Wait); err != nil {
		return err
	}
	unlock, err := op.w.lockOperation(ctx, verb, opt.Wait)
	if err != nil {
		return err
	}
	op.unlock = append(op.unlock, unlock)
	if err := op.hooks.before(ctx); err != nil {
		return err
	}
	progress.Report(ctx, progress.Event{Phase: "wait for managed commands"})
	op.patience = newPatience(op.hooks.wait(opt.Wait))
	if err := op.w.awaitHolders(ctx, verb, op.patience); err != nil {
		return err
	}
	unlock, err = op.w.lockServer(ctx)
	if err != nil {
		return err
	}
	op.unlock = append(op.unlock, unlock)
	return nil
}

// look reads the selection and the server's state into a new journal.
func (op *operation) look(ctx context.Context, verb string, part Part, opt WaitOptions) error {
	before, err := op.w.readSelection()
	if err != nil {
		return fault.Wrap(verb, op.w.file(selectionFile), err)
	}
	for _, slot := range [...]Slot{SlotA, SlotB} {
		// A record of ours would take the place of a newer program's.
		if _, err := op.w.readSlot(slot); fault.KindOf(err) == fault.Unsupported {
			return fault.Wrap(verb, op.w.file(slotFile(slot)), err)
		}
	}
	op.j = op.w.newJournal(verb, before)
	op.j.Part = part
	st, err := op.w.db.State(ctx, before.Slot)
	if err != nil {
		return err
	}
	switch {
	case part.leavesData():
		op.running = st.State == Running && st.Slot == before.Slot
		op.j.ServerRan = op.running
	case st.State == Foreign:
		return op.w.foreign(verb, before.Slot)
	case st.State == Running && st.Slot != before.Slot:
		return fmt.Errorf("%s: the server runs on slot %s, but %s is selected", verb, st.Slot, before.Slot)
	case st.State == Running:
		op.running, op.j.ServerRan = true, true
		if op.sessions, err = op.w.awaitClients(ctx, verb, op.patience, opt.Disconnect); err != nil {
			return err
		}
		// With disconnect it is not known whether there were clients.
		if op.sessions == 0 && !opt.Disconnect {
			left, err := op.w.leftBehind()
			if err != nil {
				return err
			}
			op.j.ServerRan = !left
		}
	}
	return err
}

// leftBehind reports that nobody asked for the running server, which has no
// clients: its `forklift run` was killed and could not stop it. Then it is not
// started again.
func (w *Worktree) leftBehind() (bool, error) {
	if _, pinned, err := w.readPin(); err != nil || pinned {
		return false, err
	}
	holders, err := w.holders()
	return err == nil && len(holders) == 0, err
}

// start makes the operation recoverable: its row in the log, then the
// journal. Nothing may be changed before.
func (op *operation) start(name, reason string) error {
	row := logRow{Operation: op.j.Operation, Verb: op.j.Verb, Actor: op.w.host.Actor, Reason: reason,
		Before: op.j.Before.Pair, Name: name, Part: op.j.Part, Paths: op.j.Paths}
	if err := op.w.appendLog(row); err != nil {
		return err
	}
	op.logged = true
	op.journald = true // also when the write fails: it may be there
	return op.w.writeJournal(op.j)
}

// enter notes the phase. It is only for people: the journal is not written for
// it.
func (op *operation) enter(ctx context.Context, p phase) {
	op.j.Phase = p
	op.w.noteActing(acting{Verb: op.j.Verb, PID: os.Getpid(), Since: op.j.Started, Phase: string(p)})
	progress.Report(ctx, progress.Event{Phase: string(p)})
}

// recoverUnclean brings a cluster that was not stopped cleanly to rest: it
// starts and stops it.
func (op *operation) recoverUnclean(ctx context.Context) error {
	slot := op.j.Before.Slot
	st, err := op.w.db.State(ctx, slot)
	if err != nil || st.State != Unclean {
		return err
	}
	progress.Report(ctx, progress.Event{Phase: "recover database"})
	if _, err := op.w.startLocked(ctx, slot); err != nil {
		return err
	}
	op.running = true
	return nil
}

// stop stops the server; the time away begins.
func (op *operation) stop(ctx context.Context) error {
	if !op.running {
		return nil
	}
	progress.Report(ctx, progress.Event{Phase: "stop database"})
	op.awayFrom = op.w.host.Clock.Now()
	if err := op.w.db.Stop(ctx); err != nil {
		return err
	}
	op.running = false
	return nil
}

// restart starts the server on a slot if it ran when the operation began.
func (op *operation) restart(ctx context.Context, slot Slot) error {
	if !op.j.ServerRan || op.running || op.j.TargetKept && slot == op.j.ToSlot {
		return nil // what was set aside did not start when it was
	}
	progress.Report(ctx, progress.Event{Phase: "start database"})
	if _, err := op.w.startLocked(ctx, slot); err != nil {
		return err
	}
	op.running = true
	if !op.awayFrom.IsZero() {
		op.away = op.w.host.Clock.Now().Sub(op.awayFrom)
	}
	return nil
}

// abort puts everything back as it was before the operation began, and
// reports cause. Past the switch that is not possible: the journal stays,
// and recover finishes.
func (op *operation) abort(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if op.switched && !op.journald {
		return cause // it is over: only what follows the end has failed
	}
	if named, err := op.named(ctx); err != nil || named && !op.j.restores() {
		op.switched = true // or may be: only recover can tell
	}
	if !op.switched {
		err := op.back(ctx, outcomeFailed, cause)
		if !op.journald && op.unstarted != nil {
			return op.notStarted("nothing was changed", cause)
		}
		if err == nil {
			return cause
		}
		cause = errors.Join(cause, err)
	}
	return &fault.Error{Op: op.j.Verb, Path: op.w.rec.Path, Kind: fault.Interrupted, Err: cause,
		Hint: "Run `forklift recover`."}
}

// back undoes an operation that has not reached its switch: the pair it made
// is deleted unless it was named, the staged files go, the server runs again
// if it did. It is idempotent; recover uses it too. A server that does not
// start (a setting of its own may keep it from that) leaves nothing to recover,
// and a journal would keep the user from the restore that mends it: then the
// operation ends all the same, and the error is that of the start.
func (op *operation) back(ctx context.Context, outcome string, cause error) error {
	if !op.logged {
		return nil
	}
	if op.journald {
		if err := op.discard(ctx); err != nil {
			return err
		}
		_ = op.ensureServer(ctx, op.j.Before.Slot)
	}
	if err := op.end(logRow{Outcome: outcome, Before: op.j.Before.Pair, After: op.j.Before.Pair}, cause); err != nil {
		return err
	}
	return op.unstarted
}

// notStarted reports an operation that has ended, in the way that how says,
// and whose server does not start again. cause is why it was taken back, nil
// if that was not an error.
func (op *operation) notStarted(how string, cause error) error {
	err := fmt.Errorf("%s, but the database did not start again: %w", how, op.unstarted)
	if cause != nil && fault.KindOf(cause) != fault.Canceled && cause.Error() != op.unstarted.Error() {
		err = fmt.Errorf("%w; %w", cause, err)
	}
	return &fault.Error{Op: op.j.Verb, Path: op.w.rec.Path, Err: err, Items: fault.ItemsOf(op.unstarted),
		Hint: "`forklift db start` tries again, `forklift restore NAME` goes back to a checkpoint."}
}

// end appends the outcome and clears the journal: the operation is over.
// Behind the durable outcome row nothing is left to recover, so that it does
// not matter when a power cut brings the journal back.
func (op *operation) end(row logRow, cause error) error {
	row.Operation, row.Verb, row.Part, row.Paths = op.j.Operation, op.j.Verb, op.j.Part, op.j.Paths
	if cause != nil {
		row.Error = cause.Error()
	}
	if err := op.w.appendLog(row); err != nil {
		if row.Outcome == outcomeDone || !op.journald {
			return err
		}
		// Nothing has happened, which a started row without an outcome says
		// as well; on a full disk only the removal below may be possible.
		op.warnings = append(op.warnings, "the outcome could not be logged: "+err.Error())
	}
	if !op.journald {
		return nil
	}
	if err := op.w.clearJournal(); err != nil {
		if j, readErr := op.w.readJournal(); readErr != nil || j != nil {
			return err
		}
		op.warnings = append(op.warnings, "the end of the journal could not be flushed: "+err.Error())
	}
	op.journald = false
	return nil
}

// discard removes what the operation has made.
func (op *operation) discard(ctx context.Context) error {
	if op.j.restores() {
		if err := op.w.removeStaging(ctx, op.j.Operation); err != nil {
			return err
		}
		if err := errors.Join(op.putBackKept(ctx), op.withdrawKept(ctx)); err != nil {
			return err
		}
	}
	named, err := op.named(ctx)
	if err != nil || named || op.j.Reused || op.j.Pair == "" {
		return err
	}
	err = op.w.store.DeletePair(ctx, op.w.rec.Project, op.j.Pair)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// named reports whether the pair that the operation makes has its name: for
// a capture that is the switch.
func (op *operation) named(ctx context.Context) (bool, error) {
	if op.j.PairName == "" {
		return false, nil
	}
	id, err := op.w.store.Name(ctx, op.w.rec.Project, op.w.rec.ID, op.j.PairKind, op.j.PairName)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil && id == op.j.Pair, err
}

// ensureServer starts the server on slot if it ran when the operation began.
// Its error is kept as the operation's unstarted, too.
func (op *operation) ensureServer(ctx context.Context, slot Slot) error {
	if !op.j.ServerRan {
		return nil
	}
	st, err := op.w.db.State(ctx, slot)
	if err == nil {
		op.running = st.State == Running
		err = op.restart(ctx, slot)
	}
	op.unstarted = err
	return err
}

// done ends an operation that has happened.
func (op *operation) done(before, after storage.PairID, kind storage.PairKind, name string) error {
	return op.end(logRow{Outcome: outcomeDone, Before: before, After: after, AfterKind: kind, Name: name}, nil)
}

// afterSwitch is the context of what must be finished once begun.
func afterSwitch(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), switchTime)
}

// wall is the time since the operation began.
func (op *operation) wall() time.Duration { return op.w.host.Clock.Now().Sub(op.began) }

// close releases the locks, the last taken first, and runs the start hook
// behind them. It gives err back, or what went wrong now.
func (op *operation) close(ctx context.Context, err error) error {
	for i := len(op.unlock) - 1; i >= 0; i-- {
		op.unlock[i]()
	}
	op.unlock = nil
	if op.patience != nil {
		op.patience.end()
	}
	return op.hooks.after(ctx, op.subject(), err)
}
