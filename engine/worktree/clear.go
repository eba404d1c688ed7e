package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// open makes directories writable that their modes protect.
func (r *runner) open() error {
	for _, o := range r.head.Opens {
		info, ok, err := r.look(string(o.Path))
		if err != nil {
			return err
		}
		if ok && info.IsDir() && info.Bits()&writable != writable {
			if err := r.root.Chmod(string(o.Path), vfs.FileMode(info.Bits()|writable)); err != nil {
				return err
			}
		}
	}
	return nil
}

// clear takes away what must be gone before anything is put into place: from
// the bottom up, saved files and empty directories that the target does not
// have, and what a directory or something else than a directory takes the
// place of.
func (r *runner) clear() error {
	for n := len(r.steps) - 1; n >= 0; n-- {
		s := &r.steps[n]
		if s.modeOnly() || s.Have == nil {
			continue
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		info, ok, err := r.look(s.Path)
		if err != nil {
			return err
		}
		if !ok || r.ours[inode{info.Dev, info.Ino}] {
			continue
		}
		wantDir := kind(s.Want) == storage.Directory
		switch {
		case s.Want != nil && wantDir == info.IsDir():
			continue // right, or replaced when its turn comes
		case s.Want == nil && info.IsDir():
			// Stays when it holds anything, and when it was a file before.
			list, err := r.root.ReadDir(s.Path)
			if err != nil {
				return err
			}
			if len(list) > 0 || s.Have.Type != storage.Directory {
				continue
			}
		}
		if err := r.displace(n); err != nil {
			return err
		}
	}
	return nil
}

// displace renames what is at a step's path to a free name among the
// displaced things: the step's number, and from the second on a counter. What
// vanishes meanwhile need not be displaced.
func (r *runner) displace(n int) error {
	p := r.steps[n].Path
	for again := 0; again < maxDisplacements; again++ {
		to := path.Join(r.staging, oldDir, strconv.Itoa(n))
		if again > 0 {
			to += "." + strconv.Itoa(again)
		}
		if _, err := r.root.Lstat(to); err == nil {
			continue
		}
		err := r.root.Rename(p, to)
		if errors.Is(err, fs.ErrPermission) {
			err = r.unprotect(p, to, err)
		}
		if absent(err) {
			return nil
		}
		r.sync[parentOf(p)] = true
		return err
	}
	return &fault.Error{Op: "displace file", Path: QuotePath(p), Kind: fault.Busy, Err: fmt.Errorf("%s is written again and again", QuotePath(p)),
		Hint: "End the program that writes it, then run `forklift recover`."}
}

// unprotect tries a rename again after making the directory that is moved, or
// the one it is in, writable: modes that were set after the present state was
// saved.
func (r *runner) unprotect(p, to string, failed error) error {
	for _, dir := range []string{parentOf(p), p} {
		info, err := r.root.Lstat(dir)
		if err == nil && dir != "." && info.IsDir() && info.Bits()&writable != writable {
			if err := r.root.Chmod(dir, vfs.FileMode(info.Bits()|writable)); err != nil {
				return failed
			}
		}
	}
	return r.root.Rename(p, to)
}
