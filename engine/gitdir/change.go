package gitdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"forklift/storage/fault"
)

const (
	// checkoutDeadline is how long git may take to make or remove a
	// worktree: a million files on a slow disk.
	checkoutDeadline = 30 * time.Minute
	// checkoutGrace is how long git may take to remove what it has begun
	// once it was told to end.
	checkoutGrace = 30 * time.Second
)

// AddOptions say which worktree AddWorktree makes.
type AddOptions struct {
	Path   string // absolute; nothing may be there
	Branch string // the git branch to make; "" leaves the choice to git: the path's last name, made or checked out
	Commit string // where it starts; "" is HEAD
}

// AddWorktree makes a linked worktree, as `git worktree add` does, without
// hooks and filters: files that a filter would change (git-lfs) are as they
// are stored; Filters tells which ones there are. After an error, or when ctx
// ends, neither the worktree nor a branch that was made for it is left.
func (rd *Reader) AddWorktree(ctx context.Context, r Repo, opt AddOptions) (Repo, error) {
	if _, err := os.Lstat(opt.Path); !errors.Is(err, os.ErrNotExist) {
		if err == nil {
			err = errors.New("it exists already")
		}
		return Repo{}, &fault.Error{Op: "worktree add", Path: opt.Path, Kind: fault.Usage, Err: err, Hint: "Name a path where nothing is."}
	}
	branch := opt.Branch
	if branch == "" {
		branch = filepath.Base(opt.Path)
	}
	existed, err := rd.HasBranch(ctx, r, branch)
	if err != nil {
		return Repo{}, err
	}
	args := []string{"worktree", "add", "--quiet"}
	if opt.Branch != "" {
		args = append(args, "-b", opt.Branch)
	}
	args = append(args, "--", opt.Path)
	if opt.Commit != "" {
		args = append(args, opt.Commit)
	}
	if err = rd.change(ctx, r, args...); err == nil {
		var made Repo
		if made, err = rd.Find(ctx, opt.Path); err == nil {
			return made, nil
		}
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkoutDeadline)
	defer cancel()
	if _, statErr := os.Lstat(opt.Path); statErr == nil {
		err = errors.Join(err, rd.RemoveWorktree(cleanup, r, opt.Path))
	}
	if !existed {
		err = errors.Join(err, rd.DeleteBranch(cleanup, r, branch))
	}
	return Repo{}, err
}

// RemoveWorktree removes a linked worktree with everything in it.
func (rd *Reader) RemoveWorktree(ctx context.Context, r Repo, path string) error {
	err := rd.change(ctx, r, "worktree", "remove", "--force", "--", path)
	if err != nil {
		return &fault.Error{Op: "remove worktree", Path: path, Err: err, Hint: "Remove it yourself: git worktree remove --force " + path}
	}
	return nil
}

// DeleteBranch deletes a git branch at the commit that it is at now; one that
// is not there is no error.
func (rd *Reader) DeleteBranch(ctx context.Context, r Repo, name string) error {
	ref := "refs/heads/" + name
	at, err := rd.line(ctx, r, "rev-parse", "--quiet", "--verify", ref)
	if errors.Is(err, errNo) {
		return nil
	}
	if err != nil {
		return err
	}
	return rd.change(ctx, r, "update-ref", "-d", ref, at)
}

// HasBranch reports whether a git branch is there.
func (rd *Reader) HasBranch(ctx context.Context, r Repo, name string) (bool, error) {
	return yes(rd.run(ctx, r, nil, discard, "show-ref", "--verify", "--quiet", "refs/heads/"+name))
}

// HasCommit reports whether a commit is in the repository.
func (rd *Reader) HasCommit(ctx context.Context, r Repo, id string) (bool, error) {
	return yes(rd.run(ctx, r, nil, discard, "rev-parse", "--quiet", "--verify", id+"^{commit}"))
}

// yes makes an answer of git's exit status.
func yes(err error) (bool, error) {
	if errors.Is(err, errNo) {
		return false, nil
	}
	return err == nil, err
}

func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// Filters names the filters that git is configured to run on files when it
// checks them out, sorted.
func (rd *Reader) Filters(ctx context.Context, r Repo) ([]string, error) {
	found := map[string]bool{}
	err := rd.paths(ctx, r, nil, func(key string) {
		key, _, _ = strings.Cut(key, "\n")
		name := strings.TrimPrefix(key, "filter.")
		if dot := strings.LastIndexByte(name, '.'); dot > 0 && name != key {
			found[name[:dot]] = true
		}
	}, "config", "-z", "--get-regexp", `^filter\..*\.(smudge|process)$`)
	if errors.Is(err, errNo) {
		err = nil
	}
	return sorted(found), err
}

// change calls git for something that writes to the repository. When ctx ends
// git is asked to end, so that it removes what it has begun.
func (rd *Reader) change(ctx context.Context, r Repo, args ...string) error {
	program, err := rd.program(r)
	if err != nil {
		return err
	}
	filters, err := rd.Filters(ctx, r)
	if err != nil {
		return err
	}
	full := append([]string{"--git-dir=" + r.GitDir, "--work-tree=" + r.Worktree}, safety...)
	for _, name := range filters {
		for _, off := range []string{"smudge=", "clean=", "process=", "required=false"} {
			full = append(full, "-c", "filter."+name+"."+off)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkoutDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(full, args...)...)
	cmd.Dir, cmd.Env = r.Worktree, environment()
	// A group of its own: the children that do the work end with it, and
	// Ctrl-C of a terminal reaches none of them unasked.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = checkoutGrace
	complaint := &head{limit: maxGitErrorBytes}
	cmd.Stderr = complaint
	err = verdict(ctx, verb(args), nil, cmd.Run(), complaint.String())
	if errors.Is(err, errNo) {
		return &fault.Error{Op: "git " + verb(args), Err: fmt.Errorf("it failed without a word")}
	}
	return err
}
