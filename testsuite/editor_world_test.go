package testsuite

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forklift/testsuite/internal/harness"
	"forklift/testsuite/internal/lspclient"
)

// editorPatience is how long an editor waits for anything.
const editorPatience = 30 * time.Second

// desk is a user with a worktree, editors and a command line.
type desk struct {
	t    *testing.T
	home string
	repo string
	env  []string
}

// held is the configuration whose stop hook waits for as long as a file
// called hold is there, so that an operation can be met in its middle.
const held = `{"format": 1, "source": ["src"], "hooks": {"stop": ["sh", "-c", "touch waiting; while [ -e hold ]; do sleep 0.02; done"]}}` + "\n"

// newDesk makes a worktree that is set up, with one row in its database and
// the checkpoint c1. config is its .forklift.json.
func newDesk(t *testing.T, config string) *desk {
	t.Helper()
	t.Parallel() // they wait more than they work
	home, err := harness.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if out, err := exec.Command("cp", "-a", world.proto+"/.", home).CombinedOutput(); err != nil {
		t.Fatalf("copy the prepared home: %v\n%s", err, out)
	}
	d := &desk{t: t, home: home, repo: filepath.Join(home, "work"), env: environ(home)}
	t.Cleanup(func() {
		d.try("daemon", "stop")
		d.try("db", "stop")
		left, err := harness.WaitForNone(home, patience)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
			harness.End(home, left)
		}
	})
	for name, text := range map[string]string{".forklift.json": config, "src/a.txt": "one\n", "src/b.txt": "one\n", ".gitignore": "hold\nwaiting\n"} {
		d.write(name, text)
	}
	for _, argv := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", argv...)
		cmd.Dir, cmd.Env = d.repo, d.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", argv, err, out)
		}
	}
	d.cli("setup", "--yes")
	d.cli("trust")
	d.cli("capture", "c1")
	return d
}

func (d *desk) path(name string) string { return filepath.Join(d.repo, name) }

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// has fails unless a file has a text.
func (d *desk) has(name, text string) {
	d.t.Helper()
	if got, err := os.ReadFile(d.path(name)); err != nil || string(got) != text {
		d.t.Errorf("%s has %q (%v), want %q", name, got, err, text)
	}
}

// try runs the command line and gives its exit code and what it printed.
func (d *desk) try(args ...string) (int, string) {
	cmd := exec.Command(filepath.Join(world.bin, "forklift"), args...)
	cmd.Env, cmd.Dir = d.env, d.repo
	if _, err := os.Stat(d.repo); err != nil {
		cmd.Dir = d.home
	}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return -1, err.Error()
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// cli runs the command line, which must succeed.
func (d *desk) cli(args ...string) string {
	d.t.Helper()
	code, out := d.try(args...)
	if code != 0 {
		d.t.Fatalf("forklift %v: exit code %d\n%s", args, code, out)
	}
	return out
}

// await waits for something that no message tells of.
func (d *desk) await(what string, done func() bool) {
	d.t.Helper()
	deadline := time.After(editorPatience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			d.t.Fatalf("it did not happen: %s", what)
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// editor is one editor of a desk.
type editor struct {
	*lspclient.Client
	t    *testing.T
	gone bool // the test ends it itself
}

// open starts an editor with folders; none is the worktree. prefix is what
// runs the front.
func (d *desk) open(prefix []string, dirs ...string) *editor {
	d.t.Helper()
	argv := append(slices.Clone(prefix), filepath.Join(world.bin, "forklift"), "lsp")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = d.env, d.repo
	c, err := lspclient.Start(cmd, editorPatience)
	if err != nil {
		d.t.Fatal(err)
	}
	e := &editor{Client: c, t: d.t}
	d.t.Cleanup(func() {
		if !e.gone {
			if err := e.Close(); err != nil {
				d.t.Errorf("close an editor: %v", err)
			}
		}
		if d.t.Failed() {
			d.t.Logf("what was said:\n%s", e.Log())
			text, _ := os.ReadFile(filepath.Join(d.home, "state", "forklift", "daemon.log"))
			d.t.Logf("the daemon's log:\n%s", text)
		}
	})
	if len(dirs) == 0 {
		dirs = []string{d.repo}
	}
	e.must(e.Initialize(dirs...))
	return e
}

func (e *editor) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// editorStatus is what the tests read of forklift/status.
type editorStatus struct {
	Tracked    bool
	Text, Icon string
	Checkpoint *struct{ Name string }
	Files      []struct{ Path, Change string }
	FileCount  int  `json:"file_count"`
	FilesKnown bool `json:"files_known"`
	Operation  *struct {
		Verb string
		PID  int
	}
	Interrupted *struct {
		Verb    string
		Forward bool
	}
	Problems []string
}

// pushed waits for a pushed status since a mark.
func (e *editor) pushed(mark int, what string, want func(editorStatus) bool) editorStatus {
	e.t.Helper()
	var s editorStatus
	_, err := e.Until(mark, "status with "+what, func(m lspclient.Message) bool {
		s = editorStatus{}
		return m.Method == "forklift/status" && json.Unmarshal(m.Params, &s) == nil && want(s)
	})
	e.must(err)
	return s
}

// settled waits for a status with the files since a mark.
func (e *editor) settled(mark, files int) {
	e.t.Helper()
	e.pushed(mark, "files", func(s editorStatus) bool { return s.FilesKnown && s.FileCount == files && s.Operation == nil })
}

// refused fails unless err is a refusal of a kind that names all of words.
func (e *editor) refused(err error, kind string, words ...string) {
	e.t.Helper()
	refusal, ok := err.(*lspclient.Error)
	if !ok || refusal.Data.Kind != kind {
		e.t.Fatalf("answer %v, want a refusal of kind %s", err, kind)
	}
	text := refusal.Message + " " + refusal.Data.Hint + " " + strings.Join(refusal.Data.Items, " ")
	for _, w := range words {
		if !strings.Contains(text, w) {
			e.t.Errorf("no %q in %s", w, text)
		}
	}
}

// show opens a document, retype changes it.
func (e *editor) show(file, text string) {
	e.must(e.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": lspclient.URI(file), "version": 1, "languageId": "text", "text": text}}))
}

func (e *editor) retype(file, text string, version int) {
	e.must(e.Notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": lspclient.URI(file), "version": version},
		"contentChanges": []any{map[string]any{"text": text}}}))
}

// action is a code action with a command.
type action struct {
	Title, Kind string
	Command     struct {
		Command   string
		Arguments []json.RawMessage
	}
}

// actions asks for the code actions of a kind on a file.
func (e *editor) actions(file, kind string) []action {
	e.t.Helper()
	zero := map[string]int{"line": 0, "character": 0}
	var list []action
	e.must(e.Call("textDocument/codeAction", map[string]any{"textDocument": map[string]string{"uri": lspclient.URI(file)},
		"range": map[string]any{"start": zero, "end": zero}, "context": map[string]any{"diagnostics": []any{}, "only": []string{kind}}}, &list))
	return list
}

// do runs the action whose title has a text.
func (e *editor) do(list []action, title string) {
	e.t.Helper()
	for _, a := range list {
		if strings.Contains(a.Title, title) {
			e.must(e.Call("workspace/executeCommand", map[string]any{"command": a.Command.Command, "arguments": a.Command.Arguments}, nil))
			return
		}
	}
	e.t.Fatalf("no action %q among %+v", title, list)
}
