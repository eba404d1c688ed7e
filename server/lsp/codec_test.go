package lsp

import (
	"errors"
	"testing"

	"go.lsp.dev/protocol"
)

func TestEncode(t *testing.T) {
	type inner struct {
		N     int      `json:"n,omitempty"`
		False bool     `json:"false,omitempty"`
		List  []string `json:"list"`
	}
	type both struct {
		N     int            `json:"n,omitempty"`
		Range protocol.Range `json:"range"`
		List  []string       `json:"list"`
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{inner{}, `{"list":null}`}, // as encoding/json does, and --json with it
		{&inner{List: []string{"<"}}, `{"list":["\u003c"]}`},
		{protocol.Position{Line: 1}, `{"line":1,"character":0}`},
		{[]protocol.Position{{Line: 1}}, `[{"line":1,"character":0}]`},
		{both{}, `{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"list":null}`},
		{[]both{}, `[]`},
	} {
		got, err := Encode(c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%T: %s, %v, want %s", c.v, got, err, c.want)
		}
	}
	if _, err := Encode(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestDecode(t *testing.T) {
	for _, text := range []string{"", "null", " [] ", "{}"} {
		var p protocol.TextDocumentPositionParams
		var own struct{ A int }
		if err := Decode([]byte(text), &p); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := Decode([]byte(text), &own); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	var p protocol.TextDocumentPositionParams
	if err := Decode([]byte(`{"position":[]}`), &p); !errors.Is(err, ErrParams) {
		t.Error(err)
	}
	var own struct{ A int }
	if err := Decode([]byte(`{"a":"x"}`), &own); !errors.Is(err, ErrParams) {
		t.Error(err)
	}
}

func TestFilePath(t *testing.T) {
	for text, want := range map[string]string{
		"file:///a/b":                "/a/b",
		"file:///a/b%20c/%25%23%3F/": "/a/b c/%#?",
		"file://localhost/a":         "/a",
		"FILE:///a/../b":             "/b",
		"file:///gr%C3%B6%C3%9Fe":    "/größe",
		"":                           "", "untitled:Untitled-1": "", "vscode-vfs://github/a/b": "", "/a/b": "", "file:": "", "file://host/a": "",
		"file:relative": "", "%%": "", "file:///a%zz": "", "file:///a%00b": "", "forklift:///a": "",
	} {
		got, err := FilePath(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if err != nil && !errors.Is(err, ErrParams) {
			t.Errorf("%q: %v", text, err)
		}
		if want == "" {
			continue
		}
		if back, err := FilePath(string(FileURI(want))); back != want {
			t.Errorf("%s: its URI %s is %q, %v", want, FileURI(want), back, err)
		}
	}
}
