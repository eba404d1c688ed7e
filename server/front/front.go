package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"forklift/server/lsp"
	"forklift/storage/clock"
)

const (
	// maxRedials is how often a daemon that died is replaced in redialSpan.
	maxRedials = 3
	redialSpan = time.Minute
	// redialPause is the wait before the second try, doubled for the third.
	redialPause = 200 * time.Millisecond
	// replayTimeout is how long a new daemon may take to answer initialize.
	replayTimeout = 10 * time.Second
	// flushTimeout is how long the editor may take to read the rest.
	flushTimeout = 2 * time.Second
	// maxKept bounds the messages that are sent again, in bytes.
	maxKept = 4 << 20
)

// Options are what a front is made of.
type Options struct {
	In  io.Reader      // the editor's messages
	Out io.WriteCloser // frames, and nothing else
	// Connect reaches a daemon and starts one when needed.
	Connect func(ctx context.Context) (net.Conn, error)
	Clock   clock.Clock
	// Log gets one line for each thing that went wrong; nil: nowhere.
	Log func(text string)

	processEvery time.Duration // for tests
}

// front is one editor's connection.
type front struct {
	opt   Options
	out   *lsp.Outbox
	input chan input    // from the editor
	gone  chan struct{} // closed when the editor's process is gone
	over  chan struct{} // closed when Run returns

	daemon net.Conn
	toward *lsp.Outbox // to the daemon
	output chan input  // from the daemon

	initialize json.RawMessage // the editor's params; nil before
	answered   bool            // initialize was
	initID     string
	ready      bool     // the editor said initialized
	kept       [][]byte // notifications to send again
	keptBytes  int
	docs       documents
	requests   map[string]bool            // ids that the daemon has to answer
	progress   map[string]json.RawMessage // tokens that the daemon began
	shutdown   bool
	shutdownID string
	ending     bool // the daemon ends on purpose
	redials    []time.Time
}

// input is one message, or why there are no more.
type input struct {
	body []byte
	err  error
}

// envelope is what the front reads of a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// errExit ends the front: the editor said exit.
var errExit = errors.New("exit")

// Run speaks for the daemon until the editor ends, and gives the exit code. An
// error says why it ended without the editor's will.
func Run(ctx context.Context, opt Options) (exitCode int, err error) {
	f := &front{
		opt: opt, out: lsp.NewOutbox(opt.Out), input: make(chan input), gone: make(chan struct{}), over: make(chan struct{}),
		docs: documents{encoding: "utf-16"}, requests: map[string]bool{}, progress: map[string]json.RawMessage{},
	}
	if f.opt.Log == nil {
		f.opt.Log = func(string) {}
	}
	defer close(f.over)
	go read(lsp.NewFrameReader(opt.In, 0, 0), f.input, f.over)
	if err = f.connect(ctx); err == nil {
		err = f.loop(ctx)
	}
	if f.daemon != nil {
		_ = f.toward.Flush(flushTimeout) // the daemon may be gone
		if errors.Is(err, errExit) {
			f.lastWords()
		}
		f.daemon.Close()
	}
	if flushed := f.out.Flush(flushTimeout); err == nil {
		err = flushed
	}
	switch {
	case errors.Is(err, errExit) && f.shutdown:
		return 0, nil
	case errors.Is(err, errExit), errors.Is(err, io.EOF):
		return 1, nil
	}
	return 1, err
}

// read reads messages until one cannot be read.
func read(frames *lsp.FrameReader, to chan<- input, over <-chan struct{}) {
	for {
		body, err := frames.Read()
		select {
		case to <- input{body, err}:
		case <-over:
			return
		}
		if err != nil {
			return
		}
	}
}

// connect reaches a daemon.
func (f *front) connect(ctx context.Context) error {
	conn, err := f.opt.Connect(ctx)
	if err != nil {
		return err
	}
	f.daemon, f.toward, f.output, f.ending = conn, lsp.NewOutbox(conn), make(chan input), false
	go read(lsp.NewFrameReader(conn, 0, lsp.MaxAnswer+lsp.MaxHeader), f.output, f.over)
	return nil
}

// loop passes messages on until one side ends.
func (f *front) loop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.gone:
			return errors.New("the editor's process is gone")
		case <-f.out.Done():
			return f.out.Err()
		case m := <-f.input:
			if err := f.fromEditor(m); err != nil {
				return err
			}
		case m := <-f.output:
			if m.err == nil {
				f.fromDaemon(m.body)
				continue
			}
			if err := f.restart(ctx, m.err); err != nil {
				return err
			}
		}
	}
}

// lastWords passes on what the daemon still says after exit: the answers
// before it.
func (f *front) lastWords() {
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	for {
		select {
		case m := <-f.output:
			if m.err != nil {
				return
			}
			f.fromDaemon(m.body)
		case <-timer.C:
			return
		}
	}
}

// fromEditor takes a message of the editor; an error ends the front.
func (f *front) fromEditor(m input) error {
	var e envelope
	if m.err == nil && !json.Valid(m.body) {
		m.err = errors.New("a message that is not JSON")
	}
	if m.err != nil {
		if !errors.Is(m.err, io.EOF) && !errors.Is(m.err, io.ErrUnexpectedEOF) {
			f.answer(json.RawMessage("null"), lsp.CodeParse, m.err.Error())
		}
		return m.err
	}
	_ = json.Unmarshal(m.body, &e) // what is no object is the daemon's to answer
	_ = f.toward.Send(m.body)      // a daemon that is gone is seen by its reader
	if e.Method == nil {
		return nil
	}
	if len(e.ID) > 0 && string(e.ID) != "null" {
		f.request(string(e.ID), *e.Method, e.Params)
		return nil
	}
	return f.notification(*e.Method, e.Params, m.body)
}

// request notes a request of the editor.
func (f *front) request(id, method string, params json.RawMessage) {
	f.requests[id] = true
	switch method {
	case "initialize":
		if f.initialize == nil {
			f.initID = id
			if f.initialize = params; params == nil {
				f.initialize = json.RawMessage("{}")
			}
			f.watch(params)
		}
	case "shutdown":
		f.shutdown, f.shutdownID = f.answered, id
	}
}

// watch ends the front when the process that initialize names is gone.
func (f *front) watch(params json.RawMessage) {
	var p struct {
		ProcessID int `json:"processId"`
	}
	if json.Unmarshal(params, &p) != nil || p.ProcessID == 0 {
		return
	}
	go func() {
		if lsp.WatchProcess(f.over, p.ProcessID, f.opt.processEvery) {
			close(f.gone)
		}
	}()
}

// notification notes a notification of the editor.
func (f *front) notification(method string, params json.RawMessage, body []byte) error {
	switch method {
	case "exit":
		return errExit
	case "initialized":
		f.ready = true
	case "workspace/didChangeWorkspaceFolders", "workspace/didChangeConfiguration":
		if f.keptBytes += len(body); f.keptBytes <= maxKept {
			f.kept = append(f.kept, body)
		}
	default:
		f.docs.note(method, params)
	}
	return nil
}

// answer answers a request of the editor in the daemon's place.
func (f *front) answer(id json.RawMessage, code int, text string) {
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   any             `json:"error"`
	}{"2.0", id, map[string]any{"code": code, "message": text}})
	if err == nil {
		_ = f.out.Send(body) // an editor that is gone is seen by the loop
	}
}

// show tells the user something.
func (f *front) show(kind int, text string) {
	_ = f.out.Send(notification("window/showMessage", map[string]any{"type": kind, "message": text}))
}

// The kinds of a message that is shown.
const (
	messageError   = 1
	messageWarning = 2
)

// describe says what went wrong in one line.
func describe(err error) string {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the daemon ended"
	}
	return fmt.Sprintf("the daemon is lost: %v", err)
}
