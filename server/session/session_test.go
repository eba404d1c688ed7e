package session

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forklift/commands"
	"forklift/engine"
	"forklift/server/lsp"
	"forklift/storage/fault"
)

func TestInitializeTellsACommandPerVerb(t *testing.T) {
	s := newStage(t)
	var got struct {
		Capabilities struct {
			ExecuteCommandProvider struct{ Commands []string }
		}
	}
	if err := json.Unmarshal(connect(t, s.Hub).open(s.root), &got); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(got.Capabilities.ExecuteCommandProvider.Commands, " ")
	for _, want := range []string{"forklift.server.capture", "forklift.server.db_start", "forklift.server.status"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in %s", want, all)
		}
	}
	for _, no := range []string{".run", "db_shell", ".lsp", ".daemon"} {
		if strings.Contains(all+" ", no+" ") {
			t.Errorf("%s is in %s", no, all)
		}
	}
}

func TestStatusIsTheVerbsResult(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	pushed := e.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	if pushed.Text != "after 4 files 4 rows" || pushed.Icon != commands.IconChanged || !pushed.Tracked {
		t.Errorf("pushed %q, icon %q, tracked %v", pushed.Text, pushed.Icon, pushed.Tracked)
	}
	var asked, run map[string]any
	if err := json.Unmarshal(e.call("forklift/status", []any{}), &asked); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(e.call("workspace/executeCommand", map[string]any{"command": "forklift.server.status"}), &run); err != nil {
		t.Fatal(err)
	}
	if string(raw(asked)) != string(raw(run)) {
		t.Errorf("asked %s\nrun %s", raw(asked), raw(run))
	}
}

func TestChangesArePushedToEverySession(t *testing.T) {
	s := newStage(t)
	a, b := connect(t, s.Hub), connect(t, s.Hub)
	a.open(s.root)
	b.open(filepath.Join(s.root, "src")) // a folder below the top
	for _, e := range []*editor{a, b} {
		e.status("files", func(r commands.StatusResult) bool { return r.FileCount == 4 })
	}
	for i, name := range []string{".records/current.json", ".records/holders/x.lock", "src/saved"} {
		count := 10 + i
		s.engine.SetStatus(func(r *engine.StatusResult) { r.FileCount = count })
		s.write(t, name, "x")
		for _, e := range []*editor{a, b} {
			e.status(name, func(r commands.StatusResult) bool { return r.FileCount == count })
		}
	}
	if sessions, _ := s.Busy(); sessions != 2 {
		t.Errorf("%d sessions", sessions)
	}
	list := s.Worktrees()
	if len(list) != 1 || list[0].Path != s.root || list[0].Sessions != 2 {
		t.Errorf("worktrees: %+v", list)
	}
}

func TestAVerbRunsWithProgress(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	id := e.request("workspace/executeCommand", map[string]any{"workDoneToken": "mine", "command": "forklift.server.capture",
		"arguments": []any{map[string]any{"name": "mark", "worktree": lsp.FileURI(s.root).String()}}})
	var result commands.CaptureResult
	if m := e.reply(id); m.Error != nil || json.Unmarshal(m.Result, &result) != nil || result.Name != "mark" {
		t.Fatalf("answer %s", raw(m))
	}
	for _, kind := range []string{"begin", "end"} {
		e.until("progress "+kind, func(m message) bool {
			return m.Method == "$/progress" && strings.Contains(string(m.Params), `"kind":"`+kind+`"`) && strings.Contains(string(m.Params), `"token":"mine"`)
		})
	}
}

func TestAClientThatNeverAnswersHoldsUpNothing(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.answer = nil // window/workDoneProgress/create stays open
	e.open(s.root)
	if m := e.reply(e.command("capture", nil)); m.Error != nil {
		t.Fatalf("answer %s", raw(m))
	}
}

func TestBadCommandsAreNamed(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	for name, c := range map[string]struct {
		params map[string]any
		path   string
		text   string
	}{
		"unknown":  {map[string]any{"command": "forklift.server.explode"}, "forklift.server.explode", "there is no command"},
		"terminal": {map[string]any{"command": "forklift.server.run"}, "forklift.server.run", "there is no command"},
		"type": {map[string]any{"command": "forklift.server.capture", "arguments": []any{map[string]any{"name": 3}}},
			"arguments[0].name", "a number cannot be a string"},
		"duration": {map[string]any{"command": "forklift.server.capture", "arguments": []any{map[string]any{"wait": "soon"}}},
			"arguments[0].wait", "soon"},
		"key": {map[string]any{"command": "forklift.server.capture", "arguments": []any{map[string]any{"nmae": "x"}}},
			"arguments[0].nmae", "has no input"},
		"list": {map[string]any{"command": "forklift.server.capture", "arguments": []any{"x"}},
			"arguments[0]", "a string cannot be a object"},
		"two": {map[string]any{"command": "forklift.server.capture", "arguments": []any{nil, nil}},
			"arguments[1]", "only one argument"},
		"worktree": {map[string]any{"command": "forklift.server.capture", "arguments": []any{map[string]any{"worktree": "untitled:Untitled-1"}}},
			"arguments[0].worktree", "untitled"},
		"relative": {map[string]any{"command": "forklift.server.capture", "arguments": []any{map[string]any{"worktree": ""}}}, "", ""},
		"missing":  {map[string]any{"command": "forklift.server.restore"}, "NAME", "missing"},
	} {
		m := e.reply(e.request("workspace/executeCommand", c.params))
		if c.text == "" {
			continue // "" means left out
		}
		if m.Error == nil || m.Error.Code != fault.Usage.RPCCode() || m.Error.Data.Kind != "usage" ||
			m.Error.Data.Path != c.path || !strings.Contains(m.Error.Message, c.text) {
			t.Errorf("%s: answer %s", name, raw(m))
		}
	}
}

func TestAFailureCarriesItsData(t *testing.T) {
	s := newStage(t)
	s.engine.Fail = map[string]error{"restore": &fault.Error{Op: "restore", Path: "/w", Kind: fault.Busy,
		Err: os.ErrExist, Hint: "Wait.", Items: []string{"pid 7: forklift restore, since noon"}}}
	e := connect(t, s.Hub)
	e.open(s.root)
	m := e.reply(e.command("restore", map[string]any{"ref": "after"}))
	if m.Error == nil || m.Error.Code != -32003 || m.Error.Data.Kind != "busy" || len(m.Error.Data.Items) != 1 || m.Error.Data.Hint != "Wait." {
		t.Errorf("answer %s", raw(m))
	}
}

func TestFoldersComeAndGo(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	other := t.TempDir()
	e.open(other)
	got := e.status("not tracked", func(r commands.StatusResult) bool { return !r.Tracked })
	if got.Icon != commands.IconUntracked || got.Text != "not tracked" || got.Worktree.Path != other {
		t.Errorf("status of a folder without a repository: %+v", got)
	}
	change := func(added, removed []string) {
		folders := func(dirs []string) []any {
			list := []any{}
			for _, dir := range dirs {
				list = append(list, map[string]string{"uri": lsp.FileURI(dir).String(), "name": "x"})
			}
			return list
		}
		e.notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{"added": folders(added), "removed": folders(removed)}})
	}
	change([]string{s.root}, nil)
	e.status("tracked", func(r commands.StatusResult) bool { return r.Tracked })
	m := e.reply(e.command("capture", nil))
	if m.Error == nil || m.Error.Data.Path != "arguments[0].worktree" || len(m.Error.Data.Items) != 2 {
		t.Errorf("with two folders: %s", raw(m))
	}
	change(nil, []string{other})
	if m := e.reply(e.command("capture", nil)); m.Error != nil {
		t.Errorf("with one folder: %s", raw(m))
	}
	change(nil, []string{s.root})
	if m := e.reply(e.command("capture", nil)); m.Error == nil || !strings.Contains(m.Error.Message, "no worktree open") {
		t.Errorf("without a folder: %s", raw(m))
	}
	if list := s.Worktrees(); len(list) != 0 {
		t.Errorf("worktrees that nobody has open: %+v", list)
	}
}

func TestSetUpWhileOpen(t *testing.T) {
	s := newStage(t)
	s.engine.Fail = map[string]error{"open": &fault.Error{Op: "open worktree", Path: s.root, Kind: fault.NotFound, Err: os.ErrNotExist, Hint: "Run forklift setup."}}
	e := connect(t, s.Hub)
	e.open(s.root)
	e.status("not tracked", func(r commands.StatusResult) bool {
		return !r.Tracked && strings.Contains(r.Problems[0], "forklift setup")
	})
	s.engine.SetFail("open", nil)
	s.write(t, ".git/forklift.json", "{}")
	e.status("tracked", func(r commands.StatusResult) bool { return r.Tracked && r.FilesKnown })
}

func TestACaptureOutlivesItsClient(t *testing.T) {
	s := newStage(t)
	begun, goOn := s.engine.Pause("capture")
	e := connect(t, s.Hub)
	e.open(s.root)
	e.command("capture", map[string]any{"name": "alone"})
	<-begun
	e.conn.Close()
	if _, operations := s.Busy(); operations != 1 {
		t.Errorf("%d operations run", operations)
	}
	close(goOn)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.engine.Paused("capture"); err != nil {
		t.Errorf("the capture was told: %v", err)
	}
}

func TestCancelReachesTheVerb(t *testing.T) {
	s := newStage(t)
	for _, way := range []string{"request", "progress"} {
		begun, goOn := s.engine.Pause("capture")
		e := connect(t, s.Hub)
		e.open(s.root)
		id := e.request("workspace/executeCommand", map[string]any{"workDoneToken": 7, "command": "forklift.server.capture"})
		<-begun
		if way == "request" {
			e.notify("$/cancelRequest", map[string]any{"id": id})
		} else {
			e.until("begin", func(m message) bool { return m.Method == "$/progress" })
			e.notify("window/workDoneProgress/cancel", map[string]any{"token": 7})
		}
		if m := e.reply(id); m.Error == nil || m.Error.Code != lsp.CodeCancelled {
			t.Errorf("%s: answer %s", way, raw(m))
		}
		close(goOn)
	}
}

func TestVerbsOfAWorktreeRunInTheOrderOfTheWire(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	var ids []int
	for i := range 50 {
		ids = append(ids, e.command("capture", map[string]any{"name": strings.Repeat("x", i+1)}))
	}
	for _, id := range ids {
		e.reply(id)
	}
	n := 0
	for _, call := range s.engine.Calls() {
		if strings.HasPrefix(call, "capture") {
			if n++; strings.Count(call, "x") < n || strings.Contains(call, strings.Repeat("x", n+1)) {
				t.Fatalf("capture %d is %s", n, call)
			}
		}
	}
	if n != 50 {
		t.Errorf("%d captures", n)
	}
}

// TestAHubEndsWhileItLooks makes sure that nothing waits for ever.
func TestAHubEndsWhileItLooks(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	done := make(chan error)
	go func() { done <- s.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("Close did not return")
	}
}
