package gitdir

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxSettingsBytes limits the settings of git, and maxSettingsFiles the files that
// they come from.
const (
	maxSettingsBytes = 4 << 20
	maxSettingsFiles = 256
)

// SettingsFiles lists the files from which git takes its settings in a worktree,
// and those from which it would if they were there: the system's if it says
// anything, the user's, the repository's, the worktree's, and what these include under
// whatever condition. The paths are absolute, sorted, at most maxSettingsFiles, and
// need not exist.
func (rd *Reader) SettingsFiles(ctx context.Context, r Repo) ([]string, error) {
	files := []string{filepath.Join(r.CommonDir, "config"), filepath.Join(r.GitDir, "config.worktree")}
	if name := userGit("config"); name != "" {
		files = append(files, name)
	}
	if home := os.Getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	err := rd.run(ctx, r, nil, func(out io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(out, maxSettingsBytes))
		files = append(files, settingsOrigins(string(text), r.Worktree)...)
		return err
	}, "config", "--list", "--show-origin", "-z")
	if err != nil {
		return nil, fmt.Errorf("look for git's settings: %w", err)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	return files[:min(len(files), maxSettingsFiles)], nil
}

// settingsOrigins are the files that git's list of settings with their origins names:
// "<kind>:<path>" NUL "<key>" newline "<value>" NUL.
func settingsOrigins(text, worktree string) []string {
	var files []string
	fields := strings.Split(text, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		name, ok := strings.CutPrefix(fields[i], "file:")
		if !ok {
			continue
		}
		name = fromDir(name, worktree)
		if len(files) == 0 || files[len(files)-1] != name {
			files = append(files, name)
		}
		key, value, _ := strings.Cut(fields[i+1], "\n")
		if key == "include.path" || strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path") {
			files = append(files, fromDir(value, filepath.Dir(name)))
		}
	}
	return files
}

// fromDir is a path of git's settings as an absolute one.
func fromDir(name, dir string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(os.Getenv("HOME"), rest)
	}
	if !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return filepath.Clean(name)
}
