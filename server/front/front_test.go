package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"forklift/server/lsp"
	"forklift/storage/clock"
)

// patience is how long a test waits for anything.
const patience = time.Minute

// side is one end of a connection on raw bytes.
type side struct {
	t      *testing.T
	c      net.Conn
	frames *lsp.FrameReader
}

func newSide(t *testing.T, c net.Conn) *side {
	t.Cleanup(func() { c.Close() })
	return &side{t, c, lsp.NewFrameReader(c, 0, lsp.MaxAnswer)}
}

func (s *side) send(body string) {
	s.t.Helper()
	_ = s.c.SetDeadline(time.Now().Add(patience))
	if _, err := s.c.Write(lsp.AppendFrame(nil, []byte(body))); err != nil {
		s.t.Fatalf("write %s: %v", body, err)
	}
}

func (s *side) read() string {
	s.t.Helper()
	_ = s.c.SetDeadline(time.Now().Add(patience))
	body, err := s.frames.Read()
	if err != nil {
		s.t.Fatalf("read: %v", err)
	}
	return string(body)
}

func (s *side) want(body string) {
	s.t.Helper()
	if got := s.read(); got != body {
		s.t.Fatalf("got  %s\nwant %s", got, body)
	}
}

// world is a front between an editor and daemons that the test plays.
type world struct {
	t       *testing.T
	editor  *side
	daemons chan *side // each connection of the front
	code    int
	err     error
	over    chan struct{}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	here, there := net.Pipe()
	w := &world{t: t, editor: newSide(t, here), daemons: make(chan *side, 10), over: make(chan struct{})}
	go func() {
		defer close(w.over)
		w.code, w.err = Run(context.Background(), Options{
			In: there, Out: there, Clock: clock.System{}, processEvery: time.Millisecond,
			Connect: func(context.Context) (net.Conn, error) {
				a, b := net.Pipe()
				w.daemons <- newSide(t, b)
				return a, nil
			},
		})
		there.Close()
	}()
	t.Cleanup(func() { here.Close(); w.wait() })
	return w
}

func (w *world) wait() {
	w.t.Helper()
	select {
	case <-w.over:
	case <-time.After(patience):
		w.t.Fatal("the front did not end")
	}
}

// daemon is the next daemon that the front connects to.
func (w *world) daemon() *side {
	w.t.Helper()
	select {
	case d := <-w.daemons:
		return d
	case <-time.After(patience):
		w.t.Fatal("the front did not connect")
	}
	return nil
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`
	greet = `{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}`
	ready = `{"jsonrpc":"2.0","method":"initialized","params":{}}`
)

// begin plays the beginning of a session.
func (w *world) begin() *side {
	w.t.Helper()
	d := w.daemon()
	w.editor.send(hello)
	d.want(hello)
	d.send(greet)
	w.editor.want(greet)
	w.editor.send(ready)
	d.want(ready)
	return d
}

// again plays the beginning of a session with a new daemon.
func (w *world) again() *side {
	w.t.Helper()
	d := w.daemon()
	d.want(`{"jsonrpc":"2.0","id":"forklift-front-initialize","method":"initialize","params":{"capabilities":{}}}`)
	d.send(`{"jsonrpc":"2.0","id":"forklift-front-initialize","result":{"capabilities":{}}}`)
	d.want(ready)
	return d
}

func TestMessagesPassAsTheyAre(t *testing.T) {
	w := newWorld(t)
	d := w.begin()
	odd := "{ \"jsonrpc\":\"2.0\",\n\"id\": 1.0e3, \"method\":\"x\", \"extra\": [1,2 ] }"
	w.editor.send(odd)
	d.want(odd)
	d.send(odd)
	w.editor.want(odd)
	w.editor.send(`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`)
	d.read()
	d.send(`{"jsonrpc":"2.0","id":2,"result":null}`)
	w.editor.read()
	w.editor.send(`{"jsonrpc":"2.0","method":"exit"}`)
	d.want(`{"jsonrpc":"2.0","method":"exit"}`)
	d.send(`{"jsonrpc":"2.0","method":"last/words"}`)
	w.editor.want(`{"jsonrpc":"2.0","method":"last/words"}`)
	d.c.Close()
	w.wait()
	if w.code != 0 || w.err != nil {
		t.Errorf("code %d, error %v", w.code, w.err)
	}
}

func TestADaemonThatDiesIsReplaced(t *testing.T) {
	w := newWorld(t)
	d := w.begin()
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"workspace/didChangeWorkspaceFolders","params":{"event":{"added":[],"removed":[]}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a","languageId":"sql","version":1,"text":"one\n"}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///b","languageId":"go","version":4,"text":"b"}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///c","languageId":"go","version":1,"text":"c"}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"range":{"start":{"line":0,"character":3},"end":{"line":1,"character":0}},"text":"!"}]}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///b","version":5},"contentChanges":[{"text":"saved"}]}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didSave","params":{"textDocument":{"uri":"file:///b"}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"file:///c"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"workspace/executeCommand","params":{}}`,
		`{"jsonrpc":"2.0","id":"s","method":"forklift/status"}`,
	} {
		w.editor.send(body)
		d.want(body)
	}
	begin := `{"jsonrpc":"2.0","method":"$/progress","params":{"token":"t","value":{"kind":"begin","title":"x"}}}`
	d.send(begin)
	w.editor.want(begin)
	d.c.Close()
	const lost = `"error":{"code":-32803,"message":"the Forklift daemon ended before it answered; ` + "`forklift status`" + ` tells whether an operation was interrupted"}}`
	w.editor.want(`{"jsonrpc":"2.0","id":"s",` + lost)
	w.editor.want(`{"jsonrpc":"2.0","id":7,` + lost)
	w.editor.want(`{"jsonrpc":"2.0","method":"$/progress","params":{"token":"t","value":{"kind":"end"}}}`)
	d = w.again()
	d.want(`{"jsonrpc":"2.0","method":"workspace/didChangeWorkspaceFolders","params":{"event":{"added":[],"removed":[]}}}`)
	d.want(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a","languageId":"sql","version":1,"text":"one\n"}}}`)
	d.want(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"text":"one!"}]}}`)
	d.want(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///b","languageId":"go","version":5,"text":"saved"}}}`)
	if got := w.editor.read(); !strings.Contains(got, `"window/showMessage"`) || !strings.Contains(got, `"type":2`) {
		t.Error(got)
	}
	w.editor.send(`{"jsonrpc":"2.0","id":7,"method":"again"}`)
	d.want(`{"jsonrpc":"2.0","id":7,"method":"again"}`)
	// One that ends on purpose is replaced without a word.
	d.send(`{"jsonrpc":"2.0","method":"$/forklift/ending","params":{"reason":"newer"}}`)
	d.send(`{"jsonrpc":"2.0","id":7,"result":null}`)
	d.c.Close()
	w.editor.want(`{"jsonrpc":"2.0","id":7,"result":null}`)
	d = w.again()
	w.editor.send(`{"jsonrpc":"2.0","id":8,"method":"shutdown"}`)
	for range 4 { // the folders and the documents
		d.read()
	}
	d.want(`{"jsonrpc":"2.0","id":8,"method":"shutdown"}`)
	d.c.Close()
	w.editor.want(`{"jsonrpc":"2.0","id":8,"result":null}`)
	w.editor.send(`{"jsonrpc":"2.0","method":"exit"}`)
	w.wait()
	if w.code != 0 || w.err != nil {
		t.Errorf("code %d, error %v", w.code, w.err)
	}
}

func TestItDiesBeforeInitializeIsAnswered(t *testing.T) {
	w := newWorld(t)
	d := w.daemon()
	w.editor.send(hello)
	d.want(hello)
	d.c.Close()
	d = w.daemon()
	d.want(hello)
	d.send(greet)
	if got := w.editor.read(); !strings.Contains(got, "showMessage") {
		t.Error(got)
	}
	w.editor.want(greet)
}

func TestADaemonThatKeepsDyingIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.begin().c.Close()
	for range maxRedials - 1 {
		w.again().c.Close()
	}
	w.again().c.Close()
	shown := 0
	for {
		_ = w.editor.c.SetDeadline(time.Now().Add(patience))
		body, err := w.editor.frames.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), `"type":1`) {
			shown++
		}
	}
	w.wait()
	if w.code != 1 || w.err == nil || shown != 1 {
		t.Errorf("code %d, error %v, %d messages", w.code, w.err, shown)
	}
}

func TestTheEditorEnds(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(w *world)
		answer string
	}{
		"end of the input": {do: func(w *world) { w.editor.c.Close() }},
		"exit alone":       {do: func(w *world) { w.editor.send(`{"jsonrpc":"2.0","method":"exit"}`) }},
		"no JSON":          {func(w *world) { w.editor.send(`{"a"`) }, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a message that is not JSON"}}`},
		"no frame":         {func(w *world) { _, _ = io.WriteString(w.editor.c, "hello\r\n\r\n") }, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not a message: the header line \"hello\" has no colon"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.begin()
			go func() { _, _ = io.Copy(io.Discard, d.c); d.c.Close() }()
			c.do(w)
			if c.answer != "" {
				w.editor.want(c.answer)
			}
			w.wait()
			if w.code != 1 {
				t.Errorf("code %d", w.code)
			}
		})
	}
}

func TestNoDaemonAtAll(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	no := errors.New("no")
	code, err := Run(context.Background(), Options{In: there, Out: there, Clock: clock.System{}, Connect: func(context.Context) (net.Conn, error) { return nil, no }})
	if code != 1 || !errors.Is(err, no) {
		t.Errorf("code %d, error %v", code, err)
	}
}

func TestPositions(t *testing.T) {
	text := "a\r\nb𝄞c\rlast"
	for _, c := range []struct {
		encoding        string
		line, character int
		want            string // the rest of the text
	}{
		{"utf-16", 0, 0, text}, {"utf-16", 0, 1, "\r\nb𝄞c\rlast"}, {"utf-16", 0, 99, "\r\nb𝄞c\rlast"}, {"utf-16", 1, 0, "b𝄞c\rlast"},
		{"utf-16", 1, 3, "c\rlast"}, {"utf-8", 1, 5, "c\rlast"}, {"utf-32", 1, 2, "c\rlast"}, {"utf-16", 2, 2, "st"}, {"utf-16", 3, 0, ""}, {"utf-16", 99, 9, ""},
	} {
		ds := documents{encoding: c.encoding}
		if got := text[ds.offset(text, position{c.line, c.character}):]; got != c.want {
			t.Errorf("%s %d:%d: %q, want %q", c.encoding, c.line, c.character, got, c.want)
		}
	}
}

func TestTooMuchTextIsNotKept(t *testing.T) {
	ds := documents{encoding: "utf-16"}
	open := func(uri, text string) {
		ds.note("textDocument/didOpen", fmt.Appendf(nil, `{"textDocument":{"uri":%q,"version":1,"text":%q}}`, uri, text))
	}
	open("file:///a", "a")
	ds.bytes += maxTexts // as if others had it
	open("file:///b", "b")
	ds.bytes -= maxTexts
	if ds.find("file:///a").text != "a" || ds.find("file:///b").text != "" || ds.bytes != 2 {
		t.Errorf("%+v", ds)
	}
	for _, params := range []string{``, `null`, `[]`, `{"textDocument":3}`, `{"textDocument":{"uri":"file:///none"},"contentChanges":[{"text":"x"}]}`} {
		for _, method := range []string{"Open", "Change", "Save", "Close"} {
			ds.note("textDocument/did"+method, []byte(params))
		}
	}
	if len(ds.list) != 2 {
		t.Errorf("%d documents", len(ds.list))
	}
}
