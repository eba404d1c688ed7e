package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"forklift/engine"
	"forklift/engine/internal/process"
	"forklift/engine/postgres/internal/proc"
	"forklift/storage/clock"
	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// Stop stops the server and returns once nothing of it is left: the live lock
// can be taken. It asks for a fast shutdown (SIGINT): sessions are cut off,
// open transactions are rolled back, everything is written out. It is never
// made faster than that. After an error the server may be stopping still.
func (c *cluster) Stop(ctx context.Context) error {
	var s sight
	settled := func() (bool, error) {
		var err error
		s, err = c.see()
		return s.free || s.found || c.held(s) == leftover, err
	}
	// What is not known may be an initdb whose caller was killed: it ends.
	err := poll(ctx, stopTimeout, settled)
	switch {
	case errors.Is(err, clock.ErrWaited):
		return c.heldError("stop database server")
	case err != nil:
		return err
	case s.free:
		return c.nobodyElse()
	case s.found:
		progress.Report(ctx, progress.Event{Phase: "stop database"})
		c.observeLast(ctx, s)
		c.endWalsenders(ctx, s.post.PID)
		failpoint.Hit("signal", c.branch.Dir)
		if err := c.interrupt(s.post); err != nil {
			return err
		}
	}
	return c.awaitFree(ctx, s)
}

// observeLast asks a server that nobody has asked since its start what only a
// running one tells, so that a capture at rest has it. It is worth little
// waiting, and no error.
func (c *cluster) observeLast(ctx context.Context, s sight) {
	var rec observedRecord
	err := record.Read(c.opt.FS, c.observedFile(s.slot), observedKind, observedFormat, &rec)
	if s.rec == nil || (err == nil && rec.Launch == s.rec.Launch) {
		return
	}
	if file, err := c.readPIDFile(s.slot); err != nil || !file.ready(s.post.PID) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	if o, err := c.observeAll(ctx, func(*session, databaseFacts) error { return nil }); err == nil {
		_ = c.remember(s.rec, o)
	}
}

// nobodyElse proves that no server without our lock has a slot open.
func (c *cluster) nobodyElse() error {
	for _, slot := range []engine.Slot{engine.SlotA, engine.SlotB} {
		pid, err := c.foreign(slot)
		if err != nil {
			return err
		}
		if pid != 0 {
			return &fault.Error{Op: "stop database server", Path: c.slotDir(slot), Kind: fault.Busy, Items: []string{fmt.Sprint(pid)},
				Err:  fmt.Errorf("a server that Forklift did not start has it open (pid %d)", pid),
				Hint: "Stop that server the way it was started."}
		}
	}
	return nil
}

// interrupt signals a postmaster that is provably ours. The process is opened
// first and looked at again afterwards, so that its number cannot have been
// given to another one in between.
func (c *cluster) interrupt(post process.Info) error {
	p, err := os.FindProcess(post.PID)
	if err != nil {
		return nil // it is gone
	}
	defer func() { _ = p.Release() }()
	if !process.Alive(post.PID, post.Start) {
		return nil
	}
	if err := p.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return &fault.Error{Op: "stop database server", Path: fmt.Sprintf("pid %d", post.PID), Err: err}
	}
	return nil
}

// awaitFree waits until the live lock can be taken, and asks the server that
// was seen once more while it runs: also the last backend and
// every program that one of them started is gone then.
func (c *cluster) awaitFree(ctx context.Context, s sight) error {
	again := time.NewTicker(signalAgain)
	defer again.Stop()
	err := poll(ctx, stopTimeout, func() (bool, error) {
		select {
		case <-again.C:
			if s.found {
				if err := c.interrupt(s.post); err != nil {
					return false, err
				}
			}
		default:
		}
		lock, err := c.opt.FS.Lock(c.branch.Live, false)
		switch {
		case errors.Is(err, vfs.ErrLocked):
			return false, nil
		case err != nil:
			return false, err
		}
		return true, lock.Unlock()
	})
	if errors.Is(err, clock.ErrWaited) {
		return c.heldError("stop database server")
	}
	return err
}

// endWalsenders ends the sessions that send WAL: a fast shutdown would wait
// until their receivers have taken all of it, and one that hangs never does.
func (c *cluster) endWalsenders(ctx context.Context, postmaster int) {
	children, err := proc.Children(postmaster)
	sends := err != nil // it cannot be told: ask the server
	for _, pid := range children {
		sends = sends || strings.Contains(proc.Command(pid), "walsender")
	}
	if !sends {
		return
	}
	conn, err := c.connect(ctx, "")
	if err != nil {
		return // still starting, or full: the shutdown says what happens
	}
	defer conn.close()
	_ = conn.exec(ctx, `SELECT pg_catalog.pg_terminate_backend(pid, 5000) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'walsender'`)
}
