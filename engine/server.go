package engine

import (
	"context"
	"errors"

	"forklift/storage/fault"
	"forklift/storage/record"
)

// observed keeps what the server told about its tables when it was stopped
// idle, so that a capture of the stopped database can record it. It is
// removed before the server starts again, so it never is stale.
type observed struct {
	Slot        Slot        `json:"slot"`
	Observation Observation `json:"observation"`
}

// selectedSlot tells the slot of current.json.
func (w *Worktree) selectedSlot() (Slot, error) {
	s, err := w.readSelection()
	return s.Slot, err
}

// startServer makes sure that the server runs on the slot that which tells
// once server.lock is held. It reports whether it had to start it. The slot
// is marked dirty first.
func (w *Worktree) startServer(ctx context.Context, which func() (Slot, error)) (started bool, err error) {
	unlock, err := w.lockServer(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	slot, err := which()
	if err != nil {
		return false, err
	}
	return w.startLocked(ctx, slot)
}

// startLocked is startServer for one who holds server.lock.
func (w *Worktree) startLocked(ctx context.Context, slot Slot) (started bool, err error) {
	st, err := w.db.State(ctx, slot)
	if err != nil {
		return false, err
	}
	switch st.State {
	case Running:
		if st.Slot == slot {
			// It may still be starting, or recovering from a crash.
			return false, w.db.Start(ctx, slot)
		}
		return false, &fault.Error{Op: "start database", Path: w.branch.SlotDir(slot), Kind: fault.Busy,
			Err: errors.New("the server runs on the other slot"), Hint: "Run `forklift db stop`, then try again."}
	case Foreign:
		return false, w.foreign("start database", slot)
	}
	unlock, err := w.lockSlot(ctx, slot)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := w.soil(slot); err != nil {
		return false, err
	}
	if err := w.removeRecord(observedFile); err != nil {
		return false, err
	}
	return true, w.db.Start(ctx, slot)
}

func (w *Worktree) foreign(op string, slot Slot) error {
	return &fault.Error{Op: op, Path: w.branch.SlotDir(slot), Kind: fault.Busy,
		Err:  errors.New("a server that Forklift did not start has this database open"),
		Hint: "Stop that server first; Forklift never signals a process that is not its own."}
}

// stopObserved stops the server and keeps what it told about its tables. The
// caller holds server.lock.
func (w *Worktree) stopObserved(ctx context.Context, slot Slot) error {
	seen, seenErr := w.db.Observe(ctx)
	if err := w.db.Stop(ctx); err != nil {
		return err
	}
	if seenErr != nil {
		return nil // the counters are a convenience
	}
	return record.Write(w.fs, w.file(observedFile), "observed", recordFormat, observed{Slot: slot, Observation: seen})
}

func (w *Worktree) readPin() (pin, bool, error) {
	var p pin
	there, err := w.readOptional(pinFile, "pin", &p)
	return p, there, err
}

// StartDatabase starts the server of the worktree. With keep it stays up
// when the last managed command leaves, until StopDatabase.
func (w *Worktree) StartDatabase(ctx context.Context, keep bool) (*ServerInfo, error) {
	unlock, err := w.shareOperation(ctx, "db start", enterWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	_, pinned, err := w.readPin()
	if err != nil {
		return nil, err
	}
	// The pin comes first, or the last command that leaves now stops the server.
	if keep {
		if err := record.Write(w.fs, w.file(pinFile), "pin", recordFormat, pin{At: w.host.Clock.Now()}); err != nil {
			return nil, err
		}
	}
	if _, err := w.startServer(ctx, w.selectedSlot); err != nil {
		if keep && !pinned {
			err = errors.Join(err, w.removeRecord(pinFile))
		}
		return nil, err
	}
	return w.serverInfo(ctx)
}

// StopDatabase stops the server. It refuses while managed commands run or,
// without opt.Disconnect, while a client has a transaction open, after it has
// waited for them as opt.Wait says.
func (w *Worktree) StopDatabase(ctx context.Context, opt WaitOptions) error {
	unlock, err := w.lockOperation(ctx, "db stop", max(opt.Wait, enterWait))
	if err != nil {
		return err
	}
	defer unlock()
	patience := newPatience(opt.Wait)
	defer patience.end()
	if err := w.awaitHolders(ctx, "db stop", patience); err != nil {
		return err
	}
	unlockServer, err := w.lockServer(ctx)
	if err != nil {
		return err
	}
	defer unlockServer()
	st, err := w.ownState(ctx, "db stop")
	if err != nil {
		return err
	}
	if st.State == Running {
		// A stop that is refused leaves the server pinned.
		if _, err := w.awaitClients(ctx, "db stop", patience, opt.Disconnect); err != nil {
			return err
		}
	}
	if err := w.removeRecord(pinFile); err != nil || st.State != Running {
		return err
	}
	return w.stopObserved(ctx, st.Slot)
}

// serverInfo describes the server of the selected slot.
func (w *Worktree) serverInfo(ctx context.Context) (*ServerInfo, error) {
	slot, err := w.selectedSlot()
	if err != nil {
		return nil, err
	}
	st, err := w.db.State(ctx, slot)
	if err != nil {
		return nil, err
	}
	_, pinned, err := w.readPin()
	return &ServerInfo{State: st.State.String(), PID: st.PID, Since: st.Since, Version: st.Version, Pinned: pinned}, err
}

// Env is what a managed command of this worktree is given. It needs no
// running server, and is the same before and after a restore.
func (w *Worktree) Env(ctx context.Context) ([]EnvVar, error) {
	cfg, err := w.Config(ctx)
	if err != nil {
		return nil, err
	}
	return w.db.Env(ctx, cfg.ConnectionEnv)
}

// ownState tells what the server on the selected slot does. It fails by name
// if that server is not ours to stop.
func (w *Worktree) ownState(ctx context.Context, verb string) (Status, error) {
	slot, err := w.selectedSlot()
	if err != nil {
		return Status{}, err
	}
	st, err := w.db.State(ctx, slot)
	if err == nil && st.State == Foreign {
		err = w.foreign(verb, slot)
	}
	return st, err
}
