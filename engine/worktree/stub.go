// Package worktree stub
package worktree

import (
	"context"
	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/clock"
	"forklift/storage/vfs"
)

type RuleOptions struct {
	FS                      vfs.FS
	Selection               config.Selection
	Ignored, Extra, Exclude []string
	Dir                     string
}

func Rules(RuleOptions) (storage.Rules, error) {
	return storage.Rules{Unit: storage.Chunks, Starts: []string{"src"}, Mtimes: true}, nil
}
func Covered(ctx context.Context, s *storage.Store, present storage.ID, target storage.SourceState) ([]string, error) {
	return nil, nil
}

type StageOptions struct {
	FS             vfs.FS
	Dir            string
	Store          *storage.Store
	Clock          clock.Clock
	Operation      string
	Saved, Target  storage.SourceState
	Ignored        func(ctx context.Context, paths []string) ([]string, error)
	Switched, Back bool
}
type Install struct{}
type Rescue struct{ Path, Staged, Unsaved string }

func Stage(context.Context, StageOptions) (*Install, error) { return nil, nil }
func OpenInstall(ctx context.Context, fs vfs.FS, dir string, store *storage.Store, c clock.Clock, operation string, back bool) (*Install, error) {
	return nil, nil
}
func (*Install) Run(ctx context.Context) ([]Rescue, error) { return nil, nil }
func (*Install) Verify(ctx context.Context) error          { return nil }
func (*Install) Counts() (a, b, c int)                     { return }
func (*Install) Remove(ctx context.Context) error          { return nil }
func (*Install) Rescues(ctx context.Context, w *storage.Writer) (storage.ID, int, int64, error) {
	return storage.ID{}, 0, 0, nil
}
func RemoveStaging(ctx context.Context, fs vfs.FS, dir, operation string) error { return nil }

type ChangeOptions struct {
	FS       vfs.FS
	Dir      string
	Store    *storage.Store
	Rules    storage.Rules
	Manifest storage.ID
	Memory   *storage.Memory
	Limit    int
}
type Change struct{ Path, Change string }

func Changes(ctx context.Context, o ChangeOptions) ([]Change, int, error) { return nil, 0, nil }
