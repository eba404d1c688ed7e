package session

import (
	"context"
	"fmt"
	"path/filepath"

	"forklift/commands"
	"forklift/engine/config"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
)

// changed is called after every new status of one of the session's trees.
func (s *session) changed(t *tree) { s.diagnose(t) }

// diagnose publishes what is wrong with the worktree as a whole at its
// .forklift.json, and takes it back when it is over.
func (s *session) diagnose(t *tree) {
	status := t.last()
	if status == nil {
		return
	}
	uri := lsp.FileURI(filepath.Join(t.root, config.Name))
	list := worktreeDiagnostics(status)
	s.mu.Lock()
	told := s.told[uri.String()]
	s.told[uri.String()] = len(list) > 0
	s.mu.Unlock()
	if len(list) > 0 || told {
		s.notify("textDocument/publishDiagnostics", protocol.PublishDiagnosticsParams{URI: uri, Diagnostics: list})
	}
}

// worktreeDiagnostics are those of the worktree as a whole.
func worktreeDiagnostics(status *commands.StatusResult) []protocol.Diagnostic {
	list := []protocol.Diagnostic{}
	if i := status.Interrupted; i != nil {
		way := "take it back"
		if i.Forward {
			way = "finish it"
		}
		list = append(list, protocol.Diagnostic{
			Severity: protocol.DiagnosticSeverityError, Source: protocol.NewOptional("forklift"), Code: protocol.String("interrupted"),
			Message: protocol.String(fmt.Sprintf("A %s of %s was interrupted. Recover will %s; until then commands and changes are refused.", i.Verb, i.Target, way)),
		})
	}
	return list
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
