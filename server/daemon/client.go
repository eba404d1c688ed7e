package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"forklift/server/lsp"
	"forklift/storage/clock"
)

// client is one connection to the daemon.
type client struct {
	conn  *lineConn
	hello Hello
	since time.Time

	lsp.Handler // of an editor, once it was greeted

	mu     sync.Mutex
	editor string    // as it called itself
	out    *lsp.Conn // once it sent initialize
}

// accept takes connections until the listener is closed.
func (d *Daemon) accept(ctx context.Context, listener *net.UnixListener) {
	for {
		conn, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			d.log.Error("accept", "error", err)
			select { // out of descriptors, most likely: clients that leave free some
			case <-ctx.Done():
				return
			case <-time.After(lockPoll):
			}
			continue
		}
		c := &client{conn: newLineConn(conn), since: d.opt.Clock.Now()}
		d.sessions.Add(1)
		go func() {
			defer d.sessions.Done()
			defer d.touch()
			defer conn.Close()
			d.touch()
			if d.greet(c) {
				d.session(ctx, c)
			}
		}()
	}
}

// greet reads a client's hello and answers it; true: an editor was admitted.
func (d *Daemon) greet(c *client) bool {
	if !d.track(c, true) {
		return false
	}
	defer d.track(c, false)
	if err := checkPeer(c.conn.UnixConn, d.opt.UID); err != nil {
		d.log.Warn("refused a connection", "error", err)
		return false
	}
	_ = c.conn.SetDeadline(clock.System{}.Now().Add(handshakeTimeout)) // a socket has deadlines
	if err := c.conn.readLine(&c.hello); err != nil {
		if !errors.Is(err, io.EOF) {
			d.log.Warn("bad hello", "error", err)
		}
		return false
	}
	welcome := Welcome{Proto: Proto, Version: d.opt.Version, PID: os.Getpid(), Started: d.started}
	welcome.Refused = d.admit(c)
	if welcome.Refused == nil && c.hello.Role == RoleControl {
		welcome.Refused = d.control(c.hello.Ask, &welcome)
	}
	err := c.conn.writeLine(welcome)
	if c.hello.Role == RoleControl && c.hello.Ask == askStop && welcome.Refused == nil {
		d.end("stop") // only now: an end closes the connections that are not answered yet
	}
	if c.Handler == nil {
		return false
	}
	if err != nil {
		d.forget(c)
		c.Handler.Closed() // it was never served
		return false
	}
	_ = c.conn.SetDeadline(time.Time{})
	return true
}

// track notes a connection that is being greeted, so that it cannot hold up
// the end; false: it has come too late.
func (d *Daemon) track(c *client, there bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !there {
		delete(d.greeting, c)
		return false
	}
	if d.closed {
		return false
	}
	d.greeting[c] = true
	return true
}

// admit notes a client, or refuses it.
func (d *Daemon) admit(c *client) *Refusal {
	refusal, newer := judge(c.hello, d.opt.Version)
	if refusal != nil {
		d.log.Info("refused a client", "reason", refusal.Reason, "version", c.hello.Version)
		return refusal
	}
	if newer {
		d.log.Info("a newer program wants this place", "version", c.hello.Version)
		d.end("newer")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.hello.Role == RoleControl:
		return nil
	case d.leaving:
		return &Refusal{Reason: refusedLeaving, Message: "the daemon is ending", Hint: "Try again in a moment; `forklift daemon status` says what it waits for."}
	case len(d.clients) >= maxClients:
		return &Refusal{Reason: refusedFull, Message: fmt.Sprintf("%d editors are attached", maxClients), Hint: "Close some of them."}
	}
	c.Handler = d.hub.NewSession(Peer{PID: c.hello.PID, Cwd: c.hello.Cwd, Environ: c.hello.Env, Version: c.hello.Version})
	d.clients[c] = true
	return nil
}

// forget takes a client that is gone off the list.
func (d *Daemon) forget(c *client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.clients, c)
}

// session serves an editor until it is gone.
func (d *Daemon) session(ctx context.Context, c *client) {
	log := d.log.With("front", c.hello.PID)
	log.Info("attached", "cwd", c.hello.Cwd, "version", c.hello.Version)
	_, err := lsp.Serve(ctx, c.conn, c, lsp.Options{Log: log, Gate: d.gate})
	d.forget(c)
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Warn("detached", "error", err)
		return
	}
	log.Info("detached")
}

// Initialize notes how to reach the editor, and passes on.
func (c *client) Initialize(ctx context.Context, conn *lsp.Conn, params *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	c.mu.Lock()
	c.out = conn
	if params.ClientInfo.Name != "" {
		c.editor = params.ClientInfo.Name
	}
	c.mu.Unlock()
	return c.Handler.Initialize(ctx, conn, params)
}

// notifyEnding tells the front that the daemon ends on purpose.
func (c *client) notifyEnding(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out != nil {
		_ = c.out.Notify(context.Background(), EndingMethod, rawEnding(reason)) // if it is gone it need not know
	}
}

// closeGreeting closes the connections that say nothing. Sessions end with
// their context.
func (d *Daemon) closeGreeting() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for c := range d.greeting {
		c.conn.Close()
	}
}

// What a control client asks.
const (
	askStatus = "status"
	askStop   = "stop"
)

// control answers a control client. What stop asks for is done when the
// answer is out.
func (d *Daemon) control(ask string, welcome *Welcome) *Refusal {
	switch ask {
	case askStop, askStatus:
		s := d.status()
		s.Leaving = s.Leaving || ask == askStop
		welcome.Status = &s
		return nil
	}
	return &Refusal{Reason: refusedBad, Message: fmt.Sprintf("the daemon cannot %q", ask)}
}

// status tells what the daemon does.
func (d *Daemon) status() Status {
	_, operations := d.hub.Busy()
	s := Status{
		PID: os.Getpid(), Version: d.opt.Version, Started: d.started, Operations: operations,
		Sessions: []SessionStatus{}, Worktrees: d.hub.Worktrees(), Resident: resident(),
	}
	if s.Worktrees == nil {
		s.Worktrees = []Worktree{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Leaving = d.leaving
	for c := range d.clients {
		c.mu.Lock()
		s.Sessions = append(s.Sessions, SessionStatus{PID: c.hello.PID, Cwd: c.hello.Cwd, Version: c.hello.Version, Editor: c.editor, Since: c.since})
		c.mu.Unlock()
	}
	return s
}
