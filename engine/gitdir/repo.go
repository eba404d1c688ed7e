package gitdir

import (
	"fmt"
	"os"
)

// Repo is where a worktree's parts are: absolute paths with links resolved.
type Repo struct {
	Worktree  string // top directory
	GitDir    string // of this worktree
	CommonDir string // of the repository
}

// Linked reports a worktree made by `git worktree add`: its git directory is
// inside the repository's.
func (r Repo) Linked() bool { return r.GitDir != r.CommonDir }

// Reader answers questions about git repositories. It keeps nothing between
// calls and may be used from several goroutines.
type Reader struct {
	git string // the program; "" looks it up in PATH
}

// New makes a Reader that looks git up in PATH when it needs it.
func New() *Reader { return &Reader{} }

// SameWorktree tells the device and inode of the worktree's git directory:
// they stay when the worktree is moved or renamed on its file system, and a
// copy has others.
func (rd *Reader) SameWorktree(r Repo) (dev, ino uint64, err error) {
	info, err := os.Lstat(r.GitDir)
	if err != nil {
		return 0, 0, fmt.Errorf("look at git directory: %w", err)
	}
	st := stat(info)
	return uint64(st.Dev), st.Ino, nil
}
