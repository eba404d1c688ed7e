package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"forklift/server/lsp"
	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

const (
	// DefaultIdle is how long a daemon without clients and work stays.
	DefaultIdle = 10 * time.Minute
	// drainTimeout is how long a daemon that ends waits for its operations.
	drainTimeout = 10 * time.Minute
	// lockWait is how long a starting daemon waits for one that is ending.
	lockWait = 2 * time.Second
	// lockPoll is how often it tries.
	lockPoll = 20 * time.Millisecond
	// maxClients bounds the connections.
	maxClients = 256
)

// ErrRunning is what Run fails with when the user has a daemon already.
var ErrRunning = errors.New("a daemon runs already")

// Options are what a daemon is made of.
type Options struct {
	Place   Place
	FS      vfs.FS
	Clock   clock.Clock
	UID     int // the user of all its clients
	Version string
	Idle    time.Duration // 0: DefaultIdle
	// NewHub makes the shared state; it is called once, by the only daemon.
	NewHub func(log *slog.Logger) (Hub, error)
	// StopServer stops the database server of a worktree if nobody uses it;
	// with look it only tells whether it would. nil: servers are left alone.
	StopServer func(ctx context.Context, w Worktree, look bool) (unused bool, err error)
	// ServerIdle is how long nobody must have used a server; 0:
	// DefaultServerIdle.
	ServerIdle time.Duration
	// Prepare makes the idle database slot of a worktree ready for a restore, if
	// nothing else goes on there, and tells whether there was something to do.
	// nil: slots are left alone.
	Prepare func(ctx context.Context, w Worktree) (done bool, err error)
	// PrepareEvery is how often it is thought of; 0: DefaultPrepareEvery.
	PrepareEvery time.Duration
	// Background says that stderr is the pipe of the front that started this
	// process: it becomes the log once the daemon can be reached.
	Background bool
}

// Daemon is a running daemon.
type Daemon struct {
	opt     Options
	log     *slog.Logger
	hub     Hub
	started time.Time
	gate    *lsp.Gate // of the requests of all clients

	sessions sync.WaitGroup // connections
	mu       sync.Mutex
	clients  map[*client]bool // admitted editors
	greeting map[*client]bool // connections before that
	closed   bool             // greets nobody any more
	leaving  bool             // no new sessions
	leave    chan struct{}    // closed with leaving
	reason   string           // of leaving
	touched  chan struct{}    // tells the idle timer that something ended; holds one
}

// Run is a daemon's life: it returns when the daemon was asked to stop, when
// ctx ended, when a newer program wants its place, or when nobody used it for
// the idle time. Running operations are finished first. ErrRunning means that
// the user has a daemon.
func Run(ctx context.Context, opt Options) error {
	if opt.Idle <= 0 {
		opt.Idle = DefaultIdle
	}
	if err := opt.Place.ensure(opt.FS, opt.UID); err != nil {
		return err
	}
	lock, err := takeLock(ctx, opt.FS, opt.Place.Lock)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	if err := durable.MkdirAll(opt.FS, filepath.Dir(opt.Place.Log), 0o700); err != nil {
		return fault.Wrap("make the log's directory", filepath.Dir(opt.Place.Log), err)
	}
	file, err := openLog(opt.FS, opt.Place.Log)
	if err != nil {
		return fault.Wrap("open the log", opt.Place.Log, err)
	}
	log := slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelInfo}))
	hub, err := opt.NewHub(log)
	if err != nil {
		return err
	}
	defer func() {
		if err := hub.Close(); err != nil {
			log.Error("close", "error", err)
		}
	}()
	listener, err := bind(opt.FS, opt.Place.Socket)
	if err != nil {
		return err
	}
	if opt.Background {
		if err := file.takeStderr(); err != nil {
			return err
		}
	}
	d := &Daemon{
		opt: opt, log: log, hub: hub, started: opt.Clock.Now(), gate: lsp.NewGate(lsp.DefaultTogether),
		clients: map[*client]bool{}, greeting: map[*client]bool{}, leave: make(chan struct{}), touched: make(chan struct{}, 1),
	}
	d.serve(ctx, listener)
	return nil
}

// takeLock takes the lock of the only daemon.
func takeLock(ctx context.Context, disk vfs.FS, name string) (vfs.Lock, error) {
	deadline := time.NewTimer(lockWait)
	defer deadline.Stop()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		lock, err := disk.Lock(name, true)
		if !errors.Is(err, vfs.ErrLocked) {
			return lock, fault.Wrap("lock", name, err)
		}
		select {
		case <-ctx.Done():
			return nil, &fault.Error{Op: "start the daemon", Kind: fault.Canceled, Err: context.Cause(ctx)}
		case <-deadline.C:
			return nil, ErrRunning
		case <-tick.C:
		}
	}
}

// bind makes the socket, with mode 0600 from its first moment. The caller
// holds the lock, so a socket that is there is a dead daemon's.
func bind(disk vfs.FS, name string) (*net.UnixListener, error) {
	if err := disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap("remove the old socket", name, err)
	}
	before := syscall.Umask(0o177)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	syscall.Umask(before)
	if err != nil {
		return nil, fault.Wrap("make the daemon's socket", name, err)
	}
	listener.SetUnlinkOnClose(false) // removed by the holder of the lock, below
	return listener, nil
}

// serve accepts clients until the daemon is to end, and ends it.
func (d *Daemon) serve(ctx context.Context, listener *net.UnixListener) {
	d.log.Info("started", "pid", os.Getpid(), "version", d.opt.Version, "socket", d.opt.Place.Socket)
	clients, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		d.accept(clients, listener)
	}()
	var background sync.WaitGroup
	background.Go(func() { d.stopIdleServers(clients) })
	background.Go(func() { d.prepareSlots(clients) })
	d.awaitEnd(ctx)
	d.drain(ctx)
	cancel()
	// The socket goes first: who finds none starts a daemon, which waits for
	// the lock.
	if err := d.opt.FS.Remove(d.opt.Place.Socket); err != nil {
		d.log.Warn("remove the socket", "error", err)
	}
	listener.Close()
	<-accepting
	d.closeGreeting()
	d.sessions.Wait()
	background.Wait()
	d.log.Info("ended", "reason", d.reason)
}

// awaitEnd returns when the daemon is to end.
func (d *Daemon) awaitEnd(ctx context.Context) {
	timer := time.NewTimer(d.opt.Idle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			d.end("stop")
		case <-d.leave:
			return
		case <-d.touched:
			timer.Reset(d.opt.Idle)
		case <-timer.C:
			if !d.endIdle() {
				timer.Reset(d.opt.Idle)
			}
		}
	}
}

// end lets the daemon end; the first reason counts.
func (d *Daemon) end(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked(reason)
}

func (d *Daemon) endLocked(reason string) {
	if !d.leaving {
		d.leaving, d.reason = true, reason
		close(d.leave)
	}
}

// endIdle lets the daemon end if nobody uses it.
func (d *Daemon) endIdle() bool {
	_, operations := d.hub.Busy()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.clients) > 0 || operations > 0 {
		return false
	}
	d.endLocked("idle")
	return true
}

// touch tells that a client came or went.
func (d *Daemon) touch() {
	select {
	case d.touched <- struct{}{}:
	default:
	}
}

// drain waits for the running operations and tells the clients.
func (d *Daemon) drain(ctx context.Context) {
	_, operations := d.hub.Busy()
	d.log.Info("ending", "reason", d.reason, "operations", operations)
	wait, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), drainTimeout, fmt.Errorf("operations still run after %v", drainTimeout))
	defer cancel()
	if err := d.hub.Drain(wait); err != nil {
		d.log.Error("finish operations", "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.clients {
		c.notifyEnding(d.reason)
	}
}
