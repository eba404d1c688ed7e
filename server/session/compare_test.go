package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forklift/commands"
	"forklift/server/lsp"
	"forklift/storage/fault"
)

// buffers is an editor with documents of a stage.
type buffers struct {
	*editor
	s       *stage
	version int
}

func openStage(t *testing.T) *buffers {
	t.Helper()
	s := newStage(t)
	b := &buffers{editor: connect(t, s.Hub), s: s}
	b.editor.open(s.root)
	b.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	return b
}

func (b *buffers) uri(name string) string {
	return lsp.FileURI(filepath.Join(b.s.root, name)).String()
}

func (b *buffers) opens(name, text string) {
	b.version++
	b.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": b.uri(name), "version": b.version, "languageId": "text", "text": text}})
}

func (b *buffers) edits(name string, changes ...string) {
	b.version++
	var list []any
	for _, text := range changes {
		list = append(list, map[string]any{"text": text})
	}
	b.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": b.uri(name), "version": b.version}, "contentChanges": list})
}

func (b *buffers) saved(name string) {
	b.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": b.uri(name)}})
}

// record is what the last record holds: "" before there is one.
func (b *buffers) record() (last string) {
	for _, c := range b.s.engine.Calls() {
		if strings.HasPrefix(c, "unsaved") {
			last = c[strings.LastIndex(c, "["):]
		}
	}
	return last
}

// records waits for a record of these files.
func (b *buffers) records(names ...string) {
	b.t.Helper()
	var list []string
	for _, n := range names {
		list = append(list, filepath.Join(b.s.root, n))
	}
	want := "[" + strings.Join(list, " ") + "]"
	b.s.await(b.t, "record of "+want, func() bool { return b.record() == want })
}

// settles lets pass what a comparison takes.
func (b *buffers) settles() { <-time.After(3 * compareAfter) }

func TestAFileThatIsWrittenAfterItWasOpenedIsNotUnsaved(t *testing.T) {
	b := openStage(t)
	b.s.write(t, "src/a", "one\n")
	b.opens("src/a", "one\n")
	b.call("forklift/status", map[string]any{}) // the opening was read
	b.s.write(t, "src/a", "of another program\n")
	b.settles()
	if got := b.record(); got != "" {
		t.Errorf("recorded %s", got)
	}
	b.opens("src/b", "kept by the editor while it was closed\n")
	b.records("src/b")
	b.s.write(t, "src/b", "kept by the editor while it was closed\n")
	b.records() // the disk has it now
}

func TestAFileOfAnotherEncodingStaysUnsaved(t *testing.T) {
	b := openStage(t)
	b.s.write(t, "src/latin", "caf\xe9\n")
	b.opens("src/latin", "café\n")
	b.edits("src/latin", "cafés\n")
	b.records("src/latin")
	b.settles()
	b.records("src/latin")
	b.saved("src/latin")
	b.records()
}

func TestWhatIsTypedWhileAFileIsWrittenStaysUnsaved(t *testing.T) {
	b := openStage(t)
	b.s.write(t, "src/a", "one\n")
	b.opens("src/a", "one\n")
	b.edits("src/a", "two\n")
	b.records("src/a")
	b.s.write(t, "src/a", "two\n")
	b.edits("src/a", "two three\n")
	b.saved("src/a")
	b.call("forklift/status", map[string]any{})
	b.settles()
	b.records("src/a")
	b.s.write(t, "src/a", "two three\n")
	b.saved("src/a")
	b.records()
}

func TestAWorktreeThatIsSetUpGetsTheRecord(t *testing.T) {
	s := newStage(t)
	s.engine.SetFail("open", &fault.Error{Op: "open worktree", Path: s.root, Kind: fault.NotFound, Err: os.ErrNotExist})
	b := &buffers{editor: connect(t, s.Hub), s: s}
	b.editor.open(s.root)
	b.status("nothing", func(r commands.StatusResult) bool { return !r.Tracked })
	b.opens("src/a", "dirty\n")
	b.call("forklift/status", map[string]any{})
	b.settles()
	s.engine.SetFail("open", nil)
	s.write(t, ".git/forklift.json", "{}")
	b.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	b.records("src/a")
}

func TestAFolderThatComesBackKeepsItsRecord(t *testing.T) {
	b := openStage(t)
	b.opens("src/a", "dirty\n")
	b.records("src/a")
	folder := []any{map[string]any{"uri": lsp.FileURI(b.s.root).String(), "name": "x"}}
	change := func(added, removed []any) {
		b.notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{"added": added, "removed": removed}})
	}
	change([]any{}, folder)
	change(folder, []any{})
	b.call("forklift/status", map[string]any{})
	b.opens("src/b", "")
	b.edits("src/b", "also\n")
	b.s.await(t, "record of both", func() bool {
		return strings.Contains(b.record(), "src/a") && strings.Contains(b.record(), "src/b")
	})
}

func TestManyChangesOfALongTextEnd(t *testing.T) {
	b := openStage(t)
	long := strings.Repeat("x", 1<<20)
	b.opens("src/a", long)
	b.records("src/a")
	b.version++
	list := make([]any, 4_000)
	for i := range list {
		at := map[string]int{"line": 0, "character": 1<<20 - i - 1}
		list[i] = map[string]any{"text": "yy", "range": map[string]any{"start": at, "end": at}}
	}
	b.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": b.uri("src/a"), "version": b.version}, "contentChanges": list})
	began := time.Now()
	b.call("forklift/checkpoints", map[string]any{})
	if took := time.Since(began); took > patience/4 {
		t.Errorf("the next request waited %v", took)
	}
	b.records("src/a")
}
