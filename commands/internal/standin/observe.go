package standin

import (
	"context"
	"path/filepath"

	"forklift/engine"
)

// QuickStatus is the status without the files.
func (w worktree) QuickStatus(ctx context.Context) (*engine.StatusResult, error) {
	s, err := w.Status(ctx)
	if err != nil {
		return nil, err
	}
	quick := *s
	quick.Files, quick.FileCount, quick.FilesKnown = nil, 0, false
	return &quick, nil
}

// Places are the worktree's top and two directories that are not there.
func (w worktree) Places(context.Context) (*engine.Places, error) {
	root := w.e.info().Path
	return &engine.Places{Root: root, GitDir: filepath.Join(root, ".git"), Records: filepath.Join(root, ".records"),
		Holders: filepath.Join(root, ".records", "holders"), Dirs: []string{".", "src"}, Rules: []string{".gitignore"}}, w.e.Fail["places"]
}
