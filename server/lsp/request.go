package lsp

import (
	"context"
	"encoding/json"
	"errors"

	"go.lsp.dev/jsonrpc2"
)

// maxInFlight is how many requests of a connection may be open.
const maxInFlight = 16 << 10

// errPanic stands for an error that the client is told nothing about.
var errPanic = errors.New("internal error")

// call takes a request in wire order: it is refused, answered, or registered
// and started.
func (s *server) call(call *jsonrpc2.Call) {
	id, method, params := call.ID(), call.Method(), json.RawMessage(call.Params())
	switch {
	case method == "initialize" && s.state != stateShutdown:
		s.initialize(call)
		return
	case s.state == stateNew:
		s.refuse(id, CodeNotInitialized, "initialize was not sent yet")
		return
	case s.state == stateShutdown:
		s.refuse(id, CodeInvalidRequest, "shutdown was sent before")
		return
	case method == "shutdown":
		s.state = stateShutdown
		s.respond(id, nil, nil)
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	if code, text := s.register(id, cancel); code != 0 {
		cancel()
		s.refuse(id, code, text)
		return
	}
	before, done := s.ticket(method, params)
	s.requests.Add(1)
	go func() {
		defer s.requests.Done()
		defer s.leave(done, before)
		result, err := s.run(ctx, before, done.name != "", method, params)
		if err != nil && ctx.Err() != nil && !errors.As(err, new(*Error)) {
			err = context.Canceled
		}
		cancel()
		s.mu.Lock()
		delete(s.inflight, id) // before the answer: the client may use the id again
		s.mu.Unlock()
		s.respond(id, result, err)
	}()
}

// register notes a request; a code says why it is refused.
func (s *server) register(id jsonrpc2.ID, cancel context.CancelFunc) (code int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inflight[id] != nil {
		return CodeInvalidRequest, "a request with this id is not answered yet"
	}
	if len(s.inflight) >= maxInFlight {
		return CodeRequestFailed, "too many requests are not answered yet"
	}
	s.inflight[id] = cancel
	return 0, ""
}

// lane is the ticket of a request in its queue.
type lane struct {
	name string
	done chan struct{}
}

// ticket takes the place of a request in its lane: before is closed when its
// turn comes, nil means at once.
func (s *server) ticket(method string, params json.RawMessage) (before <-chan struct{}, own lane) {
	name := ""
	s.contain(method, func() { name = s.handler.Lane(method, params) })
	if name == "" {
		return nil, lane{}
	}
	own = lane{name: name, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.lanes[name]; last != nil {
		before = last
	}
	s.lanes[name] = own.done
	return before, own
}

// leave gives the turn to the next of the lane. A request that was cancelled
// in the queue waits for those before it, so that the order stays.
func (s *server) leave(own lane, before <-chan struct{}) {
	if own.done == nil {
		return
	}
	if before != nil {
		<-before
	}
	close(own.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[own.name] == own.done {
		delete(s.lanes, own.name)
	}
}

// run waits for the turn of a request, in its lane or among all that have none, and lets the handler answer it.
func (s *server) run(ctx context.Context, before <-chan struct{}, laned bool, method string, params json.RawMessage) (result any, err error) {
	if before != nil {
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !laned {
		if err := s.share.enter(ctx); err != nil {
			return nil, err
		}
		defer s.share.leave()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = errPanic
	s.contain(method, func() { result, err = s.handler.Request(ctx, method, params) })
	return result, err
}

// respond answers a request with a result or an error.
func (s *server) respond(id jsonrpc2.ID, result any, err error) {
	var raw json.RawMessage
	if err == nil {
		if raw, err = Encode(result); err != nil {
			s.log.Error("encode a result", "error", err)
			err = errPanic
		}
	}
	body := jsonrpc2.AppendResponse(nil, id, jsonrpc2.RawMessage(raw), s.wireError(err))
	if len(body) > MaxAnswer {
		body = jsonrpc2.AppendResponse(nil, id, nil, jsonrpc2.NewError(CodeRequestFailed, "the answer is too large"))
	}
	_ = s.conn.out.Send(body) // the connection ended: nobody is there
}

// refuse answers a message with an error of this package.
func (s *server) refuse(id jsonrpc2.ID, code int, text string) {
	s.respond(id, nil, &Error{Code: code, Message: text})
}

// wireError is an error as the client gets it; nil stays nil.
func (s *server) wireError(err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	switch {
	case errors.As(err, &own):
		wire := jsonrpc2.NewError(jsonrpc2.Code(own.Code), own.Message)
		if own.Data != nil {
			data, err := Encode(own.Data)
			if err != nil {
				s.log.Error("encode the data of an error", "error", err)
			}
			wire.Data = jsonrpc2.RawMessage(data)
		}
		return wire
	case errors.Is(err, context.Canceled):
		return jsonrpc2.NewError(CodeCancelled, "cancelled")
	case errors.Is(err, ErrMethodNotFound):
		return jsonrpc2.NewError(CodeMethodNotFound, err.Error())
	case errors.Is(err, ErrParams):
		return jsonrpc2.NewError(CodeInvalidParams, err.Error())
	}
	return jsonrpc2.NewError(CodeInternal, err.Error())
}
