package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"forklift/engine/internal/process"
	"forklift/storage/clock"
	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/vfs"

	"github.com/jackc/pgx/v5/pgconn"
)

// awaitReady waits until a server that we started accepts connections.
func (c *cluster) awaitReady(ctx context.Context, s *child) error {
	err := poll(ctx, s.limit, func() (bool, error) {
		select {
		case <-s.exited:
			return false, c.startError(s, fmt.Errorf("it ended: %w", s.waited))
		default:
		}
		file, err := c.readPIDFile(s.slot)
		return file.ready(s.cmd.Process.Pid), err
	})
	if errors.Is(err, clock.ErrWaited) {
		err = c.startError(s, fmt.Errorf("not ready after %s", s.limit))
	}
	if err == nil {
		err = c.provesLive()
	}
	if err != nil {
		return errors.Join(err, c.abandon(s))
	}
	return nil
}

// provesLive checks that the server holds the live lock: a wrapper script
// that closes inherited files would leave it unprotected.
func (c *cluster) provesLive() error {
	lock, err := c.opt.FS.Lock(c.branch.Live, false)
	if errors.Is(err, vfs.ErrLocked) {
		return nil
	}
	if err == nil {
		err = lock.Unlock()
	}
	return &fault.Error{Op: "start database server", Kind: fault.Unsupported, Err: errors.Join(errors.New("it does not keep the lock file that it was given open"), err),
		Hint: "The program postgres is a wrapper that closes inherited files; name another bin directory in FORKLIFT_PG_BIN."}
}

// abandon ends a server that was started and will not be used. It is our
// child, so its pid cannot be another process's.
func (c *cluster) abandon(s *child) error {
	select {
	case <-s.exited:
		return nil
	default:
	}
	failpoint.Hit("signal", c.slotDir(s.slot))
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	again := time.NewTicker(signalAgain)
	defer again.Stop()
	for {
		select {
		case <-s.exited:
			return nil
		case <-again.C:
			_ = s.cmd.Process.Signal(syscall.SIGINT)
		case <-timer.C:
			return fmt.Errorf("the server (pid %d) does not end", s.cmd.Process.Pid)
		}
	}
}

// awaitRunning waits for a server that somebody else started.
func (c *cluster) awaitRunning(ctx context.Context, s sight) error {
	err := poll(ctx, recoverTimeout, func() (bool, error) {
		file, err := c.readPIDFile(s.slot)
		if err == nil && !process.Alive(s.post.PID, s.post.Start) {
			err = &fault.Error{Op: "wait for database server", Path: c.slotDir(s.slot), Err: errors.New("it ended while it was starting")}
		}
		return file.ready(s.post.PID), err
	})
	if errors.Is(err, clock.ErrWaited) {
		return &fault.Error{Op: "wait for database server", Path: c.slotDir(s.slot), Err: fmt.Errorf("not ready after %s", recoverTimeout)}
	}
	if err != nil {
		return err
	}
	if s.rec == nil || s.rec.Socket == "" {
		return nil
	}
	port, err := c.port()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(s.rec.Socket, socketPrefix+port)); err != nil {
		return &fault.Error{Op: "use database server", Path: s.rec.Socket, Err: fmt.Errorf("it runs, but its socket is gone: %w", err),
			Hint: "Run `forklift db stop --disconnect`, then start it again."}
	}
	return c.awaitAccepting(ctx)
}

// awaitAccepting waits until a running server lets sessions in. After the
// crash of a backend it starts over, and its pid file says ready all along.
func (c *cluster) awaitAccepting(ctx context.Context) error {
	err := poll(ctx, recoverTimeout, func() (bool, error) {
		conn, err := c.connect(ctx, "")
		if err == nil {
			conn.close()
			return true, nil
		}
		// Any other refusal comes from one that is up.
		var pg *pgconn.PgError
		return !errors.As(err, &pg) || pg.Code != codeCannotConnect, nil
	})
	if errors.Is(err, clock.ErrWaited) {
		return &fault.Error{Op: "wait for database server", Path: c.branch.Dir, Err: fmt.Errorf("it still recovers after %s", recoverTimeout)}
	}
	return err
}

// fatalLine is a line of the log that says why the server ended.
var fatalLine = regexp.MustCompile(`(?m)(?:FATAL|PANIC|ERROR):\s*(.+)$`)

// startError says why a server did not start, with the end of its log.
func (c *cluster) startError(s *child, err error) error {
	tail := c.logTail(s.logAt)
	e := &fault.Error{Op: "start database server", Path: c.slotDir(s.slot), Err: err, Hint: "Its log is " + c.runFile(logName) + "."}
	if m := fatalLine.FindAllStringSubmatch(tail, -1); len(m) > 0 {
		e.Err = errors.New(m[len(m)-1][1])
	}
	switch {
	case strings.Contains(tail, "No space left on device"):
		e.Kind = fault.NoSpace
	case strings.Contains(tail, "incompatible with server"):
		e.Kind = fault.Unsupported
	case strings.Contains(tail, "could not access file"):
		e.Kind = fault.Unsupported // a library of an extension is missing
	case strings.Contains(tail, "could not create any TCP/IP sockets"):
		e.Kind, e.Hint = fault.Busy, "Another program has taken the port; end it, or choose another one with `forklift setup --tcp --port N`."
	case strings.Contains(tail, "could not locate a valid checkpoint record"), strings.Contains(tail, "invalid data in file"):
		e.Kind = fault.Corrupt
	}
	if tail != "" {
		e.Items = strings.Split(strings.TrimSpace(tail), "\n")
	}
	return e
}

// logTail gives the end of what the server wrote since offset at.
func (c *cluster) logTail(at int64) string {
	f, err := os.Open(c.runFile(logName))
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(at, info.Size()-logTailBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, from, logTailBytes))
	if err != nil {
		return ""
	}
	return string(data)
}
