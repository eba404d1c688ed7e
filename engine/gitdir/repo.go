package gitdir

// Repo is where a worktree's parts are: absolute paths with links resolved.
type Repo struct {
	Worktree  string // top directory
	GitDir    string // of this worktree
	CommonDir string // of the repository
}
