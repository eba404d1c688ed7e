package session

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"forklift/commands"
	"forklift/engine"
	"forklift/engine/config"
	"forklift/server/lsp"
)

// diagnostics waits for diagnostics of a file whose codes are want, in order.
func (e *editor) diagnostics(file, want string) message {
	e.t.Helper()
	uri := lsp.FileURI(file).String()
	return e.until(fmt.Sprintf("diagnostics %q of %s", want, filepath.Base(file)), func(m message) bool {
		var p struct {
			URI         string
			Diagnostics []struct{ Code string }
		}
		if m.Method != "textDocument/publishDiagnostics" || json.Unmarshal(m.Params, &p) != nil || p.URI != uri {
			return false
		}
		var codes []string
		for _, d := range p.Diagnostics {
			codes = append(codes, d.Code)
		}
		return strings.Join(codes, " ") == want
	})
}

// forget leaves out what came so far.
func (e *editor) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = nil
}

func (e *editor) show(file, text string) string {
	uri := lsp.FileURI(file).String()
	e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "version": 1, "languageId": "json", "text": text}})
	return uri
}

func (e *editor) retype(uri string, version int, text string) {
	e.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": []any{map[string]any{"text": text}}})
}

func TestTheConfigurationIsDiagnosedAsItIsTyped(t *testing.T) {
	s := newStage(t)
	name := filepath.Join(s.root, config.Name)
	s.write(t, config.Name, `{"format": 1, "source": ["nowhere"]}`)
	e := connect(t, s.Hub)
	e.open(s.root)
	e.diagnostics(name, "missing-path")
	uri := e.show(name, `{"format": 1, "source": ["src"]}`)
	e.diagnostics(name, "")
	e.retype(uri, 2, `{"format": 1, "source": ["src"], "gitignore": "skip"}`)
	m := e.diagnostics(name, "unknown-key")
	if !strings.Contains(string(m.Params), `"version":2`) {
		t.Errorf("no version in %s", m.Params)
	}
	at := map[string]any{"line": 0, "character": 36}
	where := map[string]any{"textDocument": map[string]any{"uri": uri}, "range": map[string]any{"start": at, "end": at}, "context": map[string]any{"diagnostics": []any{}}, "position": at}
	actions := string(e.call("textDocument/codeAction", where))
	for _, want := range []string{`"title":"Change it to \"gitignored\""`, `"newText":"\"gitignored\""`, `"title":"Remove the key"`, `"isPreferred":true`} {
		if !strings.Contains(actions, want) {
			t.Errorf("no %s in %s", want, actions)
		}
	}
	e.retype(uri, 3, `{"format": 1, "source": ["src"], "gitignored": "skip"}`)
	if h := string(e.call("textDocument/hover", where)); !strings.Contains(h, "**gitignored**") {
		t.Errorf("hover: %s", h)
	}
	at["character"] = 26
	if c := string(e.call("textDocument/completion", where)); !strings.Contains(c, `"newText":"\"src\""`) {
		t.Errorf("completion: %s", c)
	}
	for _, method := range []string{"textDocument/hover", "textDocument/completion"} {
		other := map[string]any{"textDocument": map[string]any{"uri": lsp.FileURI(filepath.Join(s.root, "src/a.json")).String()}, "position": at}
		if got := string(e.call(method, other)); got != "null" {
			t.Errorf("%s elsewhere: %s", method, got)
		}
	}
	e.forget()
	e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
	e.diagnostics(name, "missing-path")
}

func TestTrustIsOfferedForWhatIsOnDisk(t *testing.T) {
	s := newStage(t)
	s.engine.SetStatus(func(r *engine.StatusResult) { r.Trusted = false })
	name := filepath.Join(s.root, config.Name)
	text := `{"format": 1, "source": ["src"], "hooks": {"stop": ["/bin/sh"]}}`
	s.write(t, config.Name, text)
	e := connect(t, s.Hub)
	e.open(s.root)
	e.diagnostics(name, "untrusted")
	const offer = "quickfix Forklift: trust this configuration -> forklift.server.trust"
	if got := titles(t, e.actions(name)); !strings.Contains(got, offer) {
		t.Errorf("no offer in\n%s", got)
	}
	uri := e.show(name, text)
	e.retype(uri, 2, text+"\n\n// x")
	e.diagnostics(name, "syntax")
	if got := titles(t, e.actions(name)); strings.Contains(got, offer) {
		t.Errorf("an unsaved text is offered for approval:\n%s", got)
	}
}

func TestAnInterruptedOperationIsToldAtEveryOpenFile(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	e.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	file := filepath.Join(s.root, "src/app.py")
	uri := e.show(file, "x")
	s.engine.SetStatus(func(r *engine.StatusResult) { r.Interrupted = &engine.Interrupted{Verb: "restore", Target: "before"} })
	s.write(t, ".records/journal.json", "x")
	e.diagnostics(file, "interrupted")
	e.diagnostics(filepath.Join(s.root, config.Name), "interrupted")
	e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
	e.diagnostics(file, "")
}

func TestAURLThatLeadsElsewhereIsToldAtItsLine(t *testing.T) {
	s := newStage(t)
	s.write(t, ".env", "A=1\nDATABASE_URL=postgres://me:hunter2@db.example.org/prod\n")
	e := connect(t, s.Hub)
	e.open(s.root)
	name := filepath.Join(s.root, ".env")
	m := e.diagnostics(name, "dotenv")
	if text := string(m.Params); !strings.Contains(text, `"line":1`) || !strings.Contains(text, "prod on db.example.org") || strings.Contains(text, "hunter2") {
		t.Errorf("told %s", text)
	}
	uri := e.show(name, "A=1\n")
	e.diagnostics(name, "")
	e.forget()
	e.retype(uri, 2, "DATABASE_URL=x\n")
	e.diagnostics(name, "dotenv")
	e.forget()
	e.notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{"added": []any{},
		"removed": []any{map[string]string{"uri": lsp.FileURI(s.root).String(), "name": "x"}}}})
	e.diagnostics(name, "") // nothing stays behind a folder that was removed
}
