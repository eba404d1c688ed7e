package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"forklift/engine"
	"forklift/engine/internal/process"
	"forklift/engine/postgres/internal/proc"
	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/inherit"
	"forklift/storage/progress"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// Start starts the server on a slot and returns once it accepts connections.
// A running one is waited for. After an error nothing runs that was not
// running before, except when the error says so.
func (c *cluster) Start(ctx context.Context, slot engine.Slot) error {
	lock, err := c.lockLive(ctx, slot)
	if lock == nil || err != nil {
		return err
	}
	progress.Report(ctx, progress.Event{Phase: "start database"})
	port, err := c.listens()
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	s, err := c.launch(ctx, slot, lock, port)
	// From here on the lock is the server's: ours is only closed.
	if unlockErr := lock.Unlock(); err == nil {
		err = unlockErr
	}
	if err != nil {
		return err
	}
	if err := c.awaitReady(ctx, s); err != nil || port == 0 {
		return err
	}
	// A state from before the password, or from a user who changed it.
	if err := c.setPassword(ctx); err != nil {
		return errors.Join(err, c.abandon(s))
	}
	return nil
}

// lockLive takes the live lock for a start. Without lock and error the server
// runs already. What is left of a server that died is waited for.
func (c *cluster) lockLive(ctx context.Context, slot engine.Slot) (vfs.Lock, error) {
	var lock vfs.Lock
	var s sight
	try := func() (bool, error) {
		var err error
		if lock, err = c.opt.FS.Lock(c.branch.Live, true); !errors.Is(err, vfs.ErrLocked) {
			return true, err
		}
		s, err = c.see()
		return s.found, err
	}
	err := poll(ctx, lockTimeout, try)
	switch {
	case errors.Is(err, clock.ErrWaited):
		return nil, c.heldError("start database server")
	case err != nil || lock != nil:
		return lock, err
	case s.slot != slot:
		return nil, &fault.Error{Op: "start database server", Path: c.slotDir(slot), Kind: fault.Busy,
			Err: fmt.Errorf("it runs on slot %s", s.slot), Hint: "Stop it first: `forklift db stop`."}
	}
	return nil, c.awaitRunning(ctx, s)
}

// heldError names who keeps the live lock.
func (c *cluster) heldError(op string) error {
	e := &fault.Error{Op: op, Path: c.branch.Live, Kind: fault.Busy, Err: errors.New("another process keeps the database's files open"),
		Hint: "End that process, then try again."}
	pids, _ := proc.Holders(c.branch.Live)
	for _, pid := range pids {
		e.Items = append(e.Items, fmt.Sprintf("%d %s", pid, proc.Command(pid)))
	}
	return e
}

// child is a server that was just started.
type child struct {
	cmd    *exec.Cmd
	slot   engine.Slot
	exited chan struct{} // closed when it has been reaped
	waited error         // what Wait said; after exited
	logAt  int64         // where its messages begin
	limit  time.Duration
}

// launch makes everything ready and starts the server, with the live lock
// held.
func (c *cluster) launch(ctx context.Context, slot engine.Slot, lock vfs.Lock, port int) (*child, error) {
	inst, err := c.installation(ctx, slot)
	if err != nil {
		return nil, err
	}
	id, err := c.identity(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.ensureRunDir(); err != nil {
		return nil, err
	}
	socket, err := c.makeSocketDir(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := c.clearStale(slot, socket); err != nil {
		return nil, err
	}
	if err := c.dropSignals(slot); err != nil {
		return nil, err
	}
	if port != 0 {
		if err := c.portFree(port); err != nil {
			return nil, err
		}
	}
	if err := c.writeConfig(slot, port); err != nil {
		return nil, err
	}
	log, logAt, err := c.openLog()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err := c.own(id, slot, inst); err != nil {
		return nil, err
	}
	limit := recoverTimeout
	if control, err := c.control(slot); err == nil && control.Clean() {
		limit = startTimeout
	}
	rec := ownerRecord{Launch: rand.Text(), BootID: c.boot, Namespace: proc.Namespace(), Slot: slot, Bin: inst.Bin,
		Version: inst.Version, Since: c.opt.Clock.Now(), Socket: socket}
	if err := c.writeOwner(rec); err != nil {
		return nil, err
	}
	s := &child{slot: slot, exited: make(chan struct{}), logAt: logAt, limit: limit}
	if err := c.exec(s, inst, c.serverArgs(slot, socket, inst, port), id, log, lock.File()); err != nil {
		return nil, err
	}
	// The server needs 20 ms to be ready; the record is written meanwhile.
	// Until it is, the server is known by the lock and its pid file.
	rec.PID = s.cmd.Process.Pid
	if info, err := process.Lookup(rec.PID); err == nil {
		rec.Began = info.Start
	}
	if err := c.writeOwner(rec); err != nil {
		return nil, errors.Join(err, c.abandon(s))
	}
	return s, nil
}

func (c *cluster) writeOwner(rec ownerRecord) error {
	err := record.Write(c.opt.FS, c.runFile(ownerName), ownerKind, ownerFormat, rec)
	if err != nil {
		return &fault.Error{Op: "record database server", Path: c.runFile(ownerName), Err: err}
	}
	return nil
}

// exec starts the process. It inherits the live lock and its log, nothing else.
func (c *cluster) exec(s *child, inst *Installation, args []string, id identity, log, live *os.File) error {
	if err := inherit.Nothing(); err != nil {
		return &fault.Error{Op: "start database server", Err: err}
	}
	s.cmd = exec.Command(filepath.Join(inst.Bin, "postgres"), args...)
	s.cmd.Env, s.cmd.Dir, s.cmd.SysProcAttr = c.opt.childEnv(), "/", id.attr()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.ExtraFiles = []*os.File{live}
	failpoint.Hit("start", c.slotDir(s.slot))
	if err := s.cmd.Start(); err != nil {
		return &fault.Error{Op: "start database server", Path: s.cmd.Path, Err: err}
	}
	go func() {
		s.waited = s.cmd.Wait()
		close(s.exited)
	}()
	return nil
}

// openLog opens the server's log and tells where new messages will begin. A
// log that has become long is set aside; the one before it goes.
func (c *cluster) openLog() (*os.File, int64, error) {
	name := c.runFile(logName)
	if info, err := c.opt.FS.Lstat(name); err == nil && info.Size > maxLogBytes {
		if err := durable.Rename(c.opt.FS, name, c.runFile(oldLogName)); err != nil {
			return nil, 0, &fault.Error{Op: "set log aside", Path: name, Err: err}
		}
	}
	failpoint.Hit("open", name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, &fault.Error{Op: "open log", Path: name, Err: err}
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, &fault.Error{Op: "open log", Path: name, Err: err}
	}
	return f, info.Size(), nil
}

// clearStale removes what a server that died left behind: PostgreSQL would
// refuse to start where the recorded pid is a zombie, or was taken by another
// process. Only called with the live lock held, so that no process of ours is
// left; a foreign server is refused by its pid.
func (c *cluster) clearStale(slot engine.Slot, socket string) error {
	name := c.slotDir(slot) + "/postmaster.pid"
	if _, err := c.opt.FS.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return &fault.Error{Op: "look for pid file", Path: name, Err: err}
		}
		pid, err := c.foreign(slot)
		if err != nil {
			return err
		}
		if pid != 0 {
			return &fault.Error{Op: "start database server", Path: c.slotDir(slot), Kind: fault.Busy,
				Err:  fmt.Errorf("a server that Forklift did not start has it open (pid %d)", pid),
				Hint: "Stop that server the way it was started, then try again.", Items: []string{fmt.Sprint(pid)}}
		}
		if err := durable.Remove(c.opt.FS, name); err != nil {
			return &fault.Error{Op: "remove old pid file", Path: name, Err: err}
		}
	}
	return c.clearSocket(socket)
}
