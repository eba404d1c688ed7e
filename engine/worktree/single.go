package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"forklift/storage"
	"forklift/storage/vfs"
)

// Selects reports that a scan with these rules saves the regular file at p,
// whether it is there or not.
func Selects(rules storage.Rules, p string) bool {
	inside := rules.Starts == nil
	for _, start := range rules.Starts {
		inside = inside || start == "." || p == start || below(p, start)
	}
	if !inside || rules.Filter == nil {
		return inside
	}
	ok := true
	prefixes(p, func(dir string) bool {
		d := rules.Filter(dir, vfs.Info{Name: path.Base(dir), Mode: fs.ModeDir})
		ok = d.Action == storage.Keep
		return ok
	})
	return ok && rules.Filter(p, vfs.Info{Name: path.Base(p)}).Action == storage.Keep
}

// MoveOptions say what two states of the source files are compared for.
type MoveOptions struct {
	Store   Store
	Saved   storage.SourceState // what was there
	Target  storage.SourceState // what a restore makes of it
	Ignored []string            // what git ignores of the target's paths; used if Target leaves that out
	Only    []string            // the paths that the restore was limited to; nil for all
}

// Moves lists the files and links that a restore from one state to another
// writes or removes, in the order of the paths, at most limit, and counts all.
// Nothing is looked at but the two manifests.
func Moves(ctx context.Context, opt MoveOptions, limit int) ([]Change, int, error) {
	plan, err := makePlan(ctx, opt.Store, opt.Saved, opt.Target, planOptions{ignored: opt.Ignored, lenient: true, only: opt.Only})
	if err != nil {
		return nil, 0, fmt.Errorf("compare checkpoints: %w", err)
	}
	var list []Change
	count := 0
	for i := range plan.Steps {
		s := &plan.Steps[i]
		change := Modified
		switch {
		case kind(s.Want) != storage.Regular && kind(s.Want) != storage.Symlink && kind(s.Have) != storage.Regular && kind(s.Have) != storage.Symlink:
			continue // directories only
		case s.Want == nil || s.Want.Type == storage.Directory:
			change = Removed
		case s.Have == nil || s.Have.Type == storage.Directory:
			change = Added
		case s.modeOnly():
			change = ModeModified
		}
		if count++; len(list) < limit {
			list = append(list, Change{QuotePath(s.Path), change})
		}
	}
	return list, count, nil
}

// SingleOptions say which path of a worktree is compared with what.
type SingleOptions struct {
	FS      vfs.FS
	Dir     string // the worktree's top, absolute
	Store   Store
	Target  storage.SourceState
	Entry   *storage.Entry // the target's of that path; nil when it has none
	Ignored []string       // what git ignores of the target's paths; used if Target leaves that out
}

// WouldChange reports that a restore of the target writes or removes the file
// at a relative path, as it is on disk now.
func WouldChange(ctx context.Context, opt SingleOptions, p string) (bool, error) {
	root, err := opt.FS.OpenRoot(opt.Dir)
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", p, err)
	}
	defer root.Close()
	info, err := root.Lstat(p)
	switch {
	case absent(err):
		return opt.Entry != nil && opt.Entry.Type != storage.Omitted, nil
	case err != nil:
		return false, err
	case opt.Entry == nil:
		sel, err := sourceSelection(opt.Target, opt.Ignored)
		if err != nil {
			return false, err
		}
		return sel.selects(p, false) || sel.covers(p), nil
	case opt.Entry.Type == storage.Omitted:
		return false, nil
	}
	probe := prober{ctx, root, opt.Store}
	same, err := probe.matches(p, info, opt.Entry, true)
	if absent(err) || unreadable(err) {
		return true, nil
	}
	return !same, err
}

// HasContent reports that the file at a relative path has the content and type
// of an entry.
func HasContent(ctx context.Context, fsys vfs.FS, dir string, store Store, e *storage.Entry) (bool, error) {
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", e.Path, err)
	}
	defer root.Close()
	info, err := root.Lstat(e.Path)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	probe := prober{ctx, root, store}
	return probe.matches(e.Path, info, e, false)
}
