package session

import (
	"context"
	"encoding/json"

	"forklift/commands"
	"forklift/engine"
	"forklift/server/lsp"
)

// The pages of forklift/checkpoints.
const (
	pageDefault = 50
	pageMax     = 500
)

// checkpointsParams ask for a page of checkpoints.
type checkpointsParams struct {
	worktreeParams
	All     bool   `json:"all"`     // safety and rescue checkpoints too
	Project bool   `json:"project"` // of every worktree of the project
	Limit   int    `json:"limit"`   // rows; 0 is pageDefault, more than pageMax is pageMax
	After   string `json:"after"`   // the `next` of the page before; "" for the first
}

// checkpointsResult is a page: rows of `forklift list`, the newest first.
type checkpointsResult struct {
	commands.ListResult
	Next string `json:"next,omitempty"` // "" when this is the last page
}

// checkpoints answers forklift/checkpoints.
func (s *session) checkpoints(ctx context.Context, params json.RawMessage) (any, error) {
	var p checkpointsParams
	if err := lsp.Decode(params, &p); err != nil {
		return nil, err
	}
	at, err := s.placeOf(p.Worktree, "worktree")
	if err != nil {
		return nil, failure(err)
	}
	env, err := s.envAt(at.dir)
	if err != nil {
		return nil, failure(err)
	}
	list, err := commands.List(ctx, env, commands.ListRequest{All: p.All, Project: p.Project})
	if err != nil {
		return nil, failure(err)
	}
	limit := pageDefault
	if p.Limit > 0 {
		limit = min(p.Limit, pageMax)
	}
	page := checkpointsResult{ListResult: list}
	page.Checkpoints, page.Next = cut(list.Checkpoints, p.After, limit)
	return page, nil
}

// cut is a page of rows: ids sort by time, so a page goes on where the one
// before ended whatever was captured or forgotten meanwhile.
func cut(rows []engine.Checkpoint, after string, limit int) (page []engine.Checkpoint, next string) {
	from := 0
	for after != "" && from < len(rows) && string(rows[from].ID) >= after {
		from++
	}
	rows = rows[from:]
	if len(rows) > limit {
		return rows[:limit], string(rows[limit-1].ID)
	}
	return rows, ""
}
