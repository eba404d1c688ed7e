package session

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"forklift/commands"
	"forklift/engine"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
)

// migrationDirs are the names of directories that hold migrations, as the
// usual tools have them.
var migrationDirs = []string{"migrations", "migration", "migrate", "alembic", "versions"}

// isMigration reports a file that a migration tool runs, by its place.
func isMigration(rel string) bool {
	dirs := strings.Split(path.Dir(rel), "/")
	return slices.ContainsFunc(dirs, func(d string) bool { return slices.Contains(migrationDirs, strings.ToLower(d)) })
}

// codeLenses answers textDocument/codeLens: on migrations among the selected
// files, which checkpoints have the file as it is, and a capture before it is
// run.
func (s *session) codeLenses(ctx context.Context, params json.RawMessage) (any, error) {
	var p protocol.CodeLensParams
	if err := lsp.Decode(params, &p); err != nil {
		return nil, err
	}
	lenses := []protocol.CodeLens{}
	t, rel := s.fileOf(p.TextDocument.URI.String())
	if t == nil || !isMigration(rel) {
		return lenses, nil
	}
	if status := t.last(); status == nil || !status.Tracked || status.Interrupted != nil {
		return lenses, nil
	}
	var held []engine.HeldFile
	selected := false
	err := s.inTree(ctx, t, func(w commands.Worktree) error {
		found, err := w.Selected(ctx, []string{rel})
		if selected = found[rel]; err != nil || !selected {
			return err
		}
		held, err = w.Holding(ctx, rel, maxRecent)
		return err
	})
	if err != nil {
		return nil, failure(err)
	}
	if !selected {
		return lenses, nil
	}
	lenses = append(lenses, protocol.CodeLens{Command: t.command(heldTitle(held), "list", nil)})
	name := "before-" + plain(strings.TrimSuffix(path.Base(rel), path.Ext(rel)))
	return append(lenses, protocol.CodeLens{Command: t.command("Capture before running", "capture", map[string]any{"note": name})}), nil
}

// heldTitle tells which checkpoints have a file as it is.
func heldTitle(held []engine.HeldFile) string {
	var names []string
	for _, h := range held {
		if h.Same {
			names = append(names, h.Name)
		}
	}
	switch len(names) {
	case 0:
		return "In no checkpoint as it is now"
	case 1:
		return fmt.Sprintf("In checkpoint %s as it is now", names[0])
	}
	return fmt.Sprintf("In checkpoints %s as it is now", strings.Join(names, ", "))
}

// plain makes a text fit for a note of one line.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '-'
		}
		return r
	}, text)
}
