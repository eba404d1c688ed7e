package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests of this file are the cases in which a plain JSON-RPC library goes
// wrong, each on raw bytes: after every one the connection must go on.

// goesOn asks for an answer to prove that the connection lives.
func (w *wire) goesOn() {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"still","method":"echo","params":{}}`)
	w.want(`{"jsonrpc":"2.0","id":"still","result":{}}`)
}

func TestNotificationsKeepTheOrderOfTheWire(t *testing.T) {
	w := ready(t, Options{})
	const n = 20000
	var all strings.Builder
	for i := range n {
		all.Write(AppendFrame(nil, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"v":%d}}`, i)))
	}
	w.raw(all.String())
	w.goesOn()
	i := 0
	for _, seen := range w.h.log() {
		if !strings.HasPrefix(seen, "textDocument/didChange") {
			continue
		}
		if want := fmt.Sprintf(`textDocument/didChange{"v":%d}`, i); seen != want {
			t.Fatalf("got %s, want %s", seen, want)
		}
		i++
	}
	if i != n {
		t.Errorf("%d of %d handled", i, n)
	}
}

func TestRequestsOfALaneKeepTheOrderOfTheWire(t *testing.T) {
	w := ready(t, Options{})
	const n = 2000
	go func() {
		var all strings.Builder
		for i := range n {
			all.Write(AppendFrame(nil, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"lane","params":{"n":%d}}`, i+10, i)))
		}
		_, _ = io.WriteString(w.c, all.String())
	}()
	for range n {
		w.read()
	}
	i := 0
	for _, seen := range w.h.log() {
		if !strings.HasPrefix(seen, "lane") {
			continue
		}
		if want := fmt.Sprintf(`lane{"n":%d}`, i); seen != want {
			t.Fatalf("got %s, want %s", seen, want)
		}
		i++
	}
	if i != n {
		t.Errorf("%d of %d handled", i, n)
	}
}

func TestALaneWaitsAndOthersDoNot(t *testing.T) {
	w := ready(t, Options{})
	w.send(`{"jsonrpc":"2.0","id":1,"method":"lanehold"}`)
	w.send(`{"jsonrpc":"2.0","id":2,"method":"lane","params":{}}`)
	w.send(`{"jsonrpc":"2.0","id":3,"method":"lane","params":{"last":1}}`)
	w.goesOn()
	// One that is cancelled in the queue is answered at once, and the others
	// keep their places.
	w.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}`)
	w.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"cancelled"}}`)
	w.goesOn()
	close(w.h.holds)
	w.want(`{"jsonrpc":"2.0","id":1,"result":"held"}`)
	w.want(`{"jsonrpc":"2.0","id":3,"result":{"last":1}}`)
}

func TestWhatComesOutOfTurnIsAnswered(t *testing.T) {
	w := dial(t, Options{})
	w.send(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	w.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"initialize was not sent yet"}}`)
	w.send(`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`)
	w.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"initialize was not sent yet"}}`)
	w.send(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}`)
	w.send(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"capabilities":3}}`)
	if got := w.read(); !strings.Contains(got, `"id":3,"error":{"code":-32602`) {
		t.Errorf("initialize with bad params: %s", got)
	}
	w.send(`{"jsonrpc":"2.0","id":4,"method":"initialize","params":[]}`)
	w.want(`{"jsonrpc":"2.0","id":4,"result":{"capabilities":{},"serverInfo":{"name":"fake"}}}`)
	w.want(`{"jsonrpc":"2.0","method":"early"}`)
	w.send(`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"capabilities":{}}}`)
	w.want(`{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"initialize was sent before"}}`)
	w.send(`{"jsonrpc":"2.0","id":6,"method":"shutdown"}`)
	w.want(`{"jsonrpc":"2.0","id":6,"result":null}`)
	for _, method := range []string{"echo", "initialize", "shutdown"} {
		w.send(`{"jsonrpc":"2.0","id":7,"method":"` + method + `"}`)
		w.want(`{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"shutdown was sent before"}}`)
	}
	w.send(`{"jsonrpc":"2.0","method":"note"}`)
	w.send(`{"jsonrpc":"2.0","method":"exit"}`)
	w.wait()
	if w.code != 0 || len(w.h.log()) != 0 {
		t.Errorf("code %d, handled %v", w.code, w.h.log())
	}
}

func TestBadNotificationsAreIgnored(t *testing.T) {
	w := ready(t, Options{})
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"unknown/notification"}`,
		`{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":7}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didSave","params":"text"}`,
		`{"jsonrpc":"2.0","method":"panic","params":{}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":null}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1.5}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":4294967296}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99999999999999999999}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":{"a":1}}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":[]}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest"}`,
		`{"jsonrpc":"2.0","id":null,"method":"note"}`,
		`{"jsonrpc":"2.0","id":"nobody","result":1}`,
		`{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1.5,"result":1}`,
		`{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"x"}}`,
	} {
		w.send(body)
		w.goesOn()
	}
}

func TestCancel(t *testing.T) {
	w := ready(t, Options{})
	for _, id := range []string{`1`, `"one"`, `4294967296`, `-3`} {
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"hold"}`)
		w.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
		w.want(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32800,"message":"cancelled"}}`)
		w.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`) // it is over
	}
	// "1" is not 1.
	w.send(`{"jsonrpc":"2.0","id":1,"method":"stubborn"}`)
	w.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"1"}}`)
	w.goesOn()
	// One that is past the point of no return is answered with its result.
	w.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
	w.goesOn()
	close(w.h.holds)
	w.want(`{"jsonrpc":"2.0","id":1,"result":"done"}`)
}

func TestErrorsOfRequests(t *testing.T) {
	var logged strings.Builder
	w := ready(t, Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	for _, c := range []struct{ method, params, want string }{
		{"unknown", `{}`, `"error":{"code":-32601,"message":"method not found"}`},
		{"$/unknown", `{}`, `"error":{"code":-32601,"message":"method not found"}`},
		{"panic", `{}`, `"error":{"code":-32603,"message":"internal error"}`},
		{"lanepanic", `{}`, `"error":{"code":-32601,"message":"method not found"}`},
		{"function", `{}`, `"error":{"code":-32603,"message":"internal error"}`},
		{"huge", `{}`, `"error":{"code":-32803,"message":"the answer is too large"}`},
		{"plain", `{}`, `"error":{"code":-32603,"message":"io: read/write on closed pipe"}`},
		{"typed", `{}`, `"error":{"code":-32801,"message":"own","data":{"kind":"busy"}}`},
		{"params", `{"name":3}`, `"error":{"code":-32602,"message":"invalid params: json: cannot unmarshal number into Go struct field .Name of type string"}`},
		{"params", `"x"`, `"error":{"code":-32602,`},
		{"position", `{"position":{"line":"a"}}`, `"error":{"code":-32602,`},
		{"params", `[]`, `"result":""`},
		{"params", `null`, `"result":""`},
		{"params", ``, `"result":""`},
		{"params", `{"name":"n"}`, `"result":"n"`},
		{"position", `{"textDocument":{"uri":"file:///a"},"position":{"line":1,"character":2}}`, `"result":{"line":1,"character":2}`},
		{"echo", ``, `"result":null`},
	} {
		params := ""
		if c.params != "" {
			params = `,"params":` + c.params
		}
		w.send(`{"jsonrpc":"2.0","id":5,"method":"` + c.method + `"` + params + `}`)
		if got := w.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":5,`+c.want) {
			t.Errorf("%s %s: got %.300s", c.method, c.params, got)
		}
	}
	w.goesOn()
	w.send(`{"jsonrpc":"2.0","method":"exit"}`)
	w.wait()
	if !strings.Contains(logged.String(), "secret") {
		t.Error("the panic was not logged")
	}
}

func TestDuplicateIDs(t *testing.T) {
	w := ready(t, Options{})
	w.send(`{"jsonrpc":"2.0","id":1,"method":"hold"}`)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	w.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request with this id is not answered yet"}}`)
	w.send(`{"jsonrpc":"2.0","id":"1","method":"echo"}`)
	w.want(`{"jsonrpc":"2.0","id":"1","result":null}`)
	close(w.h.holds)
	w.want(`{"jsonrpc":"2.0","id":1,"result":"held"}`)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	w.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
}

func TestMessagesThatAreNone(t *testing.T) {
	w := ready(t, Options{})
	for body, id := range map[string]string{
		`[]`: "null", `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`: "null", `3`: "null", `"x"`: "null", `null`: "null", `{}`: "null",
		`{"jsonrpc":"1.0","id":8,"method":"echo"}`: "8", `{"id":8,"method":"echo"}`: "8",
		`{"jsonrpc":"2.0","id":1.5,"method":"echo"}`: "null", `{"jsonrpc":"2.0","id":[1],"method":"echo"}`: "null",
		`{"jsonrpc":"2.0","id":"a","method":7}`: `"a"`, `{"jsonrpc":"2.0","id":9}`: "9",
	} {
		w.send(body)
		w.want(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,"message":"not a request"}}`)
		w.goesOn()
	}
}

func TestFramesThatAreNone(t *testing.T) {
	long := strings.Repeat("x", MaxHeader)
	for name, c := range map[string]struct{ bytes, answer string }{
		"no JSON":             {"Content-Length: 5\r\n\r\n{\"a\":", "this is not JSON"},
		"empty body":          {"Content-Length: 0\r\n\r\n", `not a message: Content-Length "0"`},
		"trailing JSON":       {"Content-Length: 4\r\n\r\n{}{}", "this is not JSON"},
		"huge":                {"Content-Length: 99999999999\r\n\r\n", "not a message: a body of 99999999999 bytes, the limit is 16777216"},
		"just too large":      {"Content-Length: 16777217\r\n\r\n", "not a message: a body of 16777217 bytes, the limit is 16777216"},
		"negative":            {"Content-Length: -1\r\n\r\n", `not a message: Content-Length "-1"`},
		"no number":           {"Content-Length: 0x10\r\n\r\n", `not a message: Content-Length "0x10"`},
		"beyond 64 bits":      {"Content-Length: 99999999999999999999\r\n\r\n", `not a message: Content-Length "99999999999999999999"`},
		"garbage":             {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", `not a message: the header line "GET / HTTP/1.1" has no colon`},
		"no length":           {"Content-Type: x\r\n\r\n", "not a message: no Content-Length"},
		"header without end":  {"Content-Length" + long, "not a message: a header line of more than 8192 bytes"},
		"headers without end": {strings.Repeat("A: b\r\n", MaxHeaderLines+1), "not a message: more than 16 header lines"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ready(t, Options{})
			go func() { _, _ = io.WriteString(w.c, c.bytes) }() // the server does not read to the end
			answer, _ := json.Marshal(c.answer)
			w.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":` + string(answer) + `}}`)
			w.eof()
			w.wait()
			if w.code != 1 || w.err == nil {
				t.Errorf("code %d, error %v", w.code, w.err)
			}
		})
	}
}

func TestHeadersInAnyCase(t *testing.T) {
	w := ready(t, Options{})
	body := `{"jsonrpc":"2.0","id":1,"method":"echo"}`
	for _, header := range []string{
		"content-length: %d\r\n\r\n", "CONTENT-LENGTH:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n", "X-Other: 1\nContent-Length: %d\n\n",
	} {
		w.raw(fmt.Sprintf(header, len(body)) + body)
		w.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
	}
}

func TestTheEnds(t *testing.T) {
	for name, c := range map[string]struct {
		last string
		code int
	}{
		"shutdown and exit": {`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`, 0}, "exit alone": {"", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := ready(t, Options{})
			if c.last != "" {
				w.send(c.last)
				w.read()
			}
			w.send(`{"jsonrpc":"2.0","method":"exit"}`)
			w.wait()
			if w.code != c.code || w.err != nil {
				t.Errorf("code %d, error %v", w.code, w.err)
			}
		})
	}
	t.Run("end of the input", func(t *testing.T) {
		w := ready(t, Options{})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"hold"}`)
		<-w.h.began
		w.c.Close()
		w.wait() // the request was cancelled
		if w.code != 1 || w.err != nil {
			t.Errorf("code %d, error %v", w.code, w.err)
		}
	})
	t.Run("end inside a frame", func(t *testing.T) {
		w := ready(t, Options{})
		w.raw("Content-Length: 100\r\n\r\n{")
		w.c.Close()
		w.wait()
		if w.code != 1 || !errors.Is(w.err, io.ErrUnexpectedEOF) {
			t.Errorf("code %d, error %v", w.code, w.err)
		}
	})
}

func TestTheClientsProcessEnds(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := dial(t, Options{WatchProcess: true, processEvery: time.Millisecond})
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":%d,"capabilities":{}}}`, cmd.Process.Pid))
	w.read()
	w.read()
	w.goesOn()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	w.wait()
	if w.code != 1 || w.err == nil || !strings.Contains(w.err.Error(), "process is gone") {
		t.Errorf("code %d, error %v", w.code, w.err)
	}
	// One that is unknown here, and none at all, are not watched.
	for _, pid := range []string{fmt.Sprint(cmd.Process.Pid), "null", "0"} {
		w := dial(t, Options{WatchProcess: true, processEvery: time.Millisecond})
		w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":` + pid + `,"capabilities":{}}}`)
		w.read()
		w.read()
		w.goesOn()
	}
}

func TestCallsOfTheClient(t *testing.T) {
	w := ready(t, Options{CallTimeout: 50 * time.Millisecond})
	ask := func() string {
		w.send(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
		var m struct{ ID, Method string }
		if err := json.Unmarshal([]byte(w.read()), &m); err != nil || m.Method != "question" {
			t.Fatalf("%v: %+v", err, m)
		}
		return m.ID
	}
	w.send(`{"jsonrpc":"2.0","id":"` + ask() + `","result":"yes"}`)
	w.want(`{"jsonrpc":"2.0","id":1,"result":"yes"}`)
	w.send(`{"jsonrpc":"2.0","id":"` + ask() + `","error":{"code":-32601,"message":"cannot"}}`)
	w.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"cannot"}}`)
	// One that never answers is not waited for, and its late answer ignored.
	id := ask()
	w.want(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"` + id + `"}}`)
	w.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"question: the client did not answer within 50ms: context deadline exceeded"}}`)
	w.send(`{"jsonrpc":"2.0","id":"` + id + `","result":"late"}`)
	w.goesOn()
}

func TestAClientThatDoesNotRead(t *testing.T) {
	w := ready(t, Options{})
	w.goesOn()
	text := strings.Repeat("x", MaxAnswer/2)
	var err error
	for range 6 {
		if err = w.h.conn.Notify(context.Background(), "note", text); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("more than the limit was queued")
	}
	w.wait()
	if w.code != 1 || w.err == nil {
		t.Errorf("code %d, error %v", w.code, w.err)
	}
	if err := w.h.conn.Notify(context.Background(), "note", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := w.h.conn.Call(context.Background(), "ask", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestNotificationsAreSentInOrder(t *testing.T) {
	w := ready(t, Options{})
	w.goesOn()
	const n = 1000
	go func() {
		for i := range n {
			_ = w.h.conn.Notify(context.Background(), "n", i)
		}
	}()
	for i := range n {
		w.want(fmt.Sprintf(`{"jsonrpc":"2.0","method":"n","params":%d}`, i))
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	w := ready(t, Options{})
	const n = 500
	var sent sync.WaitGroup
	sent.Go(func() {
		for i := range n {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"n":%d}}`, i, i))
		}
	})
	var got []int
	for range n {
		var m struct {
			ID     int
			Result struct{ N int }
		}
		if err := json.Unmarshal([]byte(w.read()), &m); err != nil || m.ID != m.Result.N {
			t.Fatalf("%v: %+v", err, m)
		}
		got = append(got, m.ID)
	}
	sent.Wait()
	slices.Sort(got)
	if got[0] != 0 || got[n-1] != n-1 {
		t.Errorf("answers %d to %d", got[0], got[n-1])
	}
}
