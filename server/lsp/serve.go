package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// flushTimeout is how long an ending connection waits for the client to read
// what is queued.
const flushTimeout = 2 * time.Second

// Options are the settings of a connection; the zero value is good.
type Options struct {
	Log         *slog.Logger  // nil: nowhere
	CallTimeout time.Duration // 0: DefaultCallTimeout
	Parallel    int           // requests that run at once; 0: DefaultParallel
	Gate        *Gate         // of all connections of the process; nil: this one is alone
	MaxHeader   int           // 0: MaxHeader
	MaxBody     int           // 0: MaxBody
	// WatchProcess ends the connection when the process that initialize
	// names is gone.
	WatchProcess bool

	processEvery time.Duration // how often; for tests
}

// state is where a connection is in its life.
type state uint8

const (
	stateNew      state = iota // before initialize
	stateReady                 // after it
	stateShutdown              // after shutdown
)

// server is one connection.
type server struct {
	handler Handler
	conn    *Conn
	opt     Options
	log     *slog.Logger
	ctx     context.Context // of all requests
	cancel  context.CancelCauseFunc
	state   state
	gone    chan struct{} // closed when the client's process is gone

	dispatch sync.Mutex // held while a message is handled in wire order
	ended    bool       // nothing is handled any more

	share    *share // of the places of requests that run outside of a lane
	requests sync.WaitGroup
	mu       sync.Mutex
	inflight map[jsonrpc2.ID]context.CancelFunc
	lanes    map[string]chan struct{} // closed when the last of the lane is done
}

// errExit ends the loop: the client said exit.
var errExit = errors.New("exit")

// Serve speaks the protocol over rwc until the connection ends, and closes it.
// It returns when the handler's Closed did: after the last request. The exit
// code is what a process that served only this connection exits with. The
// error says why the connection ended, nil when the client ended it: by exit
// or by closing its side.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, h Handler, opt Options) (exitCode int, err error) {
	s := &server{
		handler: h, conn: newConn(rwc, opt.CallTimeout), opt: opt, log: opt.Log, gone: make(chan struct{}),
		inflight: map[jsonrpc2.ID]context.CancelFunc{}, lanes: map[string]chan struct{}{},
	}
	if opt.Parallel <= 0 {
		opt.Parallel = DefaultParallel
	}
	if opt.Gate == nil {
		opt.Gate = NewGate(opt.Parallel)
	}
	s.share = opt.Gate.share(opt.Parallel)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	loop := make(chan error, 1)
	go func() { loop <- s.loop(NewFrameReader(rwc, opt.MaxHeader, opt.MaxBody)) }()
	select {
	case err = <-loop:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.conn.Done():
		err = s.conn.out.Err()
	case <-s.gone:
		err = errors.New("the client's process is gone")
	}
	s.end(rwc)
	if errors.Is(err, errExit) && s.state == stateShutdown {
		return 0, nil
	}
	if errors.Is(err, errExit) || errors.Is(err, io.EOF) {
		err = nil
	}
	return 1, err
}

// end gives up the requests, lets the client read what is queued, closes the
// connection and waits for the handler.
func (s *server) end(rwc io.Closer) {
	s.dispatch.Lock()
	s.ended = true
	s.dispatch.Unlock()
	s.cancel(ErrClosed)
	_ = s.conn.out.Flush(flushTimeout) // a client that does not read is left
	rwc.Close()
	s.requests.Wait()
	s.contain("closed", func() { s.handler.Closed() })
}

// loop reads and handles messages until one ends the connection.
func (s *server) loop(frames *FrameReader) error {
	for {
		body, err := frames.Read()
		if err != nil {
			if errors.Is(err, errFrame) {
				s.refuse(jsonrpc2.ID{}, CodeParse, err.Error())
			}
			return err
		}
		if err := s.handle(body); err != nil {
			return err
		}
	}
}

// handle handles one message; an error ends the connection.
func (s *server) handle(body []byte) error {
	s.dispatch.Lock()
	defer s.dispatch.Unlock()
	if s.ended {
		return io.EOF
	}
	if !json.Valid(body) {
		s.refuse(jsonrpc2.ID{}, CodeParse, "this is not JSON")
		return errors.New("a message that is not JSON")
	}
	message, err := jsonrpc2.DecodeMessage(body)
	if err != nil {
		s.invalid(body)
		return nil
	}
	switch m := message.(type) {
	case *jsonrpc2.Call:
		s.call(m)
	case *jsonrpc2.Notification:
		return s.notification(m.Method(), json.RawMessage(m.Params()))
	case *jsonrpc2.Response:
		s.conn.answered(m)
	}
	return nil
}

// invalid answers a message that is JSON but no message: with the id if it has
// a good one.
func (s *server) invalid(body []byte) {
	var envelope struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &envelope) // no object: no id
	if envelope.Result != nil || envelope.Error != nil {
		s.log.Warn("ignored a bad answer of the client")
		return
	}
	id, _ := parseID(envelope.ID)
	s.refuse(id, CodeInvalidRequest, "not a request")
}

// parseID reads the id of a request: a number or a string.
func parseID(raw json.RawMessage) (jsonrpc2.ID, bool) {
	var number int64
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return jsonrpc2.ID{}, false
	case json.Unmarshal(raw, &number) == nil:
		return jsonrpc2.NewNumberID(number), true
	case json.Unmarshal(raw, &text) == nil:
		return jsonrpc2.NewStringID(text), true
	}
	return jsonrpc2.ID{}, false
}

// notification handles a notification; errExit ends the connection.
func (s *server) notification(method string, params json.RawMessage) error {
	switch method {
	case "exit":
		return errExit
	case "$/cancelRequest":
		s.cancelRequest(params)
		return nil
	}
	if s.state != stateReady {
		s.log.Debug("dropped a notification outside of initialize and shutdown", "method", method)
		return nil
	}
	s.contain(method, func() { s.handler.Notification(s.ctx, method, params) })
	if method == "initialized" {
		select {
		case <-s.conn.ready:
		default:
			close(s.conn.ready)
		}
	}
	return nil
}

// cancelRequest ends the context of a request; an unknown or bad id is
// ignored.
func (s *server) cancelRequest(params json.RawMessage) {
	var target struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(params, &target) != nil {
		return
	}
	id, ok := parseID(target.ID)
	s.mu.Lock()
	cancel := s.inflight[id]
	s.mu.Unlock()
	if ok && cancel != nil {
		cancel()
	}
}

// initialize answers the initialize request.
func (s *server) initialize(call *jsonrpc2.Call) {
	if s.state != stateNew {
		s.refuse(call.ID(), CodeInvalidRequest, "initialize was sent before")
		return
	}
	var params protocol.InitializeParams
	if err := Decode(json.RawMessage(call.Params()), &params); err != nil {
		s.respond(call.ID(), nil, err)
		return
	}
	var result *protocol.InitializeResult
	err := errPanic
	s.contain("initialize", func() { result, err = s.handler.Initialize(s.ctx, s.conn, &params) })
	s.respond(call.ID(), result, err)
	if err != nil {
		return // it may try again
	}
	s.state = stateReady
	s.conn.out.release()
	if pid := params.ProcessID; pid != nil && s.opt.WatchProcess {
		go func() {
			if WatchProcess(s.conn.Done(), int(*pid), s.opt.processEvery) {
				close(s.gone)
			}
		}()
	}
}

// contain runs f and logs a panic.
func (s *server) contain(what string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "in", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	f()
}
