package testsuite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"forklift/testsuite/internal/lspclient"
)

const plainConfig = `{"format": 1, "source": ["src"]}` + "\n"

func TestEditorsAndTheCommandLineAgree(t *testing.T) {
	d := newDesk(t, plainConfig)
	a, b := d.open(nil), d.open(nil)
	a.settled(0, 0)
	b.settled(0, 0)
	mark := b.Mark()
	d.write("src/a.txt", "two\n")
	d.write("src/new.txt", "new\n")
	a.settled(0, 2)
	b.settled(mark, 2)
	mark = b.Mark()
	var made struct{ Name string }
	a.must(a.Command("capture", map[string]any{"name": "c2"}, &made))
	atC2 := func(s editorStatus) bool {
		return s.Checkpoint != nil && s.Checkpoint.Name == "c2" && s.FilesKnown && s.FileCount == 0
	}
	b.pushed(mark, "c2", atC2)
	mark = a.Mark()
	d.cli("capture", "c3")
	a.pushed(mark, "c3", func(s editorStatus) bool { return s.Checkpoint != nil && s.Checkpoint.Name == "c3" })

	// A plan is what the command line prints, and is done by its id.
	var plan, printed struct {
		Plan struct {
			PlanID  string `json:"plan_id"`
			Written int
			Removed int
		}
	}
	a.must(a.Call("forklift/plan", map[string]any{"ref": "c1", "code_only": true}, &plan))
	if err := json.Unmarshal([]byte(d.cli("restore", "c1", "--code-only", "--plan", "--json")), &printed); err != nil || plan != printed || plan.Plan.Removed != 1 {
		t.Errorf("planned %+v, printed %+v (%v)", plan, printed, err)
	}
	mark = b.Mark()
	a.must(a.Command("restore", map[string]any{"ref": "c1", "code_only": true, "plan": plan.Plan.PlanID, "yes": true}, nil))
	d.has("src/a.txt", "one\n")
	m, err := b.Until(mark, "didRestore", func(m lspclient.Message) bool { return m.Method == "forklift/didRestore" })
	b.must(err)
	if text := string(m.Params); !strings.Contains(text, lspclient.URI(d.path("src/a.txt"))) || !strings.Contains(text, "src/new.txt") || strings.Contains(text, "src/b.txt") {
		t.Errorf("told %s", text)
	}

	// Only one file is put back, the other keeps its change.
	d.write("src/a.txt", "three\n")
	d.write("src/b.txt", "three\n")
	mark = b.Mark()
	a.do(a.actions(d.path("src/a.txt"), "source.forklift.restoreFile"), `put a.txt back as it was at "c3"`)
	d.has("src/a.txt", "two\n")
	d.has("src/b.txt", "three\n")
	m, err = b.Until(mark, "didRestore", func(m lspclient.Message) bool { return m.Method == "forklift/didRestore" })
	b.must(err)
	if text := string(m.Params); !strings.Contains(text, `"file_count":1`) {
		t.Errorf("told %s", text)
	}
	a.do(a.actions(d.path("src/a.txt"), "source.forklift.undo"), "undo the restore")
	d.has("src/a.txt", "three\n")
}

func TestUnsavedBuffersAreNotWrittenOver(t *testing.T) {
	d := newDesk(t, plainConfig)
	a := d.open(nil)
	d.write("src/a.txt", "two\n")
	a.settled(0, 1)
	a.show(d.path("src/a.txt"), "two\n")
	a.retype(d.path("src/a.txt"), "typed\n", 2)
	a.refused(a.Command("restore", map[string]any{"ref": "c1"}, nil), "unsaved", "src/a.txt", "Script")
	a.refused(a.Command("capture", map[string]any{"name": "c2"}, nil), "unsaved", "src/a.txt")
	if code, out := d.try("restore", "c1"); code != 10 || !strings.Contains(out, "src/a.txt") {
		t.Errorf("the command line: exit code %d\n%s", code, out)
	}
	d.has("src/a.txt", "two\n")
	a.must(a.Command("restore", map[string]any{"ref": "c1", "include_unsaved": "disk"}, nil))
	d.has("src/a.txt", "one\n")
	a.gone = true
	a.Kill()
	d.await("the record of a dead editor expires", func() bool {
		code, _ := d.try("capture", "c3")
		return code == 0
	})
}

func TestAClientThatDiesInMidCapture(t *testing.T) {
	d := newDesk(t, held)
	a, b := d.open(nil), d.open(nil)
	b.settled(0, 0)
	d.write("hold", "")
	_ = os.Remove(d.path("waiting"))
	_, err := a.Request("workspace/executeCommand", lspclient.Command("capture", map[string]any{"name": "c2"}))
	a.must(err)
	d.await("the stop hook waits", func() bool { return exists(d.path("waiting")) })
	b.pushed(0, "an operation", func(s editorStatus) bool { return s.Operation != nil && s.Operation.Verb == "capture" })
	a.gone = true
	a.Kill()
	mark := b.Mark()
	must(t, os.Remove(d.path("hold")))
	b.pushed(mark, "c2", func(s editorStatus) bool {
		return s.Operation == nil && s.Checkpoint != nil && s.Checkpoint.Name == "c2"
	})
}

// killInMidRestore starts a restore of c1 from an editor and kills the daemon
// as soon as the restore's journal is there; false means that the restore was
// done before.
func killInMidRestore(d *desk, a *editor) bool {
	var s struct{ Daemon struct{ PID int } }
	must(d.t, json.Unmarshal([]byte(d.cli("daemon", "status", "--json")), &s))
	id, err := a.Request("workspace/executeCommand", lspclient.Command("restore", map[string]any{"ref": "c1"}))
	a.must(err)
	journal := func() bool {
		found, _ := filepath.Glob(filepath.Join(d.home, "data", "forklift", "worktrees", "*", "journal.json"))
		return len(found) > 0
	}
	answered := make(chan error, 1)
	go func() { answered <- a.Answer(id, nil) }()
	for !journal() {
		select {
		case err := <-answered:
			a.must(err)
			return false
		default:
		}
	}
	must(d.t, syscall.Kill(s.Daemon.PID, syscall.SIGKILL))
	err = <-answered
	return err != nil && journal()
}

func TestADaemonKilledInMidRestore(t *testing.T) {
	d := newDesk(t, plainConfig)
	a := d.open(nil)
	a.settled(0, 0)
	mark := 0
	for try := 1; ; try++ {
		for i := range 200 { // so that there is something to do
			d.write(fmt.Sprintf("src/more/%d", i), "more\n")
		}
		d.write("src/a.txt", "two\n")
		if mark = a.Mark(); killInMidRestore(d, a) {
			break
		}
		if try == 5 {
			t.Fatal("every restore was faster than the kill")
		}
	}
	// The same front has a new daemon, and so has the next one.
	interrupted := func(s editorStatus) bool { return s.Interrupted != nil && s.Interrupted.Verb == "restore" }
	forward := a.pushed(mark, "interrupted", interrupted).Interrupted.Forward
	b := d.open(nil)
	b.pushed(0, "interrupted", interrupted)
	_, err := b.Until(0, "diagnostic", func(m lspclient.Message) bool {
		return m.Method == "textDocument/publishDiagnostics" && strings.Contains(string(m.Params), "was interrupted")
	})
	b.must(err)
	b.refused(b.Command("capture", map[string]any{}, nil), "interrupted", "recover")
	mark = b.Mark()
	b.do(b.actions(d.path("src/a.txt"), "quickfix"), "recover the interrupted restore")
	b.pushed(mark, "no interruption", func(s editorStatus) bool { return s.Interrupted == nil && s.FilesKnown && s.Operation == nil })
	text := map[bool]string{true: "one\n", false: "two\n"}[forward]
	d.has("src/a.txt", text)
	if exists(d.path("src/more/0")) == forward {
		t.Errorf("recover has gone forward: %v, but not with every file", forward)
	}
	b.must(b.Command("restore", map[string]any{"ref": "c1"}, nil))
	d.has("src/a.txt", "one\n")
}

func TestTwoRestoresAtOnce(t *testing.T) {
	d := newDesk(t, held)
	d.write("src/a.txt", "two\n")
	a, b := d.open(nil), d.open(nil)
	d.write("hold", "")
	_ = os.Remove(d.path("waiting"))
	id, err := a.Request("workspace/executeCommand", lspclient.Command("restore", map[string]any{"ref": "c1"}))
	a.must(err)
	d.await("the stop hook waits", func() bool { return exists(d.path("waiting")) })
	b.refused(b.Command("restore", map[string]any{"ref": "c1"}, nil), "busy", "restore", "since")
	must(t, os.Remove(d.path("hold")))
	a.must(a.Answer(id, nil))
	d.has("src/a.txt", "one\n")
}

func TestFoldersThatAreNone(t *testing.T) {
	d := newDesk(t, plainConfig)
	outside := filepath.Join(d.home, "outside")
	must(t, os.Mkdir(outside, 0o755))
	a := d.open(nil, outside)
	s := a.pushed(0, "not tracked", func(s editorStatus) bool { return !s.Tracked })
	if s.Text == "" {
		t.Error("the status has no text")
	}
	if err := a.Command("capture", map[string]any{"worktree": lspclient.URI(outside)}, nil); err == nil {
		t.Error("captured outside of a repository")
	}
	if err := a.Command("capture", map[string]any{"worktree": "untitled:x"}, nil); err == nil || !strings.Contains(err.Error(), "untitled:x") {
		t.Errorf("a URI that is no file: %v", err)
	}

	// A worktree that is removed while it is open.
	d.cli("worktree", "add", "../second", "--git-branch", "second")
	second := filepath.Join(d.home, "second")
	b := d.open(nil, second)
	b.pushed(0, "tracked", func(s editorStatus) bool { return s.Tracked })
	mark := b.Mark()
	must(t, os.RemoveAll(second))
	b.pushed(mark, "not tracked", func(s editorStatus) bool { return !s.Tracked })
	d.cli("worktree", "prune", "--yes")
	a.must(a.Command("capture", map[string]any{"worktree": lspclient.URI(d.repo), "name": "c2"}, nil))
}

func TestAnEditorUnderRunIsNotInItsOwnWay(t *testing.T) {
	d := newDesk(t, plainConfig)
	run := []string{filepath.Join(world.bin, "forklift"), "run", "--"}
	a := d.open(run)
	a.settled(0, 0)
	a.must(a.Command("capture", map[string]any{"name": "c2"}, nil))
	b := d.open(nil)
	b.refused(b.Command("capture", map[string]any{"name": "c3"}, nil), "busy", "forklift lsp")
	a.gone = true
	a.must(a.Close())
	// The daemon that it started lives on, and is no managed command.
	b.must(b.Command("capture", map[string]any{"name": "c3"}, nil))
}

func TestTheConfigurationIsTrustedFromTheEditor(t *testing.T) {
	d := newDesk(t, held)
	d.write(".forklift.json", strings.Replace(held, "touch", "echo x;touch", 1))
	a := d.open(nil)
	file := d.path(".forklift.json")
	codes := func(mark int, want string) {
		t.Helper()
		_, err := a.Until(mark, "diagnostics "+want, func(m lspclient.Message) bool {
			return m.Method == "textDocument/publishDiagnostics" && strings.Contains(string(m.Params), "/.forklift.json") && strings.Contains(string(m.Params), want)
		})
		a.must(err)
	}
	codes(0, `"untrusted"`)
	mark := a.Mark()
	a.do(a.actions(file, "quickfix"), "trust this configuration")
	codes(mark, `"diagnostics":[]`)
	a.must(a.Command("capture", map[string]any{"name": "c2"}, nil))
	mark = a.Mark()
	a.show(file, `{"format": 1, "surce": ["src"]}`)
	codes(mark, `did you mean \"source\"`)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
