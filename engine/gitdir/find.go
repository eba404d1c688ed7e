package gitdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"forklift/storage/fault"
)

// maxParents limits how far up Find looks.
const maxParents = 255

// Find tells the worktree that holds dir. Kinds of its errors: NotFound
// outside a repository, Unsupported for a bare one and inside a git
// directory, Untrusted when the git directory does not point back at the
// worktree or belongs to someone else. It looks upwards as git does and, as
// git does, not beyond the file system that dir is on.
func (rd *Reader) Find(ctx context.Context, dir string) (Repo, error) {
	start, err := filepath.Abs(dir)
	if err == nil {
		start, err = filepath.EvalSymlinks(start)
	}
	if err != nil {
		return Repo{}, &fault.Error{Op: "find repository", Path: dir, Kind: fault.NotFound, Err: err}
	}
	device, err := deviceOf(start)
	if err != nil {
		return Repo{}, &fault.Error{Op: "find repository", Path: dir, Kind: fault.NotFound, Err: err}
	}
	for at, n := start, 0; n < maxParents; n++ {
		if err := ctx.Err(); err != nil {
			return Repo{}, err
		}
		repo, found, err := lookAt(at)
		if found || err != nil {
			return repo, err
		}
		if isGitDir(at) {
			return Repo{}, bare(at)
		}
		parent := filepath.Dir(at)
		if d, err := deviceOf(parent); parent == at || err != nil || d != device {
			break
		}
		at = parent
	}
	return Repo{}, &fault.Error{
		Op: "find repository", Path: dir, Kind: fault.NotFound, Err: errors.New("not inside a git worktree"),
		Hint: "Change into a git repository, or make one with `git init`.",
	}
}

func deviceOf(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return uint64(stat(info).Dev), nil
}

func bare(path string) error {
	return &fault.Error{
		Op: "find repository", Path: path, Kind: fault.Unsupported, Err: errors.New("a bare repository or a git directory, without files of its own"),
		Hint: "Use a worktree: `git worktree add PATH` makes one.",
	}
}

// lookAt looks at one directory: whether it is the top of a worktree, and if
// so whether all pointers agree.
func lookAt(top string) (Repo, bool, error) {
	dotGit := filepath.Join(top, ".git")
	info, err := os.Lstat(dotGit)
	if errors.Is(err, os.ErrNotExist) {
		return Repo{}, false, nil
	}
	if err != nil {
		return Repo{}, false, &fault.Error{Op: "find repository", Path: dotGit, Err: err}
	}
	var repo Repo
	switch mode := info.Mode(); {
	case mode.IsDir():
		if !isGitDir(dotGit) {
			return Repo{}, false, nil // git looks further up, too
		}
		repo, err = mainWorktree(top, dotGit)
	case mode.IsRegular():
		repo, err = pointedWorktree(top, dotGit)
	case mode&os.ModeSymlink != 0:
		err = untrusted(dotGit, "it is a symbolic link, which its target cannot answer", "Replace the link: `git worktree add` makes a second worktree of a repository.")
	default:
		return Repo{}, false, nil
	}
	if err != nil {
		return Repo{}, false, err
	}
	for _, path := range []string{repo.Worktree, dotGit, repo.GitDir, repo.CommonDir} {
		if err := checkOwner(path); err != nil {
			return Repo{}, false, err
		}
	}
	return repo, true, nil
}

func untrusted(path, why, hint string) error {
	return &fault.Error{Op: "find repository", Path: path, Kind: fault.Untrusted, Err: fmt.Errorf("%s: %s", path, why), Hint: hint}
}

// mainWorktree is a worktree whose git directory is right inside it.
func mainWorktree(top, dotGit string) (Repo, error) {
	if _, err := os.Lstat(filepath.Join(dotGit, "commondir")); err == nil {
		return Repo{}, untrusted(dotGit, "a git directory inside its worktree names another repository (commondir)", "Remove the file commondir if you do not know it.")
	}
	c, err := readCore(dotGit)
	if err != nil {
		return Repo{}, &fault.Error{Op: "find repository", Path: dotGit, Err: err}
	}
	if c.bare {
		return Repo{}, bare(top)
	}
	if c.worktree != "" && !samePlace(dotGit, c.worktree, top) {
		return Repo{}, untrusted(dotGit, "its core.worktree is another directory", "Run `git config --unset core.worktree`, or work in the directory that it names.")
	}
	return Repo{Worktree: top, GitDir: dotGit, CommonDir: dotGit}, nil
}

// repairHint is what can be done about a .git file that leads nowhere.
const repairHint = "If the repository was moved, `git worktree repair` in it mends the pointers. " +
	"If git has pruned this worktree, make another one with `git worktree add`; `forklift adopt` there takes its database over."

// pointedWorktree is a worktree whose .git is a file that names the git
// directory: a linked worktree, a submodule, or a separate git directory.
func pointedWorktree(top, dotGit string) (Repo, error) {
	gitDir, err := readPointer(dotGit, "gitdir: ", top)
	if err != nil {
		return Repo{}, &fault.Error{
			Op: "find repository", Path: dotGit, Kind: fault.Untrusted, Err: err,
			Hint: repairHint,
		}
	}
	if !isGitDir(gitDir) {
		return Repo{}, untrusted(dotGit, "it names "+gitDir+", which is not a git directory", repairHint)
	}
	common, err := commonDir(gitDir)
	if err != nil {
		return Repo{}, &fault.Error{Op: "find repository", Path: gitDir, Kind: fault.Untrusted, Err: err}
	}
	repo := Repo{Worktree: top, GitDir: gitDir, CommonDir: common}
	if common == gitDir {
		return repo, ownPointer(repo)
	}
	return repo, linkedPointer(repo, dotGit)
}

// linkedPointer checks that the repository lists a linked worktree: its git
// directory is <common>/worktrees/<name> and says where the worktree is.
func linkedPointer(r Repo, dotGit string) error {
	const hint = "If you moved the worktree or the repository, `git worktree repair` mends the pointers."
	if filepath.Dir(r.GitDir) != filepath.Join(r.CommonDir, "worktrees") || !isGitDir(r.CommonDir) {
		return untrusted(r.GitDir, "it names a repository that does not hold it (commondir)", hint)
	}
	text, err := readFile(filepath.Join(r.GitDir, "gitdir"), maxPointerBytes)
	if err != nil {
		return untrusted(r.GitDir, "the repository does not say where this worktree is", hint)
	}
	back := strings.TrimRight(text, "\r\n")
	if filepath.Base(back) != ".git" || !samePlace(r.GitDir, filepath.Dir(back), r.Worktree) {
		return untrusted(dotGit, "the repository lists this worktree at "+back, hint)
	}
	return nil
}

// ownPointer checks a git directory that is elsewhere and only this
// worktree's: its core.worktree must point back.
func ownPointer(r Repo) error {
	c, err := readCore(r.GitDir)
	if err != nil {
		return &fault.Error{Op: "find repository", Path: r.GitDir, Err: err}
	}
	if c.bare {
		return bare(r.Worktree)
	}
	if c.worktree == "" || !samePlace(r.GitDir, c.worktree, r.Worktree) {
		return untrusted(r.GitDir, "it does not point back to "+r.Worktree, "If this is your repository, run `git config core.worktree "+r.Worktree+"`.")
	}
	return nil
}

// samePlace reports that path, relative to base unless it is absolute, is the
// directory want (whose links are resolved).
func samePlace(base, path, want string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	real, err := filepath.EvalSymlinks(path)
	return err == nil && real == want
}
