package gitdir

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"forklift/storage/fault"
)

// versionDeadline bounds `git --version`.
const versionDeadline = 10 * time.Second

// Version is the version of the git that would be called: "2.39.5".
func (rd *Reader) Version(ctx context.Context) (string, error) {
	program, err := rd.program(Repo{Worktree: "/nonexistent", CommonDir: "/nonexistent"})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, versionDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Env = environment()
	said := &head{limit: maxGitErrorBytes}
	cmd.Stdout = said
	if err := cmd.Run(); err != nil {
		return "", &fault.Error{Op: "git --version", Path: program, Err: err}
	}
	text := strings.TrimPrefix(said.String(), "git version ")
	if text == "" {
		return "", &fault.Error{Op: "git --version", Path: program, Err: errors.New("it says nothing")}
	}
	return text, nil
}
