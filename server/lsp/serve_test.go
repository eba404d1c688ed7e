package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/protocol"
)

// deadline is how long a test waits for anything.
const deadline = time.Minute

// fake is a handler that does what the method says.
type fake struct {
	mu     sync.Mutex
	conn   *Conn
	seen   []string // notifications and requests, as handled
	closed int
	holds  chan struct{} // "hold" and "stubborn" wait for it
	began  chan string   // methods whose request began
}

func newFake() *fake { return &fake{holds: make(chan struct{}), began: make(chan string, 1000)} }

func (f *fake) Initialize(_ context.Context, conn *Conn, params *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	f.mu.Lock()
	f.conn = conn
	f.mu.Unlock()
	_ = conn.Notify(context.Background(), "early", nil)
	return &protocol.InitializeResult{ServerInfo: protocol.ServerInfo{Name: "fake"}}, nil
}

func (f *fake) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, text)
}

func (f *fake) log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.seen...)
}

func (f *fake) Notification(_ context.Context, method string, params json.RawMessage) {
	f.note(method + string(params))
	if method == "panic" {
		panic("secret")
	}
}

func (f *fake) Lane(method string, params json.RawMessage) string {
	if method == "lanepanic" {
		panic("secret")
	}
	if strings.HasPrefix(method, "lane") {
		return "lane"
	}
	return ""
}

func (f *fake) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	f.note(method + string(params))
	select {
	case f.began <- method:
	default: // nobody counts them
	}
	switch method {
	case "echo", "lane":
		return params, nil
	case "hold", "lanehold":
		select {
		case <-f.holds:
			return "held", nil
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting: %w", ctx.Err())
		}
	case "stubborn":
		<-f.holds
		return "done", nil
	case "panic":
		panic("secret")
	case "typed":
		return nil, fmt.Errorf("wrapped: %w", &Error{Code: -32801, Message: "own", Data: map[string]string{"kind": "busy"}})
	case "plain":
		return nil, io.ErrClosedPipe
	case "params":
		var p struct{ Name string }
		if err := Decode(params, &p); err != nil {
			return nil, err
		}
		return p.Name, nil
	case "position":
		var p protocol.TextDocumentPositionParams
		if err := Decode(params, &p); err != nil {
			return nil, err
		}
		return p.Position, nil
	case "ask":
		var answer string
		err := f.conn.Call(ctx, "question", map[string]int{"n": 1}, &answer)
		return answer, err
	case "function":
		return func() {}, nil
	case "huge":
		return strings.Repeat("x", MaxAnswer), nil
	}
	return nil, ErrMethodNotFound
}

func (f *fake) Closed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
}

// wire is a client on raw bytes.
type wire struct {
	t      *testing.T
	c      net.Conn
	frames *FrameReader
	h      *fake
	code   int
	err    error
	over   chan struct{}
}

func dial(t *testing.T, opt Options) *wire {
	t.Helper()
	here, there := net.Pipe()
	w := &wire{t: t, c: here, frames: NewFrameReader(here, 0, MaxAnswer), h: newFake(), over: make(chan struct{})}
	go func() {
		defer close(w.over)
		w.code, w.err = Serve(context.Background(), there, w.h, opt)
	}()
	t.Cleanup(func() {
		here.Close()
		select {
		case <-w.h.holds:
		default:
			close(w.h.holds)
		}
		w.wait()
		if w.h.closed != 1 {
			t.Errorf("Closed was called %d times", w.h.closed)
		}
	})
	return w
}

// ready is a connection behind initialize.
func ready(t *testing.T, opt Options) *wire {
	t.Helper()
	w := dial(t, opt)
	w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}`)
	w.want(`{"jsonrpc":"2.0","id":0,"result":{"capabilities":{},"serverInfo":{"name":"fake"}}}`)
	w.want(`{"jsonrpc":"2.0","method":"early"}`)
	w.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	return w
}

// wait waits for the end of the connection.
func (w *wire) wait() {
	w.t.Helper()
	select {
	case <-w.over:
	case <-time.After(deadline):
		w.t.Fatal("the connection did not end")
	}
}

func (w *wire) raw(text string) {
	w.t.Helper()
	_ = w.c.SetDeadline(time.Now().Add(deadline))
	if _, err := io.WriteString(w.c, text); err != nil {
		w.t.Logf("write: %v", err)
	}
}

func (w *wire) send(body string) {
	w.t.Helper()
	w.raw(string(AppendFrame(nil, []byte(body))))
}

func (w *wire) read() string {
	w.t.Helper()
	_ = w.c.SetDeadline(time.Now().Add(deadline))
	body, err := w.frames.Read()
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return string(body)
}

func (w *wire) want(body string) {
	w.t.Helper()
	if got := w.read(); got != body {
		w.t.Fatalf("got  %s\nwant %s", got, body)
	}
}

// eof waits for the end of what the server sends.
func (w *wire) eof() {
	w.t.Helper()
	_ = w.c.SetDeadline(time.Now().Add(deadline))
	if body, err := w.frames.Read(); err == nil {
		w.t.Fatalf("got %s, want the end", body)
	}
}

func TestInitializeRequestShutdownExit(t *testing.T) {
	w := ready(t, Options{})
	w.send(`{"jsonrpc":"2.0","id":"a","method":"echo","params":{"x":[1,2]}}`)
	w.want(`{"jsonrpc":"2.0","id":"a","result":{"x":[1,2]}}`)
	w.send(`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`)
	w.want(`{"jsonrpc":"2.0","id":2,"result":null}`)
	w.send(`{"jsonrpc":"2.0","method":"exit"}`)
	w.wait()
	if w.code != 0 || w.err != nil {
		t.Errorf("code %d, error %v", w.code, w.err)
	}
}
