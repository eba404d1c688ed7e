package gitdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// maxPointerBytes limits `.git` files, commondir and gitdir: a path and a
	// few words.
	maxPointerBytes = 8 << 10
	// maxConfigBytes limits a repository's configuration file.
	maxConfigBytes = 1 << 20
)

// readFile reads a small regular file. A symbolic link in the last element, a
// directory or a FIFO is an error, and so is a longer file.
func readFile(name string, limit int64) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("read %s: not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > limit {
		return "", fmt.Errorf("read %s: longer than %d bytes", name, limit)
	}
	return string(data), nil
}

// readPointer reads a file whose only line is prefix and a path. A relative
// path is relative to the directory base. The result has its links resolved,
// so what it names must exist.
func readPointer(name, prefix, base string) (string, error) {
	text, err := readFile(name, maxPointerBytes)
	if err != nil {
		return "", err
	}
	rest, ok := strings.CutPrefix(text, prefix)
	rest = strings.TrimRight(rest, "\r\n")
	if !ok || rest == "" || strings.ContainsAny(rest, "\x00\n") {
		return "", fmt.Errorf("read %s: not of the form %q and a path", name, prefix)
	}
	if !filepath.IsAbs(rest) {
		rest = filepath.Join(base, rest)
	}
	return filepath.EvalSymlinks(rest)
}

// isGitDir reports a directory that git would take for a git directory: it
// has a HEAD, and objects and refs, in itself or in its common directory.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	common, err := commonDir(dir)
	if err != nil {
		return false
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// commonDir follows a git directory's commondir file; without one it is its
// own common directory.
func commonDir(dir string) (string, error) {
	common, err := readPointer(filepath.Join(dir, "commondir"), "", dir)
	if errors.Is(err, os.ErrNotExist) {
		if _, lerr := os.Lstat(filepath.Join(dir, "commondir")); errors.Is(lerr, os.ErrNotExist) {
			return dir, nil
		}
	}
	return common, err
}
