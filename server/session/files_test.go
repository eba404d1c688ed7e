package session

import (
	"path/filepath"
	"strings"
	"testing"

	"forklift/commands"
	"forklift/server/lsp"
)

func TestFileTellsItsCheckpoints(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	got := string(e.call("forklift/file", map[string]string{"uri": lsp.FileURI(filepath.Join(s.root, "src/a b.go")).String()}))
	for _, want := range []string{`"path":"src/a b.go"`, `"selected":true`, `"name":"after","has":true,"same":true`, `"has":true,"same":false`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	for _, uri := range []string{"file:///elsewhere/a", "untitled:x", ""} {
		m := e.reply(e.request("forklift/file", map[string]string{"uri": uri}))
		if m.Error == nil || m.Error.Data.Kind != "not-found" {
			t.Errorf("%q: %s", uri, raw(m))
		}
	}
}

func TestCommandsOfTheProject(t *testing.T) {
	s := newStage(t)
	s.engine.Settings.Commands = map[string][]string{"verify": {"python3", "app.py"}, "test": {"make", "test"}}
	s.engine.Distrust = true
	e := connect(t, s.Hub)
	e.open(s.root)
	want := `{"commands":[{"name":"test","argv":["make","test"]},{"name":"verify","argv":["python3","app.py"]}],"trusted":false}`
	if got := string(e.call("forklift/commands", map[string]string{})); got != want {
		t.Errorf("%s", got)
	}
}

// A client saves a file and captures at once: the capture must not be refused
// for what the record said a moment before.
func TestWhatWasToldBeforeAVerbIsRecordedFirst(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	s.write(t, "src/a.txt", "one\n")
	e.open(s.root)
	e.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	uri := lsp.FileURI(filepath.Join(s.root, "src/a.txt")).String()
	e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "version": 1, "languageId": "text", "text": "one\n"}})
	for version := 2; version < 40; version += 2 {
		e.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": []any{map[string]any{"text": "two\n"}}})
		e.call("workspace/executeCommand", map[string]any{"command": "forklift.server.capture"})
		if last := lastUnsaved(s.engine.Calls()); strings.HasSuffix(last, "[]") {
			t.Fatalf("a change is not in the record when the verb runs: %q", last)
		}
		e.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": version + 1}, "contentChanges": []any{map[string]any{"text": "one\n"}}})
		e.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": uri}})
		e.call("workspace/executeCommand", map[string]any{"command": "forklift.server.capture"})
		if last := lastUnsaved(s.engine.Calls()); !strings.HasSuffix(last, "[]") {
			t.Fatalf("a save is not in the record when the verb runs: %q", last)
		}
	}
}

// lastUnsaved is the last record of unsaved buffers before the last capture.
func lastUnsaved(calls []string) (last string) {
	record := ""
	for _, c := range calls {
		switch {
		case strings.HasPrefix(c, "unsaved"):
			record = c
		case strings.HasPrefix(c, "capture"):
			last = record
		}
	}
	return last
}
