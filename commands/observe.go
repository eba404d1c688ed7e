package commands

import (
	"context"

	"forklift/engine"
)

// Observed is what an observer that stays, such as the editors' server, asks
// of a worktree beside its verbs.
type Observed interface {
	QuickStatus(ctx context.Context) (*engine.StatusResult, error)
	Places(ctx context.Context) (*engine.Places, error)
}
