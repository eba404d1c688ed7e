package lsp

import (
	"context"
	"crypto/rand"
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
	out         *Outbox
	ready       chan struct{} // closed when the client said initialized
	prefix      string        // of the ids of requests: an answer cannot be taken for that of another connection

	mu      sync.Mutex
	last    int
	pending map[string]chan *jsonrpc2.Response
}

func newConn(w io.Writer, callTimeout time.Duration) *Conn {
	if callTimeout <= 0 {
		callTimeout = DefaultCallTimeout
	}
	c := &Conn{
		callTimeout: callTimeout, out: NewOutbox(w), ready: make(chan struct{}),
		prefix: rand.Text()[:8], pending: map[string]chan *jsonrpc2.Response{},
	}
	c.out.hold()
	return c
}

// Done is closed when the connection ended.
func (c *Conn) Done() <-chan struct{} { return c.out.Done() }

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
	return c.send(jsonrpc2.AppendNotification(nil, method, raw))
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
	late := fmt.Errorf("%s: the client did not answer within %v: %w", method, c.callTimeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, c.callTimeout, late)
	defer cancel()
	select {
	case <-c.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.Done():
		return ErrClosed
	}
	id, answer := c.expect()
	defer c.forget(id)
	if err := c.send(jsonrpc2.AppendCall(nil, jsonrpc2.NewStringID(id), method, raw)); err != nil {
		return err
	}
	select {
	case response := <-answer:
		return readAnswer(response, result)
	case <-c.Done():
		return ErrClosed
	case <-ctx.Done():
		given := fmt.Appendf(nil, `{"id":%q}`, id)
		_ = c.send(jsonrpc2.AppendNotification(nil, "$/cancelRequest", given)) // nobody waits for the answer any more
		return context.Cause(ctx)
	}
}

// expect makes the id of a new request and where its answer will come.
func (c *Conn) expect() (id string, answer chan *jsonrpc2.Response) {
	answer = make(chan *jsonrpc2.Response, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	id = fmt.Sprintf("%s-%d", c.prefix, c.last)
	c.pending[id] = answer
	return id, answer
}

func (c *Conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// answered gives the client's answer to the call that waits for it. One that
// nobody waits for is dropped: the call gave up, or never was.
func (c *Conn) answered(response *jsonrpc2.Response) {
	id, _ := response.ID().StringValue()
	c.mu.Lock()
	answer := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if answer != nil {
		answer <- response
	}
}

// send queues a message; before initialize is answered it is held back.
func (c *Conn) send(body []byte) error {
	if len(body) > MaxAnswer {
		return fmt.Errorf("a message of %d bytes, the limit is %d", len(body), MaxAnswer)
	}
	return c.out.sendHeld(body)
}

// readAnswer reads what the client answered into result.
func readAnswer(response *jsonrpc2.Response, result any) error {
	if err := response.Err(); err != nil {
		var wire *jsonrpc2.Error
		if errors.As(err, &wire) {
			refused := &Error{Code: int(wire.Code), Message: wire.Message}
			if len(wire.Data) > 0 {
				refused.Data = json.RawMessage(wire.Data)
			}
			return refused
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
