package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// The limits of what is sent.
const (
	MaxAnswer = 32 << 20 // bytes of one message
	MaxQueued = 64 << 20 // bytes that a client has not read yet; more ends the connection
)

// DefaultCallTimeout is how long a client may take to answer, unless Options
// say otherwise.
const DefaultCallTimeout = 30 * time.Second

// Conn sends to the client. It is safe for concurrent use.
type Conn struct {
	callTimeout time.Duration
	done        chan struct{} // closed when nothing can be sent any more
	ready       chan struct{} // closed when the client said initialized

	mu      sync.Mutex
	wake    chan struct{} // tells the writer; holds one
	queue   []byte        // frames to write
	held    []byte        // frames to write behind the answer to initialize
	holding bool
	closed  bool  // no more frames are taken
	failure error // why, if it was not asked for
	lastID  int64
	pending map[int64]chan *jsonrpc2.Response
}

func newConn(callTimeout time.Duration) *Conn {
	if callTimeout <= 0 {
		callTimeout = DefaultCallTimeout
	}
	return &Conn{
		callTimeout: callTimeout, done: make(chan struct{}), ready: make(chan struct{}), wake: make(chan struct{}, 1),
		holding: true, pending: map[int64]chan *jsonrpc2.Response{},
	}
}

// Done is closed when the connection ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Notify sends a notification; params are encoded by Encode, nil means none.
// Notifications are sent in the order of calls. It does not wait for the
// client; success means that the message is in the queue.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	raw, err := encodeParams(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return c.send(jsonrpc2.AppendNotification(nil, method, raw), true)
}

// Call sends a request to the client and waits for the answer: until ctx
// ends, at most for Options.CallTimeout, the wait for the client's initialized
// included. result is a pointer or nil, and filled by Decode. A refusal is an
// *Error. It must not be used where the Handler is called in wire order: the
// answer could never be read.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.callTimeout, fmt.Errorf("%s: the client did not answer within %v: %w", method, c.callTimeout, context.DeadlineExceeded))
	defer cancel()
	select {
	case <-c.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.done:
		return ErrClosed
	}
	answer := make(chan *jsonrpc2.Response, 1)
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.pending[id] = answer
	c.mu.Unlock()
	defer c.forget(id)
	if err := c.send(jsonrpc2.AppendCall(nil, jsonrpc2.NewNumberID(id), method, raw), true); err != nil {
		return err
	}
	select {
	case response := <-answer:
		return readAnswer(response, result)
	case <-c.done:
		return ErrClosed
	case <-ctx.Done():
		raw := fmt.Appendf(nil, `{"id":%d}`, id)
		_ = c.send(jsonrpc2.AppendNotification(nil, "$/cancelRequest", raw), true) // the answer is not waited for
		return context.Cause(ctx)
	}
}

// readAnswer reads what the client answered into result.
func readAnswer(response *jsonrpc2.Response, result any) error {
	if err := response.Err(); err != nil {
		var wire *jsonrpc2.Error
		if errors.As(err, &wire) {
			return &Error{Code: int(wire.Code), Message: wire.Message, Data: json.RawMessage(wire.Data)}
		}
		return err
	}
	if result == nil {
		return nil
	}
	return Decode(json.RawMessage(response.Result()), result)
}

// encodeParams encodes the params of a message; nil are none.
func encodeParams(params any) (jsonrpc2.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	raw, err := Encode(params)
	return jsonrpc2.RawMessage(raw), err
}

func (c *Conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// answered gives the client's answer to the call that waits for it. One that
// nobody waits for is dropped: the call gave up, or never was.
func (c *Conn) answered(response *jsonrpc2.Response) {
	id, ok := response.ID().Number()
	c.mu.Lock()
	answer := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if ok && answer != nil {
		answer <- response
	}
}

// send puts one message into the queue. hold lets it wait for the answer to
// initialize.
func (c *Conn) send(body []byte, hold bool) error {
	if len(body) > MaxAnswer {
		return fmt.Errorf("a message of %d bytes, the limit is %d", len(body), MaxAnswer)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	if len(c.queue)+len(c.held)+len(body) > MaxQueued {
		c.failure = fmt.Errorf("the client did not read %d bytes", len(c.queue)+len(c.held))
		c.closeLocked()
		return c.failure
	}
	if hold && c.holding {
		c.held = AppendFrame(c.held, body)
		return nil
	}
	c.queue = AppendFrame(c.queue, body)
	c.wakeLocked()
	return nil
}

// release sends what was held back and holds nothing any more.
func (c *Conn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, c.held, c.holding = append(c.queue, c.held...), nil, false
	c.wakeLocked()
}

func (c *Conn) wakeLocked() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close takes no more frames; the writer writes what is queued and ends.
func (c *Conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked()
}

func (c *Conn) closeLocked() {
	if !c.closed {
		c.closed = true
		close(c.wake)
	}
}

// failed is why the connection ended by itself.
func (c *Conn) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// write writes queued frames to w until the connection is closed. It closes
// done when it returns.
func (c *Conn) write(w io.Writer) {
	defer close(c.done)
	for open := true; open; {
		_, open = <-c.wake
		c.mu.Lock()
		frames := c.queue
		c.queue = nil
		c.mu.Unlock()
		if len(frames) == 0 {
			continue
		}
		if _, err := w.Write(frames); err != nil {
			c.mu.Lock()
			if c.failure == nil {
				c.failure = fmt.Errorf("write to the client: %w", err)
			}
			c.closeLocked()
			c.mu.Unlock()
			return
		}
	}
}
