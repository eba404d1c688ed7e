package gitdir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"forklift/storage/fault"
)

// maxLinked bounds the linked worktrees of one repository.
const maxLinked = 10_000

// Place is a git directory and the worktree that it is of.
type Place struct {
	GitDir string
	// Exists reports that GitDir is a git directory.
	Exists bool
	// Worktree is where git has the worktree recorded, with links resolved
	// if something is there; "" when that cannot be told.
	Worktree string
	// Alive reports that the worktree is there and belongs to GitDir.
	Alive bool
	// Locked reports a `git worktree lock`: its directory may be away for a
	// while, on a disk that is not always there.
	Locked bool
}

// Look tells what has become of a git directory. A directory that is gone, or
// whose pointers do not agree, is an answer, not an error.
func (rd *Reader) Look(ctx context.Context, gitDir string) (Place, error) {
	p := Place{GitDir: gitDir}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	if _, err := os.Lstat(gitDir); errors.Is(err, os.ErrPermission) {
		return p, &fault.Error{Op: "look at git directory", Path: gitDir, Err: err}
	}
	if !isGitDir(gitDir) {
		return p, nil
	}
	p.Exists = true
	back, err := backPointer(gitDir)
	if err != nil || back == "" {
		return p, nil
	}
	p.Worktree = back
	if real, err := filepath.EvalSymlinks(back); err == nil {
		p.Worktree = real
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "locked")); err == nil {
		p.Locked = true
	}
	p.Alive = pointsTo(p.Worktree, gitDir)
	return p, nil
}

// backPointer is the worktree that a git directory says it is of, "" when it
// does not say.
func backPointer(gitDir string) (string, error) {
	if _, err := os.Lstat(filepath.Join(gitDir, "commondir")); err == nil {
		text, err := readFile(filepath.Join(gitDir, "gitdir"), maxPointerBytes)
		back := strings.TrimRight(text, "\r\n")
		if err != nil || filepath.Base(back) != ".git" {
			return "", err
		}
		if !filepath.IsAbs(back) {
			back = filepath.Join(gitDir, back)
		}
		return filepath.Dir(back), nil
	}
	c, err := readCore(gitDir)
	switch {
	case err != nil || c.bare:
		return "", err
	case c.worktree == "" && filepath.Base(gitDir) == ".git":
		return filepath.Dir(gitDir), nil
	case c.worktree != "" && !filepath.IsAbs(c.worktree):
		return filepath.Join(gitDir, c.worktree), nil
	}
	return c.worktree, nil
}

// pointsTo reports that the .git of a worktree is, or names, gitDir.
func pointsTo(worktree, gitDir string) bool {
	want, err := filepath.EvalSymlinks(gitDir)
	if err != nil {
		return false
	}
	dotGit := filepath.Join(worktree, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil {
		return false
	}
	if info.IsDir() {
		real, err := filepath.EvalSymlinks(dotGit)
		return err == nil && real == want
	}
	named, err := readPointer(dotGit, "gitdir: ", worktree)
	return err == nil && named == want
}

// GitDirs lists the git directories of a repository: the common directory,
// then those of the linked worktrees by name, whether these exist or not.
func (rd *Reader) GitDirs(_ context.Context, r Repo) ([]string, error) {
	list := []string{r.CommonDir}
	dir := filepath.Join(r.CommonDir, "worktrees")
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, &fault.Error{Op: "list git's worktrees", Path: dir, Err: err}
	}
	defer f.Close()
	names, err := f.Readdirnames(maxLinked)
	if err != nil && len(names) == 0 {
		return list, nil // empty
	}
	set := map[string]bool{}
	for _, name := range names {
		set[filepath.Join(dir, name)] = true
	}
	return append(list, sorted(set)...), nil
}
