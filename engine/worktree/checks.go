package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"syscall"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"

	"golang.org/x/sys/unix"
)

const (
	// spaceMarginBytes is what must stay free beside the staged files: the
	// list, directories that grow, and what others write meanwhile. On a small
	// disk a part of it is enough, or nothing could be restored there.
	spaceMarginBytes = 32 << 20
	// spaceMarginShare of the whole file system is enough as well.
	spaceMarginShare = 20
	// fileMarginBytes is added for each file: its inode and its last block.
	fileMarginBytes = 8 << 10
	// maxNamed limits how many paths an error names.
	maxNamed = 20
)

// checks look at the worktree before anything is touched: whether the plan
// can be carried through.
type checks struct {
	root    vfs.Root
	dir     string // absolute
	plan    *plan
	lenient bool // after the switch: what is in the way is displaced later
	// caseless: the file system takes names that differ in case for one.
	caseless bool
	problem  []string
}

// run refuses with the names of what is in the way.
func (c *checks) run(ctx context.Context) error {
	if err := c.space(); err != nil {
		return err
	}
	if err := c.directories(ctx); err != nil {
		return err
	}
	if c.lenient {
		return nil
	}
	if err := c.paths(ctx); err != nil {
		return err
	}
	if len(c.problem) > 0 {
		return &fault.Error{Op: "check worktree", Kind: fault.Failed, Items: c.problem, Err: errors.New(c.problem[0]),
			Hint: "Nothing was changed. Save or move it, then try again."}
	}
	return nil
}

// add records a problem.
func (c *checks) add(format string, args ...any) {
	if len(c.problem) < maxNamed {
		c.problem = append(c.problem, fmt.Sprintf(format, args...))
	}
}

// space compares what will be written with what is free.
func (c *checks) space() error {
	var need int64
	any := false
	for i := range c.plan.Steps {
		if s := &c.plan.Steps[i]; s.staged() {
			any = true
			need += s.Want.Size + fileMarginBytes
		}
	}
	if !any {
		return nil
	}
	room, err := c.root.Space(".")
	if err != nil {
		return fmt.Errorf("check space: %w", err)
	}
	need += spaceMargin(room)
	if room.FreeBytes < need {
		return &fault.Error{Op: "check space", Path: c.dir, Kind: fault.NoSpace,
			Err:  fmt.Errorf("%d MiB are free, the files to restore need %d MiB", room.FreeBytes>>20, need>>20),
			Hint: "Free some space on the worktree's file system, then try again; nothing was changed."}
	}
	return nil
}

// spaceMargin is what is to stay free of a file system.
func spaceMargin(room vfs.Space) int64 {
	return min(spaceMarginBytes, max(0, room.TotalBytes/spaceMarginShare))
}

// directories checks that each directory that changes is there, on the
// worktree's own file system, and can be changed by us.
func (c *checks) directories(ctx context.Context) error {
	top, err := c.root.Lstat(".")
	if err != nil {
		return fmt.Errorf("check worktree: %w", err)
	}
	dirs := make([]string, 0, len(c.plan.touched))
	for dir := range c.plan.touched {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := c.root.Lstat(dir)
		switch {
		case err != nil || !info.IsDir():
			c.add("%s is not a directory any more", QuotePath(dir))
			continue
		case info.Dev != top.Dev:
			return &fault.Error{Op: "check worktree", Path: QuotePath(dir), Kind: fault.Unsupported,
				Err:  fmt.Errorf("%s is on another file system than the worktree", QuotePath(dir)),
				Hint: "Files can only be put into place by renaming. Leave that directory out of `source`."}
		}
		if err := c.access(dir, info); err != nil {
			return &fault.Error{Op: "check worktree", Path: QuotePath(dir), Err: fmt.Errorf("cannot change %s: %w", QuotePath(dir), err),
				Hint: "Make the directory writable for you; nothing was changed."}
		}
	}
	return nil
}

// access asks the system whether we may add and remove names in a directory.
// What only its mode forbids does not count when it is ours: the install
// changes that. On a file system in memory there is nothing to ask.
func (c *checks) access(dir string, info vfs.Info) error {
	abs := filepath.Join(c.dir, filepath.FromSlash(dir))
	if !sameFile(abs, info) {
		return nil
	}
	err := unix.Faccessat(unix.AT_FDCWD, abs, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if err == unix.EACCES && int64(info.UID) == int64(os.Geteuid()) {
		return nil
	}
	return err
}

// sameFile reports that the real file system has at abs what info describes.
func sameFile(abs string, info vfs.Info) bool {
	real, err := os.Lstat(abs)
	if err != nil {
		return false
	}
	st, ok := real.Sys().(*syscall.Stat_t)
	return ok && uint64(st.Dev) == info.Dev && st.Ino == info.Ino
}

// paths checks the places of new files and the directories that others take
// the place of: nothing may be there that is not saved.
func (c *checks) paths(ctx context.Context) error {
	saved := map[string]bool{}
	for i := range c.plan.Steps {
		if s := &c.plan.Steps[i]; s.Have != nil {
			saved[s.Path] = true
			if c.caseless {
				saved[foldPath(s.Path)] = true
			}
		}
	}
	for i := range c.plan.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &c.plan.Steps[i]
		switch {
		case s.modeOnly():
		case s.Have == nil:
			// Where case does not count, the saved file of another case may
			// be found here: that one goes before this one comes.
			if _, err := c.root.Lstat(s.Path); err == nil && !(c.caseless && saved[foldPath(s.Path)]) {
				c.add("%s appeared after the present state was saved", QuotePath(s.Path))
			}
		case s.Have.Type == storage.Directory && s.Want != nil:
			if err := c.replaced(s.Path, saved); err != nil {
				return err
			}
		default:
			if info, err := c.root.Lstat(s.Path); err == nil && c.immutable(s.Path, info) {
				c.add("%s is protected against any change", QuotePath(s.Path))
			}
		}
	}
	return nil
}

// replaced looks into a directory that becomes something else.
func (c *checks) replaced(dir string, saved map[string]bool) error {
	list, err := c.root.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check worktree: %w", err)
	}
	for _, e := range list {
		p := path.Join(dir, e.Name)
		switch {
		case !saved[p]:
			c.add("%s is in a directory that the checkpoint does not have, and it is not saved", QuotePath(p))
		case e.Type.IsDir():
			if err := c.replaced(p, saved); err != nil {
				return err
			}
		}
	}
	return nil
}

// immutable reports a file that not even its owner may rename (chattr +i).
func (c *checks) immutable(p string, info vfs.Info) bool {
	abs := filepath.Join(c.dir, filepath.FromSlash(p))
	return info.IsRegular() && sameFile(abs, info) && unix.Faccessat(unix.AT_FDCWD, abs, unix.W_OK, unix.AT_EACCESS) == unix.EPERM
}
