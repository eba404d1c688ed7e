package session

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forklift/commands"
	"forklift/commands/enginetest"
	"forklift/server/lsp"
	"forklift/storage/clock"
)

// patience is how long a test waits for what is to happen.
const patience = 20 * time.Second

// editor is a scripted client: it keeps every message that came, and the
// whole of them is the log of a test that fails.
type editor struct {
	t    *testing.T
	conn net.Conn
	mu   sync.Mutex
	id   int
	seen []message
	more chan struct{} // closed when seen grows
	// answer answers the server's requests; nil never does.
	answer func(method string) any
	served chan struct{}
}

// message is one message of the server.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int              `json:"code"`
		Message string           `json:"message"`
		Data    commands.Failure `json:"data"`
	} `json:"error"`
}

// connect serves a new session of a hub to a new editor.
func connect(t *testing.T, h *Hub) *editor {
	t.Helper()
	here, there := net.Pipe()
	e := &editor{t: t, conn: here, more: make(chan struct{}), served: make(chan struct{}), answer: func(string) any { return nil }}
	go func() {
		defer close(e.served)
		_, _ = lsp.Serve(context.Background(), there, h.NewSession(Peer{PID: os.Getpid(), Cwd: "/", Environ: []string{"HOME=/nowhere"}}), lsp.Options{})
	}()
	go e.read()
	t.Cleanup(func() {
		here.Close()
		select {
		case <-e.served:
		case <-time.After(patience):
			t.Error("the session did not end")
		}
		if t.Failed() {
			e.mu.Lock()
			defer e.mu.Unlock()
			for _, m := range e.seen {
				t.Logf("<- %s", raw(m))
			}
		}
	})
	return e
}

func (e *editor) read() {
	frames := lsp.NewFrameReader(bufio.NewReader(e.conn), 0, 0)
	for {
		body, err := frames.Read()
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			m.Method = "unreadable: " + err.Error()
		}
		e.mu.Lock()
		e.seen = append(e.seen, m)
		close(e.more)
		e.more = make(chan struct{})
		answer := e.answer
		e.mu.Unlock()
		if m.Method != "" && len(m.ID) > 0 && answer != nil {
			go e.send(map[string]any{"id": m.ID, "result": answer(m.Method)})
		}
	}
}

func (e *editor) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	_, _ = e.conn.Write(lsp.AppendFrame(nil, raw(m)))
}

// request sends a request and gives its id.
func (e *editor) request(method string, params any) int {
	e.mu.Lock()
	e.id++
	id := e.id
	e.mu.Unlock()
	e.send(map[string]any{"id": id, "method": method, "params": params})
	return id
}

func (e *editor) notify(method string, params any) {
	e.send(map[string]any{"method": method, "params": params})
}

// until waits for a message that want picks, among those that came and those
// to come.
func (e *editor) until(what string, want func(m message) bool) message {
	e.t.Helper()
	deadline := time.After(patience)
	for from := 0; ; {
		e.mu.Lock()
		seen, more := e.seen, e.more
		e.mu.Unlock()
		for ; from < len(seen); from++ {
			if want(seen[from]) {
				return seen[from]
			}
		}
		select {
		case <-more:
		case <-deadline:
			e.t.Fatalf("no %s within %v", what, patience)
		}
	}
}

// reply waits for the answer to a request.
func (e *editor) reply(id int) message {
	e.t.Helper()
	return e.until(fmt.Sprintf("answer to %d", id), func(m message) bool { return m.Method == "" && string(m.ID) == fmt.Sprint(id) })
}

// call sends a request and waits for its result.
func (e *editor) call(method string, params any) json.RawMessage {
	e.t.Helper()
	m := e.reply(e.request(method, params))
	if m.Error != nil {
		e.t.Fatalf("%s: %d %s %+v", method, m.Error.Code, m.Error.Message, m.Error.Data)
	}
	return m.Result
}

// status waits for a pushed status.
func (e *editor) status(what string, want func(s commands.StatusResult) bool) commands.StatusResult {
	e.t.Helper()
	var s commands.StatusResult
	e.until("status with "+what, func(m message) bool {
		s = commands.StatusResult{}
		return m.Method == "forklift/status" && json.Unmarshal(m.Params, &s) == nil && want(s)
	})
	return s
}

// open says initialize with folders, as an editor does.
func (e *editor) open(dirs ...string) json.RawMessage {
	e.t.Helper()
	var folders []map[string]string
	for _, dir := range dirs {
		folders = append(folders, map[string]string{"uri": lsp.FileURI(dir).String(), "name": filepath.Base(dir)})
	}
	result := e.call("initialize", map[string]any{
		"processId": nil, "rootUri": nil, "workspaceFolders": folders,
		"capabilities": map[string]any{"window": map[string]any{"workDoneProgress": true}},
	})
	e.notify("initialized", map[string]any{})
	return result
}

// command executes a verb.
func (e *editor) command(verb string, arg map[string]any) int {
	return e.request("workspace/executeCommand", map[string]any{"command": "forklift.server." + verb, "arguments": []any{arg}})
}

// stage is a hub over a stand-in engine and a worktree on the real disk.
type stage struct {
	*Hub
	engine *enginetest.Engine
	root   string
}

// newStage makes the directories that a worktree has, without git.
func newStage(t *testing.T) *stage {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"src", ".git", ".records/holders"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &stage{engine: &enginetest.Engine{Path: root}, root: root}
	s.Hub = NewHub(HubOptions{
		Wire: func(dir string, peer Peer) (commands.Env, error) {
			return commands.Env{Engine: s.engine, Postgres: s.engine, Clock: clock.NewFake(enginetest.Now)}, nil
		},
		Find: func(_ context.Context, dir string) (string, string, error) {
			if within(dir, root) {
				return root, filepath.Join(root, ".git"), nil
			}
			return "", "", fmt.Errorf("%s is not in a git worktree", dir)
		},
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stage) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.root, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// has reports that a call of the engine begins with text.
func (s *stage) has(text string) bool {
	for _, call := range s.engine.Calls() {
		if strings.HasPrefix(call, text) {
			return true
		}
	}
	return false
}

// await waits for a condition that the engine's calls make true.
func (s *stage) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("no %s within %v: %q", what, patience, s.engine.Calls())
		}
	}
}
