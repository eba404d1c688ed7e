package gitdir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"forklift/storage/fault"
)

const (
	// gitDeadline is how long one call of git may take. Listing ignored
	// files of a very large worktree on a cold disk takes tens of seconds.
	gitDeadline = 2 * time.Minute
	// maxGitBytes limits what one call may print: a million paths of 256 bytes.
	maxGitBytes = 256 << 20
	// maxGitErrorBytes limits what is kept of its error output.
	maxGitErrorBytes = 8 << 10
)

// safety are the options of every call. Nothing of the repository's
// configuration may start a program: no hooks, no file system monitor, no
// transport. What is given here counts more than any configuration file.
var safety = []string{
	"--no-pager", "--no-optional-locks", "--no-replace-objects",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.untrackedCache=false",
	"-c", "core.sshCommand=false",
	"-c", "protocol.allow=never",
	"-c", "protocol.ext.allow=never",
	"-c", "submodule.recurse=false",
}

// environment is the process's own without anything that speaks to git, and
// with what keeps git from asking, fetching and translating.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" || name == "PWD" {
			continue
		}
		env = append(env, kv)
	}
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "GIT_SSH_COMMAND=false", "GIT_ASKPASS=false", "GIT_ADVICE=0")
}

// program finds git in an absolute directory of PATH that is not inside the
// repository, so that a repository cannot bring its own.
func (rd *Reader) program(r Repo) (string, error) {
	if rd.git != "" {
		return rd.git, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, "git"))
		if err != nil || inside(real, r.Worktree) || inside(real, r.CommonDir) {
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			continue
		}
		return filepath.Join(dir, "git"), nil
	}
	return "", &fault.Error{Op: "find git", Kind: fault.Unsupported, Err: errors.New("no git in PATH"), Hint: "Install git, or add its directory to PATH."}
}

// inside reports that path is dir or below it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// errNo is what run fails with when git ends with status 1: for the queries
// used here that is an answer, not a failure.
var errNo = errors.New("git says no")

// run calls git on a repository in its worktree and gives its output to
// read. stdin may be nil.
func (rd *Reader) run(ctx context.Context, r Repo, stdin io.Reader, read func(io.Reader) error, args ...string) error {
	program, err := rd.program(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	full := append(append([]string{"--git-dir=" + r.GitDir, "--work-tree=" + r.Worktree}, safety...), args...)
	cmd := exec.CommandContext(ctx, program, full...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Worktree, environment(), stdin
	cmd.WaitDelay = time.Second // a grandchild cannot hold the pipes open for ever
	complaint := &head{limit: maxGitErrorBytes}
	cmd.Stderr = complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return &fault.Error{Op: "start git", Path: program, Err: err}
	}
	readErr := read(&limited{r: out, left: maxGitBytes})
	if readErr != nil {
		cancel()
	}
	_, _ = io.Copy(io.Discard, out)
	waitErr := cmd.Wait()
	return verdict(ctx, verb(args), readErr, waitErr, complaint.String())
}

// verb is the first argument that is not an option.
func verb(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// verdict makes one error of how a call of git ended.
func verdict(ctx context.Context, name string, readErr, waitErr error, complaint string) error {
	op := "git " + name
	switch {
	case readErr != nil:
		return &fault.Error{Op: op, Err: readErr}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &fault.Error{Op: op, Err: fmt.Errorf("no answer within %s", gitDeadline)}
	case ctx.Err() != nil:
		return ctx.Err()
	case waitErr == nil:
		return nil
	}
	var exit *exec.ExitError
	if errors.As(waitErr, &exit) && exit.ExitCode() == 1 && complaint == "" {
		return errNo
	}
	if complaint != "" {
		waitErr = fmt.Errorf("%w: %s", waitErr, complaint)
	}
	return &fault.Error{Op: op, Err: waitErr}
}

// limited reads at most left bytes and then fails.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("it printed more than %d bytes", int64(maxGitBytes))
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}

// head keeps the first bytes of what is written to it.
type head struct {
	limit int
	buf   bytes.Buffer
}

func (h *head) Write(p []byte) (int, error) {
	h.buf.Write(p[:min(len(p), h.limit-h.buf.Len())])
	return len(p), nil
}

func (h *head) String() string { return strings.TrimSpace(h.buf.String()) }
