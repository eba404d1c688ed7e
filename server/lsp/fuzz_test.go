package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"

	"go.lsp.dev/protocol"
)

// once is a connection whose client sent everything and reads nothing.
type once struct {
	io.Reader
	bytes.Buffer
}

func (o *once) Read(p []byte) (int, error)  { return o.Reader.Read(p) }
func (o *once) Write(p []byte) (int, error) { return o.Buffer.Write(p) }
func (o *once) Close() error                { return nil }

// echo answers everything.
type echo struct{}

func (echo) Initialize(context.Context, *Conn, *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	return &protocol.InitializeResult{}, nil
}
func (echo) Notification(context.Context, string, json.RawMessage) {}
func (echo) Lane(method string, _ json.RawMessage) string          { return method }
func (echo) Closed()                                               {}
func (echo) Request(_ context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "open":
		var p protocol.DidOpenTextDocumentParams
		return &p, Decode(params, &p)
	case "command":
		var p protocol.ExecuteCommandParams
		return &p, Decode(params, &p)
	case "action":
		var p protocol.CodeActionParams
		return &p, Decode(params, &p)
	}
	return params, nil
}

// FuzzServe sends bytes as they are: what comes back must be whole frames of
// JSON, and the connection must end.
func FuzzServe(f *testing.F) {
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}`
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"open","params":{"textDocument":{"uri":"file:///a","text":"x"}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"command","params":{"command":"c","arguments":[{"a":[1,2.5,null]}]}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`, `[1]`, `{`, `{"jsonrpc":"2.0","id":2,"method":"shutdown"}`,
		`{"jsonrpc":"2.0","method":"exit"}`,
	} {
		f.Add(AppendFrame(AppendFrame(nil, []byte(hello)), []byte(body)))
	}
	f.Add([]byte("Content-Length: 99999999999\r\n\r\n"))
	f.Add([]byte("content-length: 2\nA: b\n\n{}Content-Length: -1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &once{Reader: bytes.NewReader(data)}
		if code, err := Serve(context.Background(), c, echo{}, Options{}); code == 0 && err != nil {
			t.Errorf("code 0 with %v", err)
		}
		frames := NewFrameReader(bytes.NewReader(c.Bytes()), 0, MaxAnswer)
		for {
			body, err := frames.Read()
			if err == io.EOF {
				return
			}
			if err != nil || !json.Valid(body) {
				t.Fatalf("%v: %q", err, c.Bytes())
			}
		}
	})
}

// FuzzParams decodes params of any shape into types of LSP and encodes them
// again.
func FuzzParams(f *testing.F) {
	for _, s := range []string{
		`{"textDocument":{"uri":"file:///a"},"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"context":{"diagnostics":[]}}`,
		`[]`, `null`, `{"command":"c","arguments":[1]}`, `{"contentChanges":[{"text":""}]}`, `{"processId":1,"capabilities":{"window":{}},"workspaceFolders":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return // refused before
		}
		for _, v := range []any{
			new(protocol.InitializeParams), new(protocol.DidOpenTextDocumentParams), new(protocol.DidChangeTextDocumentParams),
			new(protocol.ExecuteCommandParams), new(protocol.CodeActionParams), new(protocol.DidChangeWorkspaceFoldersParams),
			new(protocol.CompletionParams), new(protocol.CodeLensParams),
		} {
			if Decode(data, v) != nil {
				continue
			}
			if out, err := Encode(v); err == nil && !json.Valid(out) {
				t.Fatalf("%T of %s: %s", v, data, out)
			}
		}
	})
}
