package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"sort"

	"forklift/storage"
	"forklift/storage/vfs"
)

// Directories lists the directories in which a path that counts can appear,
// vanish or change: the top, what leads to a start, and every directory below
// the starts that the rules keep. Paths are relative, "." first, sorted.
// Directories that vanish or cannot be read meanwhile are left out.
// Repositories are those that are left out because they hold a `.git`.
func Directories(ctx context.Context, fsys vfs.FS, dir string, rules storage.Rules) (list, repositories []string, err error) {
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("list directories: %w", err)
	}
	defer root.Close()
	found := map[string]bool{".": true} // false: a repository
	starts := rules.Starts
	if starts == nil {
		starts = []string{"."}
	}
	for _, start := range starts {
		prefixes(start, func(lead string) bool {
			if info, err := root.Lstat(lead); err == nil && info.IsDir() {
				found[lead] = true
			}
			return true
		})
		info, err := root.Lstat(start)
		if err != nil || !info.IsDir() {
			continue
		}
		if err := directoriesBelow(ctx, root, rules, start, found); err != nil {
			return nil, nil, err
		}
	}
	list = make([]string, 0, len(found))
	for name, counts := range found {
		if counts {
			list = append(list, name)
		} else {
			repositories = append(repositories, name)
		}
	}
	sort.Strings(list)
	sort.Strings(repositories)
	return list, repositories, nil
}

// directoriesBelow adds dir, if the rules keep it, and those in it.
func directoriesBelow(ctx context.Context, root vfs.Root, rules storage.Rules, dir string, found map[string]bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rules.Filter != nil && dir != "." {
		d := rules.Filter(dir, vfs.Info{Name: path.Base(dir), Mode: fs.ModeDir})
		if d.Action == storage.Omit && d.Reason == ReasonRepository {
			found[dir] = false
		}
		if d.Action == storage.Skip || d.Action == storage.Omit {
			return nil
		}
	}
	found[dir] = true
	entries, err := root.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Type.IsDir() {
			if err := directoriesBelow(ctx, root, rules, path.Join(dir, e.Name), found); err != nil {
				return err
			}
		}
	}
	return nil
}
