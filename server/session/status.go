package session

import (
	"context"
	"encoding/json"

	"forklift/commands"
	"forklift/server/lsp"
)

// worktreeParams are the params of requests about one worktree.
type worktreeParams struct {
	Worktree string `json:"worktree"` // URI; may be left out when there is one
}

// worktreeOf reads the params of a request that says nothing but its worktree. The
// error is one for the client.
func (s *session) worktreeOf(params json.RawMessage) (place, error) {
	var p worktreeParams
	if err := lsp.Decode(params, &p); err != nil {
		return place{}, err
	}
	at, err := s.placeOf(p.Worktree, "worktree")
	if err != nil {
		return place{}, failure(err)
	}
	return at, nil
}

// statusRequest answers forklift/status: a status that is begun after the
// request. A directory that is not tracked is an answer too.
func (s *session) statusRequest(ctx context.Context, params json.RawMessage) (any, error) {
	at, err := s.worktreeOf(params)
	if err != nil {
		return nil, err
	}
	if at.tree != nil {
		return at.tree.fresh(ctx)
	}
	env, err := s.envAt(at.dir)
	if err != nil {
		return nil, failure(err)
	}
	result, err := commands.Status(ctx, env, commands.StatusRequest{})
	if err != nil {
		return commands.Untracked(at.dir, err), nil
	}
	return result, nil
}

// envAt is the Env of the session at a place.
func (s *session) envAt(dir string) (commands.Env, error) {
	env, err := s.hub.opt.Wire(dir, s.peer)
	if err != nil {
		return env, err
	}
	env.Dir, env.Environ = dir, s.peer.Environ
	return env, nil
}

// planParams ask what a restore would do.
type planParams struct {
	worktreeParams
	Ref      string   `json:"ref"`
	Paths    []string `json:"paths"` // from the worktree's top, or absolute
	CodeOnly bool     `json:"code_only"`
	DataOnly bool     `json:"data_only"`
}

// planRequest answers forklift/plan: what `forklift restore REF --plan` tells.
func (s *session) planRequest(ctx context.Context, params json.RawMessage) (any, error) {
	var p planParams
	if err := lsp.Decode(params, &p); err != nil {
		return nil, err
	}
	at, err := s.placeOf(p.Worktree, "worktree")
	if err != nil {
		return nil, failure(err)
	}
	if p.Ref == "" {
		return nil, failure(usage("ref", "it names no checkpoint"))
	}
	env, err := s.envAt(at.dir)
	if err != nil {
		return nil, failure(err)
	}
	result, err := commands.Restore(ctx, env, commands.RestoreRequest{
		Ref: p.Ref, Paths: p.Paths, CodeOnly: p.CodeOnly, DataOnly: p.DataOnly, Plan: commands.ShowPlan,
	})
	if err != nil {
		return nil, failure(err)
	}
	return result, nil
}
