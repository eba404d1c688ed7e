package commands

import (
	"context"
	"errors"

	"forklift/engine"
	"forklift/storage/fault"
)

// ProtectRequest names checkpoints to protect, or not to protect any more.
type ProtectRequest struct {
	Refs []string `json:"refs" arg:"[NAME...]" complete:"checkpoint" help:"the checkpoints"`
}

// ProtectResult is the checkpoints as they are now.
type ProtectResult struct {
	Checkpoints []engine.Checkpoint `json:"checkpoints"`
}

var protectVerb = NewVerb(Verb{
	Name: "protect", Group: GroupCheckpoints, Worktree: true, Near: []string{"pin", "keep", "lock"},
	Short:    "Protect checkpoints from being forgotten",
	Examples: []Example{{"forklift protect release-1", "forget refuses it until unprotect"}},
}, func(ctx context.Context, env Env, req ProtectRequest) (ProtectResult, error) {
	return Protect(ctx, env, req, true)
})

var unprotectVerb = NewVerb(Verb{
	Name: "unprotect", Group: GroupCheckpoints, Worktree: true, Near: []string{"unpin", "unlock"},
	Short:    "Let checkpoints be forgotten again",
	Examples: []Example{{"forklift unprotect release-1", ""}},
}, func(ctx context.Context, env Env, req ProtectRequest) (ProtectResult, error) {
	return Protect(ctx, env, req, false)
})

// Protect changes one checkpoint after the other, each durably; an error
// ends it.
func Protect(ctx context.Context, env Env, req ProtectRequest, protect bool) (ProtectResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (ProtectResult, error) {
		result := ProtectResult{Checkpoints: []engine.Checkpoint{}}
		if len(req.Refs) == 0 {
			return result, missingName()
		}
		for _, ref := range req.Refs {
			c, err := w.Protect(ctx, ref, protect)
			if err != nil {
				return result, err
			}
			result.Checkpoints = append(result.Checkpoints, *c)
		}
		return result, nil
	})
}

func missingName() error {
	return &fault.Error{Op: "read request", Path: "NAME", Kind: fault.Usage, Err: errors.New("NAME is missing"),
		Hint: "Name one or more checkpoints; `forklift list` shows them."}
}
