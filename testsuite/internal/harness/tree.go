package harness

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TreeOptions say what a description of a tree contains.
type TreeOptions struct {
	Mtimes bool     // modification times of regular files
	Omit   []string // paths relative to the top that are left out, with all below
}

// DescribeTree describes everything below dir, one line per path in order:
// its quoted name, type and permission bits, and the SHA-256 of a regular
// file or what a symbolic link says. Equal descriptions mean equal trees.
func DescribeTree(dir string, opt TreeOptions) (string, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if slices.Contains(opt.Omit, rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		line, err := describe(name, rel, opt)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(lines)
	return strings.Join(lines, ""), nil
}

// describe makes the line of one path.
func describe(name, rel string, opt TreeOptions) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	line := fmt.Sprintf("%q %v", rel, info.Mode())
	switch {
	case info.Mode().IsRegular():
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		line += fmt.Sprintf(" %d %x", len(data), sha256.Sum256(data))
		if opt.Mtimes {
			line += fmt.Sprintf(" %d", info.ModTime().UnixNano())
		}
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		line += fmt.Sprintf(" %q", target)
	}
	return line + "\n", nil
}

// FirstDifference names the first line in which two descriptions differ, for
// a message; "" when they are equal.
func FirstDifference(got, want string) string {
	if got == want {
		return ""
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := 0; i < len(g) || i < len(w); i++ {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n  got  %s\n  want %s", i+1, a, b)
		}
	}
	return ""
}
