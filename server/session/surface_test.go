package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forklift/commands"
	"forklift/engine"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
)

func TestInitializeOfRealClients(t *testing.T) {
	for name, want := range map[string]struct {
		client  client
		folders string
	}{
		"vscode": {client{"Visual Studio Code", true, true, true}, "file:///srv/user/invoices file:///srv/user/a%20b%23c"},
		"neovim": {client{"Neovim", true, false, false}, "file:///srv/user/invoices"},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "initialize_"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var p protocol.InitializeParams
		if err := lsp.Decode(data, &p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := clientOf(&p); got != want.client {
			t.Errorf("%s: %+v, want %+v", name, got, want.client)
		}
		if got := strings.Join(foldersOf(&p), " "); got != want.folders {
			t.Errorf("%s: folders %s", name, got)
		}
	}
}

func TestContentURIs(t *testing.T) {
	for _, path := range []string{"/a/b.go", "/a b/ü%20?#&=.sql"} {
		for _, checkpoint := range []string{"before-1", "other:before", "01jbc301jbc301jbc301jbc301"} {
			gotPath, gotCheckpoint, err := parseContentURI(contentURI(path, checkpoint))
			if err != nil || gotPath != path || gotCheckpoint != checkpoint {
				t.Errorf("%s: %q %q %v", contentURI(path, checkpoint), gotPath, gotCheckpoint, err)
			}
		}
	}
	if _, c, err := parseContentURI("forklift:/a?checkpoint%3Dother%3Ax"); err != nil || c != "other:x" {
		t.Errorf("as VS Code writes it: %q %v", c, err)
	}
	for _, bad := range []string{"", "file:///a?checkpoint=x", "forklift:a?checkpoint=x", "forklift:/a", "forklift:/a?checkpoint=", "forklift://host/a?checkpoint=x", "forklift:/a?cp=x"} {
		if _, _, err := parseContentURI(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestContentOfACheckpoint(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	uri := map[string]string{"uri": contentURI(filepath.Join(s.root, "src/a b.go"), "after")}
	for _, method := range []string{"workspace/textDocumentContent", "forklift/content"} {
		if got := string(e.call(method, uri)); got != `{"text":"src/a b.go at after\n"}` {
			t.Errorf("%s: %s", method, got)
		}
	}
	m := e.reply(e.request("forklift/content", map[string]string{"uri": contentURI("/elsewhere/a", "after")}))
	if m.Error == nil || m.Error.Data.Kind != "not-found" {
		t.Errorf("outside: %s", raw(m))
	}
}

func TestCheckpointsComeInPages(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	var names []string
	for after := ""; ; {
		var page checkpointsResult
		if err := json.Unmarshal(e.call("forklift/checkpoints", map[string]any{"limit": 2, "after": after}), &page); err != nil {
			t.Fatal(err)
		}
		if len(page.Checkpoints) > 2 {
			t.Fatalf("a page of %d", len(page.Checkpoints))
		}
		for _, c := range page.Checkpoints {
			names = append(names, string(c.ID))
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if strings.Join(names, " ") != "01jbc3 01jbc2 01jbc1" {
		t.Errorf("pages: %v", names)
	}
}

func TestAPlanIsWhatTheCommandLinePrints(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	var got commands.RestoreResult
	if err := json.Unmarshal(e.call("forklift/plan", map[string]any{"ref": "before", "paths": []string{"src/app.py"}}), &got); err != nil {
		t.Fatal(err)
	}
	if got.Plan == nil || got.Plan.PlanID != "1f0c6a2b9d3e" || len(got.Plan.Files) != 3 || got.Plan.Database == nil {
		t.Errorf("plan %+v", got.Plan)
	}
	if !s.has("plan restore") {
		t.Errorf("asked %q", s.engine.Calls())
	}
	for want, params := range map[string]map[string]any{
		"names no checkpoint":       {},
		"--code-only and --data-on": {"ref": "before", "code_only": true, "data_only": true},
	} {
		if m := e.reply(e.request("forklift/plan", params)); m.Error == nil || !strings.Contains(m.Error.Message, want) {
			t.Errorf("%v: %s", params, raw(m))
		}
	}
}

func titles(t *testing.T, data json.RawMessage) string {
	t.Helper()
	var actions []struct {
		Title   string
		Kind    string
		Command struct {
			Title   string
			Command string
		}
	}
	if err := json.Unmarshal(data, &actions); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, a := range actions {
		list = append(list, strings.TrimSpace(a.Kind+" "+a.Command.Title+" -> "+a.Command.Command))
	}
	return strings.Join(list, "\n")
}

func (e *editor) actions(file string, only ...string) json.RawMessage {
	e.t.Helper()
	context := map[string]any{"diagnostics": []any{}}
	if only != nil {
		context["only"] = only
	}
	zero := map[string]int{"line": 0, "character": 0}
	return e.call("textDocument/codeAction", map[string]any{"textDocument": map[string]string{"uri": lsp.FileURI(file).String()},
		"range": map[string]any{"start": zero, "end": zero}, "context": context})
}

func TestCodeActions(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	s.engine.SetMoved(&engine.Move{Operation: "1", Verb: "restore", Name: "before"})
	e.open(s.root)
	e.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	file := filepath.Join(s.root, "src/app.py")
	got := titles(t, e.actions(file))
	for _, want := range []string{
		"source.forklift.capture Forklift: capture a checkpoint -> forklift.server.capture",
		`source.forklift.restore Forklift: restore "after" (`,
		`the present one) -> forklift.server.restore`,
		`1 file differs from the present one) -> forklift.server.restore`,
		`source.forklift.undo Forklift: undo the restore of "before" -> forklift.server.undo`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := titles(t, e.actions(file, "source.forklift.capture")); strings.Count(got, "\n") != 0 {
		t.Errorf("only captures:\n%s", got)
	}
	if got := titles(t, e.actions("/elsewhere/a.go")); got != "" {
		t.Errorf("outside of any worktree:\n%s", got)
	}
	s.engine.SetStatus(func(r *engine.StatusResult) {
		r.Interrupted = &engine.Interrupted{Verb: "restore", Target: "before", Forward: true}
	})
	s.write(t, ".records/journal.json", "x")
	e.status("interrupted", func(r commands.StatusResult) bool { return r.Icon == commands.IconInterrupted })
	if got := titles(t, e.actions(file)); got != "quickfix Forklift: recover the interrupted restore (finishes it) -> forklift.server.recover" {
		t.Errorf("interrupted:\n%s", got)
	}
	e.until("diagnostic", func(m message) bool {
		return m.Method == "textDocument/publishDiagnostics" && strings.Contains(string(m.Params), "was interrupted")
	})
	s.engine.SetStatus(func(r *engine.StatusResult) { r.Interrupted = nil })
	s.write(t, ".records/journal.json", "y")
	e.until("end of the diagnostic", func(m message) bool {
		return m.Method == "textDocument/publishDiagnostics" && strings.Contains(string(m.Params), `"diagnostics":[]`)
	})
}

func TestCodeLenses(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	e.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	for rel, want := range map[string]string{
		"migrations/001_init.sql": "In checkpoint after as it is now -> forklift.server.list\nCapture before running -> forklift.server.capture",
		"src/app.py":              "",
		"other/migrations/x.sql":  "",
	} {
		got := titles(t, e.call("textDocument/codeLens", map[string]any{"textDocument": map[string]string{"uri": lsp.FileURI(filepath.Join(s.root, rel)).String()}}))
		if got != want {
			t.Errorf("%s:\n%s", rel, got)
		}
	}
}

func TestARestoreIsToldWithItsFiles(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	s.engine.SetMoved(&engine.Move{Operation: "1", Verb: "restore", Name: "of before", Files: []engine.FileChange{{Path: "x", Change: "added"}}})
	e.open(s.root)
	e.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	s.engine.SetMoved(&engine.Move{Operation: "2", Verb: "undo", Name: "mark", Files: []engine.FileChange{{Path: "src/a b", Change: "modified"}}, FileCount: 1})
	s.write(t, ".records/operations.log", "x")
	m := e.until("didRestore", func(m message) bool { return m.Method == "forklift/didRestore" })
	var got didRestore
	if err := json.Unmarshal(m.Params, &got); err != nil {
		t.Fatal(err)
	}
	if got.Operation != "2" || got.Verb != "undo" || len(got.Files) != 1 || got.Files[0].URI != lsp.FileURI(filepath.Join(s.root, "src/a b")).String() {
		t.Errorf("told %+v", got)
	}
}

func TestUnsavedBuffersAreRecorded(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	s.write(t, "src/a.txt", "one\n")
	e.open(s.root)
	e.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	file := filepath.Join(s.root, "src/a.txt")
	doc := map[string]any{"uri": lsp.FileURI(file).String(), "version": 1, "languageId": "text", "text": "one\n"}
	e.notify("textDocument/didOpen", map[string]any{"textDocument": doc})
	edit := func(version int, text string) {
		e.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": doc["uri"], "version": version},
			"contentChanges": []any{map[string]any{"text": text, "range": map[string]any{
				"start": map[string]int{"line": 0, "character": 0}, "end": map[string]int{"line": 0, "character": 3}}}}})
	}
	calls := func(what string, n int) {
		t.Helper()
		s.await(t, what, func() bool {
			found := 0
			for _, c := range s.engine.Calls() {
				if strings.HasPrefix(c, "unsaved") && strings.HasSuffix(c, what) {
					found++
				}
			}
			return found >= n
		})
	}
	edit(2, "two")
	calls("["+file+"]", 1)
	edit(3, "one") // taken back by hand
	calls("[]", 1)
	edit(4, "six")
	calls("["+file+"]", 2)
	s.write(t, "src/a.txt", "six\n")
	e.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": doc["uri"]}})
	calls("[]", 2)
	edit(5, "ten")
	calls("["+file+"]", 3)
	e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "untitled:Untitled-1", "version": 1, "languageId": "x", "text": "y"}})
	e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": doc["uri"]}})
	calls("[]", 3)
}
