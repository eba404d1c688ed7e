package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"forklift/engine"
	"forklift/engine/internal/process"
	"forklift/engine/postgres/internal/controlfile"
	"forklift/engine/postgres/internal/proc"
	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// sight is what one look at a branch shows.
type sight struct {
	free  bool         // the live lock could be taken: nothing of ours runs
	rec   *ownerRecord // of the last start; nil without one
	found bool         // a postmaster of ours runs
	post  process.Info // that one
	slot  engine.Slot  // that it serves
}

// see looks who holds the live lock. The lock is tried shared, so that two
// who look do not take each other for a server.
func (c *cluster) see() (sight, error) {
	if _, err := c.opt.FS.Lstat(c.branch.Live); errors.Is(err, fs.ErrNotExist) {
		return sight{free: true}, nil // looking makes no file
	}
	lock, err := c.opt.FS.Lock(c.branch.Live, false)
	if err == nil {
		if err := lock.Unlock(); err != nil {
			return sight{}, err
		}
		rec, err := c.readOwner()
		return sight{free: true, rec: rec}, err
	}
	if !errors.Is(err, vfs.ErrLocked) {
		return sight{}, &fault.Error{Op: "try the live lock", Path: c.branch.Live, Err: err}
	}
	rec, err := c.readOwner()
	if err != nil {
		return sight{}, err
	}
	s := sight{rec: rec}
	s.post, s.slot, s.found = c.owned(rec)
	return s, nil
}

// State tells what the server does. A server that runs but does not accept
// connections yet counts as running; Start waits for it.
func (c *cluster) State(ctx context.Context, slot engine.Slot) (engine.Status, error) {
	var s sight
	// A server that was just started has not written its pid file yet, and
	// backends of one that died go within milliseconds.
	settled := func() (bool, error) {
		var err error
		s, err = c.see()
		return s.free || s.found || c.held(s) == leftover, err
	}
	if err := poll(ctx, adoptTimeout, settled); err != nil && !errors.Is(err, clock.ErrWaited) {
		return engine.Status{}, err
	}
	switch {
	case s.found:
		st := engine.Status{State: engine.Running, Slot: s.slot, PID: s.post.PID}
		if s.rec != nil && s.rec.Slot == s.slot {
			st.Since, st.Version = s.rec.Since, s.rec.Version
		}
		return st, nil
	case !s.free && c.held(s) == leftover:
		// The postmaster is dead, a backend has not noticed yet.
		return engine.Status{State: engine.Unclean, Slot: slot}, nil
	case !s.free:
		return engine.Status{State: engine.Foreign}, nil
	}
	return c.stateAtRest(slot)
}

// holding says what holds the live lock when no postmaster of ours does.
type holding uint8

const (
	unknown  holding = iota
	leftover         // processes of a server of ours that died
)

// held tells who has the live lock.
func (c *cluster) held(s sight) holding {
	if s.rec == nil || s.rec.BootID != c.boot || s.rec.Namespace != proc.Namespace() || s.rec.PID == 0 {
		return unknown
	}
	return leftover
}

// stateAtRest tells the state of a slot while nobody holds the live lock.
func (c *cluster) stateAtRest(slot engine.Slot) (engine.Status, error) {
	st := engine.Status{State: engine.Unclean, Slot: slot}
	if pid, err := c.foreign(slot); err != nil {
		return engine.Status{}, err
	} else if pid != 0 {
		st.State, st.PID = engine.Foreign, pid
		return st, nil
	}
	empty, err := c.emptySlot(slot)
	if err != nil {
		return engine.Status{}, err
	}
	if empty {
		st.State = engine.AtRest
		return st, nil
	}
	if major, err := c.slotMajor(slot); err == nil {
		st.Version = fmt.Sprint(major)
	}
	// A control file that cannot be read is a slot that was being filled.
	if control, err := c.control(slot); err == nil && control.Clean() {
		st.State = engine.AtRest
	}
	return st, nil
}

// emptySlot reports a slot that holds no cluster at all.
func (c *cluster) emptySlot(slot engine.Slot) (bool, error) {
	entries, err := c.opt.FS.ReadDir(c.slotDir(slot))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0, err
}

// control reads the control file of a slot.
func (c *cluster) control(slot engine.Slot) (*controlfile.File, error) {
	name := c.slotDir(slot) + "/" + controlfile.Name
	data, err := durable.ReadFile(c.opt.FS, name, controlfile.MaxBytes)
	if err != nil {
		return nil, &fault.Error{Op: "read control file", Path: name, Kind: fault.KindOf(err), Err: err}
	}
	file, err := controlfile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.slotDir(slot), err)
	}
	return file, nil
}

// slotMajor reads PG_VERSION.
func (c *cluster) slotMajor(slot engine.Slot) (int, error) {
	name := c.slotDir(slot) + "/PG_VERSION"
	data, err := durable.ReadFile(c.opt.FS, name, maxVersionBytes)
	if err != nil {
		return 0, &fault.Error{Op: "read version", Path: name, Kind: fault.KindOf(err), Err: err}
	}
	var major int
	if _, err := fmt.Sscanf(strings.TrimSpace(string(data)), "%d", &major); err != nil {
		return 0, &fault.Error{Op: "read version", Path: name, Kind: fault.Corrupt, Err: fmt.Errorf("%q is none", data)}
	}
	return major, nil
}

// foreign finds a live server that has a slot open without our lock: its pid,
// or 0. Called while nobody else holds the live lock.
func (c *cluster) foreign(slot engine.Slot) (int, error) {
	file, err := c.readPIDFile(slot)
	if err != nil || file == nil {
		return 0, err
	}
	dir := c.slotDir(slot)
	if file.PID != os.Getpid() {
		if info, err := process.Lookup(file.PID); err == nil && !info.Zombie {
			same, err := proc.SameDir(file.PID, dir)
			switch {
			case same:
				return file.PID, nil
			case err != nil && startedAt(info, file.Started) && proc.IsPostgres(proc.Command(file.PID)):
				// It cannot be told where the process works: what is called
				// postgres and was started then is it.
				return file.PID, nil
			}
		}
	}
	// Its postmaster may be dead while a backend of it still writes.
	pids, err := proc.InDir(dir)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return 0, err
	}
	for _, pid := range pids {
		if info, err := process.Lookup(pid); err == nil && !info.Zombie && proc.IsPostgres(proc.Command(pid)) {
			return pid, nil
		}
	}
	return 0, nil
}

// startSlack is how far a postmaster's own note of its start may be from the
// system's.
const startSlack = 5

// startedAt compares a process's start with a time in seconds since 1970. On
// Linux starts are in another unit; then any matches.
func startedAt(info process.Info, seconds int64) bool {
	const microsecondsPerSecond = 1_000_000
	began := int64(info.Start / microsecondsPerSecond)
	if info.Start < 1<<40 || seconds == 0 {
		return true
	}
	return math.Abs(float64(began-seconds)) <= startSlack
}

// poll calls done until it is true: every millisecond, because what is
// waited for takes ten or twenty. It ends with clock.ErrWaited after limit.
func poll(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	return clock.Until(ctx, "wait for the database server", pollEvery, limit, done)
}
