package session

import (
	"context"
	"encoding/json"

	"forklift/engine/config"
	"forklift/server/configls"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// configOf is the tree whose .forklift.json a URI names; nil for any other
// file.
func (s *session) configOf(name string) *tree {
	t, rel := s.fileOf(name)
	if t == nil || rel != config.Name {
		return nil
	}
	return t
}

// hover answers textDocument/hover in a .forklift.json.
func (s *session) hover(_ context.Context, params json.RawMessage) (any, error) {
	var p protocol.HoverParams
	if err := lsp.Decode(params, &p); err != nil {
		return nil, err
	}
	if t := s.configOf(p.TextDocument.URI.String()); t != nil {
		if text, unsaved, ok := s.configText(t); ok {
			if h := configls.Hover(text, p.Position, s.configPlace(t, t.last(), unsaved)); h != nil {
				return h, nil
			}
		}
	}
	return nil, nil
}

// completion answers textDocument/completion in a .forklift.json.
func (s *session) completion(_ context.Context, params json.RawMessage) (any, error) {
	var p protocol.CompletionParams
	if err := lsp.Decode(params, &p); err != nil {
		return nil, err
	}
	if t := s.configOf(p.TextDocument.URI.String()); t != nil {
		if text, unsaved, ok := s.configText(t); ok {
			return configls.Complete(text, p.Position, s.configPlace(t, t.last(), unsaved)), nil
		}
	}
	return nil, nil
}

// configActions are the quick fixes of a .forklift.json for a range, and the
// approval of what it would run.
func (s *session) configActions(t *tree, name uri.URI, at protocol.Range) []protocol.CodeAction {
	status := t.last()
	if status == nil {
		return nil
	}
	var list []protocol.CodeAction
	trust := false
	for _, f := range s.configFindings(t, status) {
		for i, fix := range f.Fixes {
			if fix.Trust && !trust {
				trust = true // once for the file, wherever the cursor is
				a := t.action(kindFix, "Forklift: trust this configuration", "trust", nil)
				a.Diagnostics = []protocol.Diagnostic{f.Diagnostic}
				list = append(list, a)
			}
			if fix.Trust || !touches(at, f.Range) {
				continue
			}
			kind, preferred := protocol.CodeActionKind(kindFix), i == 0 && len(f.Fixes) > 0
			list = append(list, protocol.CodeAction{Title: fix.Title, Kind: &kind, IsPreferred: &preferred, Diagnostics: []protocol.Diagnostic{f.Diagnostic},
				Edit: &protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{name: fix.Edits}}})
		}
	}
	return list
}

// touches reports that two ranges have a place in common.
func touches(a, b protocol.Range) bool { return !before(a.End, b.Start) && !before(b.End, a.Start) }

func before(a, b protocol.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}
