package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"forklift/commands"
	"forklift/engine/config"
	"forklift/server/configls"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// diagnoseAfter is how long typing must pause before diagnostics are made anew.
const diagnoseAfter = 60 * time.Millisecond

// published is what a session was told about the files of one tree.
type published struct {
	told  map[uri.URI]string // the last params of a file that has any, encoded
	timer *time.Timer        // makes them anew
	gone  bool               // the session has left the tree
}

// changed is called after every look at one of the session's trees.
func (s *session) changed(t *tree) {
	s.diagnose(t)
	s.lookedAt(t)
}

// diagnoseSoon makes the diagnostics of a tree anew when its documents have
// been quiet.
func (s *session) diagnoseSoon(t *tree) {
	if t == nil || t.apart {
		return
	}
	s.diagnosing.Lock()
	defer s.diagnosing.Unlock()
	p := s.publishedOf(t)
	if p.gone {
		return
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(diagnoseAfter, func() { s.diagnose(t) })
		return
	}
	p.timer.Reset(diagnoseAfter)
}

// publishedOf is what was told of a tree; diagnosing is held.
func (s *session) publishedOf(t *tree) *published {
	p := s.told[t.root]
	if p == nil {
		p = &published{told: map[uri.URI]string{}}
		s.told[t.root] = p
	}
	return p
}

// diagnose publishes what is wrong in a tree's files, where that is something
// new, and takes back what is over.
func (s *session) diagnose(t *tree) {
	s.diagnosing.Lock()
	defer s.diagnosing.Unlock()
	p := s.publishedOf(t)
	status := t.last()
	if status == nil || p.gone {
		return
	}
	files := s.findings(t, status)
	for name := range p.told {
		if _, ok := files[name]; !ok {
			files[name] = protocol.PublishDiagnosticsParams{URI: name, Diagnostics: []protocol.Diagnostic{}}
		}
	}
	for name, params := range files {
		encoded, err := lsp.Encode(params)
		if err != nil {
			s.hub.opt.Log.Error("encode diagnostics", "error", err)
			continue
		}
		if p.told[name] == string(encoded) || p.told[name] == "" && len(params.Diagnostics) == 0 {
			continue
		}
		if p.told[name] = string(encoded); len(params.Diagnostics) == 0 {
			delete(p.told, name)
		}
		s.notify("textDocument/publishDiagnostics", encoded)
	}
}

// undiagnose takes back what was told of a tree that the session leaves.
func (s *session) undiagnose(t *tree) {
	s.diagnosing.Lock()
	defer s.diagnosing.Unlock()
	p := s.publishedOf(t)
	if p.timer != nil {
		p.timer.Stop()
	}
	for name := range p.told {
		s.notify("textDocument/publishDiagnostics", protocol.PublishDiagnosticsParams{URI: name, Diagnostics: []protocol.Diagnostic{}})
	}
	s.told[t.root] = &published{told: map[uri.URI]string{}, gone: true}
}

// rediagnose is undiagnose the other way round, for a tree that may have been
// left before.
func (s *session) rediagnose(t *tree) {
	s.diagnosing.Lock()
	s.publishedOf(t).gone = false
	s.diagnosing.Unlock()
	s.diagnose(t)
}

// openFile is a document of a tree as diagnostics see it.
type openFile struct {
	uri     uri.URI
	version int32
	text    string
	known   bool // text is what the editor shows
	unsaved bool
}

// openFiles are the open documents of a tree by path.
func (s *session) openFiles(t *tree) map[string]openFile {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	list := map[string]openFile{}
	for name, d := range s.docs.open {
		if d.tree == t {
			list[d.path] = openFile{uri: uri.URI(name), version: d.version, text: d.text, known: !d.big, unsaved: d.unsaved}
		}
	}
	return list
}

// findings are the diagnostics of a tree's files, by URI.
func (s *session) findings(t *tree, status *commands.StatusResult) map[uri.URI]protocol.PublishDiagnosticsParams {
	files := map[uri.URI]protocol.PublishDiagnosticsParams{}
	open := s.openFiles(t)
	add := func(path string, list ...protocol.Diagnostic) {
		f, isOpen := open[path]
		if !isOpen {
			f.uri = lsp.FileURI(path)
		}
		params, ok := files[f.uri]
		if !ok {
			params = protocol.PublishDiagnosticsParams{URI: f.uri, Diagnostics: []protocol.Diagnostic{}}
			if isOpen {
				params.Version = protocol.NewOptional(f.version)
			}
		}
		params.Diagnostics = append(params.Diagnostics, list...)
		files[f.uri] = params
	}
	name := filepath.Join(t.root, config.Name)
	whole := worktreeDiagnostics(status)
	add(name, whole...)
	if len(whole) > 0 {
		for path := range open {
			if path != name {
				add(path, whole...)
			}
		}
	}
	for _, f := range s.configFindings(t, status) {
		add(name, f.Diagnostic)
	}
	for _, line := range s.elsewhere(t, open) {
		add(filepath.Join(t.root, line.File), lineDiagnostic(line))
	}
	return files
}

// worktreeDiagnostics are those of the worktree as a whole.
func worktreeDiagnostics(status *commands.StatusResult) []protocol.Diagnostic {
	i := status.Interrupted
	if i == nil {
		return nil
	}
	way := "take it back"
	if i.Forward {
		way = "finish it"
	}
	return []protocol.Diagnostic{{
		Severity: protocol.DiagnosticSeverityError, Source: protocol.NewOptional("forklift"), Code: protocol.String("interrupted"),
		Message: protocol.String(fmt.Sprintf("A %s of %s was interrupted. Recover will %s; until then commands and changes are refused.", i.Verb, i.Target, way)),
	}}
}

// configText is the text of a tree's .forklift.json: of its open document,
// else of the disk. ok is false when there is none.
func (s *session) configText(t *tree) (text string, unsaved, ok bool) {
	name := filepath.Join(t.root, config.Name)
	if f, open := s.openFiles(t)[name]; open {
		return f.text, f.unsaved, f.known
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > config.MaxBytes {
		return "", false, false
	}
	data, err := os.ReadFile(name)
	return string(data), false, err == nil
}

// configFindings are those of a tree's .forklift.json.
func (s *session) configFindings(t *tree, status *commands.StatusResult) []configls.Finding {
	text, unsaved, ok := s.configText(t)
	if !ok || !status.Tracked && strings.TrimSpace(text) == "" {
		return nil
	}
	return configls.Diagnose(text, s.configPlace(t, status, unsaved))
}

// configPlace is where a tree's .forklift.json is.
func (s *session) configPlace(t *tree, status *commands.StatusResult, unsaved bool) configls.Place {
	p := configls.Place{Root: t.root, Kinds: commands.Kinds(), Unsaved: unsaved,
		Program: func(name string) error { return commands.LookProgram(t.root, s.peer.Environ, name) }}
	if status != nil && status.Tracked {
		p.Store = status.Worktree.Store
		p.Approved = func() bool { return status.Trusted }
	}
	return p
}

// elsewhere are the lines of a tree's files of variables that lead to another
// database; the texts of open ones count.
func (s *session) elsewhere(t *tree, open map[string]openFile) []commands.VariableLine {
	replaced := map[string]string{}
	for path, f := range open {
		if filepath.Dir(path) == t.root && strings.HasPrefix(filepath.Base(path), ".env") && f.known {
			replaced[filepath.Base(path)] = f.text
		}
	}
	if len(replaced) == 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.elsewhere
	}
	ctx, cancel := context.WithTimeout(t.ctx, lookTimeout)
	defer cancel()
	env, err := s.envAt(t.root)
	if err != nil {
		return nil
	}
	lines, err := commands.Elsewhere(ctx, env, replaced)
	if err != nil {
		return nil // not set up, or a .forklift.json that has findings
	}
	return lines
}

// lineDiagnostic is the diagnostic of such a line.
func lineDiagnostic(line commands.VariableLine) protocol.Diagnostic {
	r := lsp.RangeOf(line.Text, 0, len(strings.TrimRight(line.Text, "\r")))
	r.Start.Line, r.End.Line = uint32(line.Number-1), uint32(line.Number-1)
	return protocol.Diagnostic{Range: r, Severity: protocol.DiagnosticSeverityWarning, Source: protocol.NewOptional("forklift"),
		Code: protocol.String("dotenv"), Message: protocol.String(line.Message)}
}

// refreshLenses asks the client to ask for the code lenses again, if it can.
func (s *session) refreshLenses() {
	if !s.client.refreshLenses {
		return
	}
	s.mu.Lock()
	busy := s.refreshing
	s.refreshing = true
	s.mu.Unlock()
	if busy {
		return
	}
	go func() {
		_ = s.conn.Call(context.Background(), "workspace/codeLens/refresh", nil, nil) // no answer is no matter
		s.mu.Lock()
		s.refreshing = false
		s.mu.Unlock()
	}()
}
