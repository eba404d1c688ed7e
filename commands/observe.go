package commands

import (
	"context"

	"forklift/engine"
)

// Observed is what an observer that stays, such as the editors' server, asks
// of a worktree beside its verbs.
type Observed interface {
	TrackedStatus(ctx context.Context, t *engine.Tracker, touched []string) (*engine.StatusResult, error)
	QuickStatus(ctx context.Context) (*engine.StatusResult, error)
	Places(ctx context.Context, walk bool) (*engine.Places, error)
	LastMove(ctx context.Context, known string) (*engine.Move, error)
	FileAt(ctx context.Context, ref, p string) ([]byte, error)
	Holding(ctx context.Context, p string, limit int) ([]engine.HeldFile, error)
	Recent(ctx context.Context, limit int) ([]engine.Recent, error)
	Selected(ctx context.Context, paths []string) (map[string]bool, error)
	VariableFiles(ctx context.Context) map[string][]byte
	SetUnsaved(ctx context.Context, s engine.UnsavedSession, paths []string) error
}
