package standin

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"forklift/engine"
)

// QuickStatus is the status without the files.
func (w worktree) QuickStatus(ctx context.Context) (*engine.StatusResult, error) {
	s, err := w.Status(ctx)
	if err != nil {
		return nil, err
	}
	quick := *s
	quick.Files, quick.FileCount, quick.FilesKnown = nil, 0, false
	return &quick, nil
}

// TrackedStatus is the whole status, whatever was touched.
func (w worktree) TrackedStatus(ctx context.Context, _ *engine.Tracker, touched []string) (*engine.StatusResult, error) {
	if err := w.e.call("tracked", touched); err != nil {
		return nil, err
	}
	return w.Status(ctx)
}

// Places are the worktree's top and two directories that are not there.
func (w worktree) Places(context.Context, bool) (*engine.Places, error) {
	root := w.e.info().Path
	return &engine.Places{Root: root, GitDir: filepath.Join(root, ".git"), Records: filepath.Join(root, ".records"),
		Holders: filepath.Join(root, ".records", "holders"), Dirs: []string{".", "src"}, Rules: []string{".gitignore"}}, w.e.Fail["places"]
}

// VariableFiles reads the file .env of the worktree.
func (w worktree) VariableFiles(context.Context) map[string][]byte {
	data, err := os.ReadFile(filepath.Join(w.e.info().Path, ".env"))
	if err != nil {
		return nil
	}
	return map[string][]byte{".env": data}
}

// SetStatus changes what Status answers from now on.
func (e *Engine) SetStatus(change func(*engine.StatusResult)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	next := *StatusResult(e.info())
	if e.Status != nil {
		next = *e.Status
	}
	change(&next)
	e.Status = &next
}

// SetFail lets a call fail, or no more, while others use the engine.
func (e *Engine) SetFail(name string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fail := map[string]error{}
	for k, v := range e.Fail {
		fail[k] = v
	}
	fail[name] = err
	e.Fail = fail
}

// pause is a call that waits.
type pause struct {
	begun chan struct{} // closed when the call has come
	goOn  chan struct{} // closed when it may go on
	ended error         // of its context
	taken bool          // a call has come
}

// Pause lets the next call of a name wait: begun is closed when it has come,
// and it goes on when goOn is closed or its context ends.
func (e *Engine) Pause(name string) (begun <-chan struct{}, goOn chan<- struct{}) {
	p := &pause{begun: make(chan struct{}), goOn: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pauses == nil {
		e.pauses = map[string]*pause{}
	}
	e.pauses[name] = p
	return p.begun, p.goOn
}

// Paused is what the context of the paused call had ended with when it went on.
func (e *Engine) Paused(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pauses[name].ended
}

// wait is where a call waits if it is to.
func (e *Engine) wait(ctx context.Context, name string) error {
	e.mu.Lock()
	p := e.pauses[name]
	first := p != nil && !p.taken
	if first {
		p.taken = true
	}
	e.mu.Unlock()
	if !first {
		return nil
	}
	close(p.begun)
	select {
	case <-p.goOn:
	case <-ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p.ended = ctx.Err()
	return p.ended
}

// LastMove is Moved, without its files when it is known.
func (w worktree) LastMove(_ context.Context, known string) (*engine.Move, error) {
	w.e.mu.Lock()
	defer w.e.mu.Unlock()
	if w.e.Moved == nil {
		return nil, nil
	}
	m := *w.e.Moved
	if m.Operation == known {
		m.Files = nil
	}
	return &m, nil
}

// FileAt says which file of which checkpoint was asked for.
func (w worktree) FileAt(_ context.Context, ref, p string) ([]byte, error) {
	return []byte(p + " at " + ref + "\n"), w.e.call("file", ref, p)
}

// Holding says that the newest of Checkpoints has the file as it is.
func (w worktree) Holding(_ context.Context, p string, limit int) ([]engine.HeldFile, error) {
	var list []engine.HeldFile
	for i, c := range Checkpoints() {
		list = append(list, engine.HeldFile{ID: c.ID, Name: c.Name, Has: true, Same: i == 0})
	}
	return list[:min(limit, len(list))], w.e.call("holding", p)
}

// Recent is Checkpoints; each differs in as many files as its place tells.
func (w worktree) Recent(_ context.Context, limit int) ([]engine.Recent, error) {
	var list []engine.Recent
	for i, c := range Checkpoints() {
		list = append(list, engine.Recent{ID: c.ID, Name: c.Name, Created: c.Created, Current: c.Current, Files: i})
	}
	return list[:min(limit, len(list))], w.e.Fail["recent"]
}

// Selected says that what is below src or migrations is.
func (w worktree) Selected(_ context.Context, paths []string) (map[string]bool, error) {
	found := map[string]bool{}
	for _, p := range paths {
		found[p] = strings.HasPrefix(p, "src/") || strings.HasPrefix(p, "migrations/")
	}
	return found, w.e.call("selected", paths)
}

// SetUnsaved remembers what it was told.
func (w worktree) SetUnsaved(_ context.Context, s engine.UnsavedSession, paths []string) error {
	return w.e.call("unsaved", s.Editor, paths)
}

// SetMoved changes what LastMove answers.
func (e *Engine) SetMoved(m *engine.Move) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Moved = m
}
