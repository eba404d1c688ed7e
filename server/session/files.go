package session

import (
	"context"
	"encoding/json"
	"errors"
	"sort"

	"forklift/commands"
	"forklift/engine"
	"forklift/server/lsp"
	"forklift/storage/fault"
)

// maxHeld is how many of the latest checkpoints forklift/file speaks of.
const maxHeld = 100

// fileResult is what forklift/file tells of one file.
type fileResult struct {
	Worktree    string     `json:"worktree"` // URI of its top
	Path        string     `json:"path"`     // from the worktree's top
	Selected    bool       `json:"selected"` // a capture would save it now
	Checkpoints []heldFile `json:"checkpoints"`
}

// heldFile is a checkpoint of this worktree, as one file sees it.
type heldFile struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Has  bool   `json:"has"`  // it has the file
	Same bool   `json:"same"` // as it is on disk now
}

// file answers forklift/file: which of the latest checkpoints have a file, and
// which of them have it as it is now.
func (s *session) file(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := lsp.Decode(params, &p); err != nil {
		return nil, err
	}
	t, rel := s.fileOf(p.URI)
	if t == nil {
		return nil, failure(&fault.Error{Op: "look at file", Path: p.URI, Kind: fault.NotFound, Err: errors.New("it is in no worktree of this session")})
	}
	r := fileResult{Worktree: lsp.FileURI(t.root).String(), Path: rel, Checkpoints: []heldFile{}}
	err := s.inTree(ctx, t, func(w commands.Worktree) error {
		selected, err := w.Selected(ctx, []string{rel})
		if err != nil {
			return err
		}
		r.Selected = selected[rel]
		var held []engine.HeldFile
		if held, err = w.Holding(ctx, rel, maxHeld); err != nil {
			return err
		}
		for _, h := range held {
			r.Checkpoints = append(r.Checkpoints, heldFile{ID: string(h.ID), Name: h.Name, Has: h.Has, Same: h.Same})
		}
		return nil
	})
	if err != nil {
		return nil, failure(err)
	}
	return r, nil
}

// projectCommands is what forklift/commands tells of .forklift.json.
type projectCommands struct {
	Commands []projectCommand `json:"commands"` // by name
	Trusted  bool             `json:"trusted"`  // what the file would run is approved
}

// projectCommand is what `forklift run NAME` runs.
type projectCommand struct {
	Name string   `json:"name"`
	Argv []string `json:"argv"`
}

// commandsRequest answers forklift/commands.
func (s *session) commandsRequest(ctx context.Context, params json.RawMessage) (any, error) {
	at, err := s.worktreeOf(params)
	if err != nil {
		return nil, err
	}
	r := projectCommands{Commands: []projectCommand{}}
	env, err := s.envAt(at.dir)
	if err != nil {
		return nil, failure(err)
	}
	w, err := env.Engine.Open(ctx, at.dir)
	if err != nil {
		return nil, failure(err)
	}
	defer w.Close()
	settings, err := w.Settings(ctx)
	if err != nil {
		return nil, failure(err)
	}
	for name, argv := range settings.Commands {
		r.Commands = append(r.Commands, projectCommand{Name: name, Argv: argv})
	}
	sort.Slice(r.Commands, func(i, k int) bool { return r.Commands[i].Name < r.Commands[k].Name })
	if r.Trusted, err = w.Trusted(ctx); err != nil {
		return nil, failure(err)
	}
	return r, nil
}
