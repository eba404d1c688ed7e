package commands

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"forklift/engine"
	"forklift/storage/fault"
)

// Contents are the methods of a Worktree that look into checkpoints.
type Contents interface {
	Diff(ctx context.Context, opt engine.DiffOptions) (*engine.DiffResult, error)
	PlanRestore(ctx context.Context, opt engine.RestoreOptions) (*engine.RestorePlan, error)
	Cat(ctx context.Context, opt engine.CatOptions) (*engine.CatResult, error)
	PathsBelow(ctx context.Context, word string) []string
}

// placeIn is env.Dir below the top of the worktree; "." is the top. A
// directory that is reached through symbolic links counts where it is.
func placeIn(env Env, w Worktree) (string, error) { return below(w.Info().Path, env.Dir) }

// below is the path of dir from the directory top, slash-separated.
func below(top, dir string) (string, error) {
	rel, err := filepath.Rel(top, dir)
	if err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	rel, err = filepath.Rel(top, dir)
	if err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), nil
	}
	return "", &fault.Error{Op: "find place in worktree", Path: dir, Kind: fault.Usage, Err: errors.New("it is outside the worktree " + top),
		Hint: "Name paths of the worktree."}
}

// outside is the error for a path that a user gave.
func outside(p string) error {
	return &fault.Error{Op: "read path", Path: p, Kind: fault.Usage, Err: errors.New("it is outside the worktree"),
		Hint: "Name paths of the worktree; they start at the present directory."}
}

// pathsIn makes paths as a user gives them paths from the top of the
// worktree. They start at env.Dir, as git's do.
func pathsIn(env Env, w Worktree, given []string) ([]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	here, err := placeIn(env, w)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range given {
		rel := filepath.ToSlash(filepath.Clean(filepath.Join(here, p)))
		if filepath.IsAbs(p) {
			// Of an absolute path only the directory is followed: its last
			// element may be a link that is meant itself.
			dir, err := below(w.Info().Path, filepath.Dir(filepath.Clean(p)))
			if filepath.Clean(p) == filepath.Clean(w.Info().Path) {
				dir, err = ".", nil
				p = "."
			}
			if err != nil {
				return nil, outside(p)
			}
			rel = filepath.ToSlash(filepath.Join(dir, filepath.Base(p)))
		}
		if rel == ".." || strings.HasPrefix(rel, "../") {
			return nil, outside(p)
		}
		paths = append(paths, rel)
	}
	return paths, nil
}
