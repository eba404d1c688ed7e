package session

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forklift/commands"
	"forklift/engine"
	"forklift/engine/config"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
)

// The kinds of our code actions. They are source actions, offered on any file
// of a tracked worktree; what mends something is a quick fix: recover, and what
// .forklift.json has.
const (
	kindCapture = "source.forklift.capture"
	kindRestore = "source.forklift.restore"
	kindUndo    = "source.forklift.undo"
	kindFile    = "source.forklift.restoreFile"
	kindFix     = "quickfix"
)

// maxRecent is how many checkpoints code actions and lenses speak of.
const maxRecent = 5

// codeActions answers textDocument/codeAction. It is asked at every move of
// the cursor, so what it needs of the store is kept until the records change.
func (s *session) codeActions(ctx context.Context, params json.RawMessage) (any, error) {
	var p protocol.CodeActionParams
	if err := lsp.Decode(params, &p); err != nil {
		return nil, err
	}
	actions := []protocol.CodeAction{}
	t, rel := s.fileOf(p.TextDocument.URI.String())
	if t == nil {
		return actions, nil
	}
	var only []string
	for _, k := range p.Context.Only {
		only = append(only, string(k))
	}
	if rel == config.Name && wantsKind(only, kindFix) {
		actions = append(actions, s.configActions(t, p.TextDocument.URI, p.Range)...)
	}
	status := t.last()
	if status == nil || !status.Tracked {
		return actions, nil
	}
	if status.Interrupted != nil {
		return append(actions, wanted(only, t.recoverActions(status))...), nil
	}
	recent, err := t.recentCheckpoints(ctx)
	if err != nil {
		return nil, failure(err)
	}
	all := t.moveActions(recent)
	if wantsKind(only, kindFile) {
		all = append(all, s.fileActions(ctx, t, rel)...)
	}
	return append(actions, wanted(only, all)...), nil
}

// fileOf is the tree that holds the file of a URI, and the path in it; nil for
// anything that is no file of one.
func (s *session) fileOf(text string) (*tree, string) {
	path, err := lsp.FilePath(text)
	if err != nil {
		return nil, ""
	}
	path = realPath(path)
	t := s.treeOf(path)
	if t == nil {
		return nil, ""
	}
	rel, err := filepath.Rel(t.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, ""
	}
	return t, filepath.ToSlash(rel)
}

// recentCheckpoints are the latest checkpoints, read once per change of the
// records.
func (t *tree) recentCheckpoints(ctx context.Context) ([]engine.Recent, error) {
	t.mu.Lock()
	recent, ok := t.recent, t.recentOK
	t.mu.Unlock()
	if ok {
		return recent, nil
	}
	env, err := t.hub.opt.Wire(t.root, t.peer)
	if err != nil {
		return nil, err
	}
	w, err := env.Engine.Open(ctx, t.root)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if recent, err = w.Recent(ctx, maxRecent); err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.recent, t.recentOK = recent, true
	t.mu.Unlock()
	return recent, nil
}

// forgetRecent is called when the records changed.
func (t *tree) forgetRecent() {
	t.mu.Lock()
	t.recent, t.recentOK = nil, false
	t.mu.Unlock()
}

// moveActions capture, restore and undo.
func (t *tree) moveActions(recent []engine.Recent) []protocol.CodeAction {
	list := []protocol.CodeAction{t.action(kindCapture, "Forklift: capture a checkpoint", "capture", nil)}
	now := t.hub.opt.Clock.Now()
	for _, r := range recent {
		about := ago(now.Sub(r.Created))
		switch {
		case r.Current:
			about += ", the present one"
		case r.Files >= engine.MaxStatusFiles:
			about += fmt.Sprintf(", more than %d files differ from the present one", engine.MaxStatusFiles)
		default:
			about += fmt.Sprintf(", %s from the present one", differ(r.Files))
		}
		list = append(list, t.action(kindRestore, fmt.Sprintf("Forklift: restore %q (%s)", r.Name, about), "restore", map[string]any{"ref": r.Name}))
	}
	t.mu.Lock()
	move := t.move
	t.mu.Unlock()
	if move != nil {
		list = append(list, t.action(kindUndo, fmt.Sprintf("Forklift: undo the %s of %q", move.Verb, move.Name), "undo", nil))
	}
	return list
}

func differ(files int) string {
	if files == 1 {
		return "1 file differs"
	}
	return fmt.Sprintf("%d files differ", files)
}

// ago is an age in words.
func ago(d time.Duration) string {
	for _, u := range []struct {
		one  time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / u.one); n == 1 {
			return "1 " + u.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, u.name)
		}
	}
	return "just now"
}

// fileActions put one file back as it was.
func (s *session) fileActions(ctx context.Context, t *tree, rel string) []protocol.CodeAction {
	restore := commands.Lookup("restore")
	if !known(restore, "paths") {
		return nil
	}
	var held []engine.HeldFile
	err := s.inTree(ctx, t, func(w commands.Worktree) (err error) {
		held, err = w.Holding(ctx, rel, maxRecent)
		return err
	})
	if err != nil {
		s.hub.opt.Log.Warn("look for a file in checkpoints", "path", rel, "error", err)
		return nil
	}
	var list []protocol.CodeAction
	for _, h := range held {
		if h.Has && !h.Same {
			list = append(list, t.action(kindFile, fmt.Sprintf("Forklift: put %s back as it was at %q", filepath.Base(rel), h.Name),
				"restore", map[string]any{"ref": h.Name, "paths": []string{rel}}))
		}
	}
	return list
}

// recoverActions end an interrupted operation.
func (t *tree) recoverActions(status *commands.StatusResult) []protocol.CodeAction {
	i := status.Interrupted
	way := "takes it back"
	if i.Forward {
		way = "finishes it"
	}
	a := t.action(kindFix, fmt.Sprintf("Forklift: recover the interrupted %s (%s)", i.Verb, way), "recover", nil)
	yes := true
	a.IsPreferred = &yes
	return []protocol.CodeAction{a}
}

// action is a code action that runs a verb.
func (t *tree) action(kind, title, verb string, request map[string]any) protocol.CodeAction {
	k := protocol.CodeActionKind(kind)
	return protocol.CodeAction{Title: title, Kind: &k, Command: t.command(title, verb, request)}
}

// command is a command that runs a verb in the tree.
func (t *tree) command(title, verb string, request map[string]any) protocol.Command {
	arg := map[string]any{"worktree": lsp.FileURI(t.root).String()}
	for key, value := range request {
		arg[key] = value
	}
	return protocol.Command{Title: title, Command: commandPrefix + verb, Arguments: []protocol.LSPAny{protocol.LSPAny(raw(arg))}}
}

// wanted are the actions whose kind the client asks for.
func wanted(only []string, all []protocol.CodeAction) []protocol.CodeAction {
	kept := []protocol.CodeAction{}
	for _, a := range all {
		if wantsKind(only, string(*a.Kind)) {
			kept = append(kept, a)
		}
	}
	return kept
}

// wantsKind reports that one of the kinds is kind or contains it; no kinds are all.
func wantsKind(only []string, kind string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(o string) bool {
		return o == "" || kind == o || strings.HasPrefix(kind, o+".")
	})
}
