package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/privatedir"
	"forklift/storage/vfs"
)

const (
	// connectTimeout is how long a front tries to reach a daemon.
	connectTimeout = 20 * time.Second
	// connectPoll is how often it tries.
	connectPoll = 15 * time.Millisecond
	// leavingPoll is how often it asks a daemon that ends.
	leavingPoll = 100 * time.Millisecond
)

// Dialer reaches the daemon of a user.
type Dialer struct {
	Place   Place
	FS      vfs.FS
	UID     int
	Version string
	PID     int
	Cwd     string
	Environ []string // goes to the daemon with the hello of an editor
	// Start starts a daemon; see Starter. nil: none is started.
	Start func() (*Child, error)
	// Waiting is told, once, that an older daemon finishes its work first.
	Waiting func()
}

// errNone says that there is no daemon; it wraps the reason.
var errNone = errors.New("no daemon runs")

// dial connects once and greets. errNone means that there is no daemon to
// speak to.
func (d *Dialer) dial(ctx context.Context, hello Hello) (*lineConn, Welcome, error) {
	var welcome Welcome
	if err := privatedir.Check(directoryName, d.Place.Dir, d.UID); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", errNone, err)
		}
		return nil, welcome, err
	}
	var dialer net.Dialer
	plain, err := dialer.DialContext(ctx, "unix", d.Place.Socket)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w: %w", errNone, err)
		}
		return nil, welcome, err
	}
	conn := newLineConn(plain.(*net.UnixConn))
	if err := checkPeer(conn.UnixConn, d.UID); err != nil {
		conn.Close()
		return nil, welcome, &fault.Error{Op: "reach the daemon", Path: d.Place.Socket, Kind: fault.Untrusted, Err: err}
	}
	hello.Proto, hello.Version, hello.PID, hello.Cwd = Proto, d.Version, d.PID, d.Cwd
	_ = conn.SetDeadline(clock.System{}.Now().Add(2 * handshakeTimeout)) // a socket has deadlines
	if err = conn.writeLine(hello); err == nil {
		err = conn.readLine(&welcome)
	}
	if err != nil {
		// It died, or it ended before it saw us: there is none now.
		conn.Close()
		return nil, welcome, fmt.Errorf("%w: the handshake failed: %w", errNone, err)
	}
	_ = conn.SetDeadline(time.Time{})
	if welcome.Refused != nil {
		conn.Close()
		return nil, welcome, welcome.Refused.err(d.Place.Socket)
	}
	return conn, welcome, nil
}

// Connect reaches the daemon as an editor. If there is none it starts one; if
// one is ending it waits for its end first.
func (d *Dialer) Connect(ctx context.Context) (net.Conn, Welcome, error) {
	if err := d.Place.ensure(d.FS, d.UID); err != nil {
		return nil, Welcome{}, err
	}
	start := starting{dialer: d}
	defer start.release()
	deadline := time.NewTimer(connectTimeout)
	defer deadline.Stop()
	for told := false; ; {
		conn, welcome, err := d.dial(ctx, Hello{Role: RoleEditor, Env: d.Environ})
		poll := connectPoll
		switch {
		case err == nil:
			return conn, welcome, nil
		case welcome.Refused != nil && welcome.Refused.Reason == refusedLeaving:
			poll = leavingPoll
			deadline.Reset(drainTimeout)
			if !told && d.Waiting != nil {
				d.Waiting()
			}
			told = true
		case !errors.Is(err, errNone) || d.Start == nil:
			return nil, welcome, err
		default:
			if failed := start.try(); failed != nil {
				return nil, welcome, failed
			}
		}
		select {
		case <-ctx.Done():
			return nil, welcome, &fault.Error{Op: "reach the daemon", Path: d.Place.Socket, Kind: fault.Canceled, Err: context.Cause(ctx)}
		case <-deadline.C:
			return nil, welcome, &fault.Error{Op: "reach the daemon", Path: d.Place.Socket, Err: err,
				Hint: "`forklift daemon logs` may tell why; `forklift daemon` in a terminal shows it at once."}
		case <-time.After(poll):
		}
	}
}

// starting starts a daemon for one Connect. Of many fronts one does: the
// others find the lock taken and dial again.
type starting struct {
	dialer *Dialer
	lock   vfs.Lock
	child  *Child
}

// try starts a daemon unless another front is about to, or ours is still
// coming up. An error is final.
func (s *starting) try() error {
	if s.child != nil {
		ended, err := s.child.Ended()
		if err != nil {
			return &fault.Error{Op: "start the daemon", Err: err, Hint: "`forklift daemon` in a terminal shows more."}
		}
		if !ended {
			return nil
		}
	}
	if s.lock == nil {
		lock, err := s.dialer.FS.Lock(s.dialer.Place.Spawn, true)
		if errors.Is(err, vfs.ErrLocked) {
			return nil
		}
		if err != nil {
			return fault.Wrap("lock", s.dialer.Place.Spawn, err)
		}
		s.lock = lock
		return nil // dial once more: the one before us may have started it
	}
	child, err := s.dialer.Start()
	if err != nil {
		return &fault.Error{Op: "start the daemon", Err: err}
	}
	s.child = child
	return nil
}

func (s *starting) release() {
	if s.lock != nil {
		_ = s.lock.Unlock()
	}
}

// Ask sends a control question and gives the daemon's answer. Running is
// false when there is no daemon.
func (d *Dialer) Ask(ctx context.Context, question string) (status Status, running bool, err error) {
	conn, welcome, err := d.dial(ctx, Hello{Role: RoleControl, Ask: question})
	if errors.Is(err, errNone) {
		return status, false, nil
	}
	if err != nil {
		return status, false, err
	}
	conn.Close()
	if welcome.Status == nil {
		return status, true, &fault.Error{Op: "ask the daemon", Path: d.Place.Socket, Err: errors.New("it did not answer")}
	}
	return *welcome.Status, true, nil
}

// Stop ends the daemon and waits for its end: until its operations are done,
// at most for as long as ctx lasts. stopped is false when there was none.
func (d *Dialer) Stop(ctx context.Context) (status Status, stopped bool, err error) {
	status, running, err := d.Ask(ctx, askStop)
	if err != nil || !running {
		return status, false, err
	}
	tick := time.NewTicker(connectPoll)
	defer tick.Stop()
	for {
		lock, err := d.FS.Lock(d.Place.Lock, true)
		if err == nil {
			return status, true, lock.Unlock()
		}
		if !errors.Is(err, vfs.ErrLocked) {
			return status, false, fault.Wrap("lock", d.Place.Lock, err)
		}
		// Another may have its place already: an editor starts one at once.
		if now, running, err := d.Ask(ctx, askStatus); err == nil && running && now.PID != status.PID {
			return status, true, nil
		}
		select {
		case <-ctx.Done():
			return status, false, &fault.Error{Op: "stop the daemon", Kind: fault.Busy, Err: errors.New("it still finishes its operations"),
				Items: []string{fmt.Sprintf("pid %d, %d operations", status.PID, status.Operations)}, Hint: "It ends by itself when they are done."}
		case <-tick.C:
		}
	}
}
