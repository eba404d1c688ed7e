package gitdir

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"forklift/storage/fault"
)

const (
	// maxPathBytes limits one path in git's output.
	maxPathBytes = 64 << 10
	// maxArgBytes limits the paths of one call: systems allow at least 128 KiB
	// of arguments and environment together.
	maxArgBytes = 32 << 10
	// maxExcludesBytes limits an ignore file outside the worktree.
	maxExcludesBytes = 1 << 20
)

// Head tells the commit id of HEAD ("" before the first commit) and the short
// name of the git branch ("" when detached).
func (rd *Reader) Head(ctx context.Context, r Repo) (commit, branch string, err error) {
	commit, err = rd.line(ctx, r, "rev-parse", "--quiet", "--verify", "HEAD")
	if err != nil && !errors.Is(err, errNo) {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	branch, err = rd.line(ctx, r, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && !errors.Is(err, errNo) {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	return commit, strings.TrimPrefix(branch, "refs/heads/"), nil
}

// line is the first line of git's output, "" with errNo.
func (rd *Reader) line(ctx context.Context, r Repo, args ...string) (string, error) {
	var first string
	err := rd.run(ctx, r, nil, func(out io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(out, maxPathBytes))
		first, _, _ = strings.Cut(string(data), "\n")
		return err
	}, args...)
	return first, err
}

// Tracked lists the top-level names that git tracks, sorted. A submodule is
// not one: what is in it belongs to another repository.
func (rd *Reader) Tracked(ctx context.Context, r Repo) ([]string, error) {
	const gitlink = "160000"
	seen := map[string]bool{}
	err := rd.paths(ctx, r, nil, func(line string) {
		// "<mode> <object> <stage>\t<path>"
		mode, rest, _ := strings.Cut(line, " ")
		_, path, ok := strings.Cut(rest, "\t")
		if ok && mode != gitlink {
			name, _, _ := strings.Cut(path, "/")
			seen[name] = true
		}
	}, "ls-files", "-z", "--stage")
	if err != nil {
		return nil, fmt.Errorf("list tracked files: %w", err)
	}
	return sorted(seen), nil
}

// TrackedIn lists the files that git tracks at and below the given paths
// (relative, slash-separated), sorted.
func (rd *Reader) TrackedIn(ctx context.Context, r Repo, paths []string) ([]string, error) {
	found := map[string]bool{}
	for len(paths) > 0 {
		n := batch(paths)
		args := append([]string{"--literal-pathspecs", "ls-files", "-z", "--"}, paths[:n]...)
		if err := rd.paths(ctx, r, nil, func(path string) { found[path] = true }, args...); err != nil {
			return nil, fmt.Errorf("list tracked files: %w", err)
		}
		paths = paths[n:]
	}
	return sorted(found), nil
}

// batch is how many of the paths one call of git takes.
func batch(paths []string) int {
	n, size := 0, 0
	for n < len(paths) && (n == 0 || size+len(paths[n]) < maxArgBytes) {
		size += len(paths[n]) + 1
		n++
	}
	return n
}

// Excludes gives the lines of git's ignore files outside the worktree, the ones
// that count least first: the user's (core.excludesFile, or git's default place
// for it), then the repository's info/exclude. A file that is absent or cannot
// be read has no lines, as for git.
func (rd *Reader) Excludes(ctx context.Context, r Repo) ([]string, error) {
	name, err := rd.ExcludesFile(ctx, r)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, file := range []string{name, filepath.Join(r.CommonDir, "info", "exclude")} {
		if file == "" {
			continue
		}
		if file, err = filepath.EvalSymlinks(file); err != nil {
			continue
		}
		if text, err := readFile(file, maxExcludesBytes); err == nil {
			lines = append(lines, strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")...)
		}
	}
	return lines, nil
}

// ExcludesFile is the path of the user's own ignore file, which need not be
// there; "" when there is no place for one.
func (rd *Reader) ExcludesFile(ctx context.Context, r Repo) (string, error) {
	name, err := rd.line(ctx, r, "config", "--type=path", "--get", "core.excludesFile")
	switch {
	case errors.Is(err, errNo):
		return userGit("ignore"), nil
	case err != nil:
		return "", fmt.Errorf("look for ignore files: %w", err)
	case name != "" && !filepath.IsAbs(name):
		name = filepath.Join(r.Worktree, name)
	}
	return name, nil
}

// userGit is where git looks for a file of the user's own unless told otherwise;
// "" when there is no home.
func userGit(name string) string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git", name)
	}
	if dir := os.Getenv("HOME"); dir != "" {
		return filepath.Join(dir, ".config", "git", name)
	}
	return ""
}

// Ignored lists what git ignores and does not track below the given paths
// (relative, slash-separated): relative paths, sorted; an ignored directory
// stands for all that is in it.
func (rd *Reader) Ignored(ctx context.Context, r Repo, paths []string) ([]string, error) {
	found, dirs := map[string]bool{}, map[string]bool{}
	for len(paths) > 0 {
		n := batch(paths)
		args := append([]string{"--literal-pathspecs", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--"}, paths[:n]...)
		err := rd.paths(ctx, r, nil, func(path string) {
			if dir, ok := strings.CutSuffix(path, "/"); ok {
				dirs[dir] = true
			} else {
				found[path] = true
			}
		}, args...)
		if err != nil {
			return nil, fmt.Errorf("list ignored files: %w", err)
		}
		paths = paths[n:]
	}
	if err := rd.ignoredItself(ctx, r, dirs, found); err != nil {
		return nil, fmt.Errorf("list ignored files: %w", err)
	}
	return topmost(sorted(found)), nil
}

// ignoredItself adds to found those of dirs that are ignored themselves. git
// also lists a directory in which merely everything present is ignored; what
// comes into such a directory later is not.
func (rd *Reader) ignoredItself(ctx context.Context, r Repo, dirs, found map[string]bool) error {
	if len(dirs) == 0 {
		return nil
	}
	var in bytes.Buffer
	for dir := range dirs {
		in.WriteString("./" + dir) // check-ignore cannot take names literally: ":" must not come first
		in.WriteByte(0)
	}
	err := rd.paths(ctx, r, &in, func(path string) { found[strings.TrimPrefix(path, "./")] = true }, "check-ignore", "-z", "--stdin")
	if errors.Is(err, errNo) {
		return nil
	}
	return err
}

// paths gives each NUL-terminated path of git's output to fn.
func (rd *Reader) paths(ctx context.Context, r Repo, stdin io.Reader, fn func(string), args ...string) error {
	return rd.run(ctx, r, stdin, func(out io.Reader) error {
		sc := bufio.NewScanner(out)
		sc.Buffer(make([]byte, 0, 4096), maxPathBytes)
		sc.Split(splitNul)
		for sc.Scan() {
			fn(sc.Text())
		}
		return sc.Err()
	}, args...)
}

// splitNul is a bufio.SplitFunc for NUL-terminated pieces.
func splitNul(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, &fault.Error{Op: "read git's output", Kind: fault.Failed, Err: errors.New("the last path is cut off")}
	}
	return 0, nil, nil
}

func sorted(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for s := range set {
		list = append(list, s)
	}
	sort.Strings(list)
	return list
}

// topmost removes from a sorted list what is below another entry of it.
func topmost(list []string) []string {
	in := map[string]bool{}
	for _, p := range list {
		in[p] = true
	}
	out := list[:0]
	for _, p := range list {
		covered := false
		for i := 0; i < len(p) && !covered; i++ {
			covered = p[i] == '/' && in[p[:i]]
		}
		if !covered {
			out = append(out, p)
		}
	}
	return out
}
