package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/vfs"
)

// place puts what is wanted into place, from the top down.
func (r *runner) place() error {
	for n := range r.steps {
		s := &r.steps[n]
		if s.Want == nil || s.modeOnly() {
			continue
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if n%extractBatch == 0 {
			progress.Report(r.ctx, progress.Event{Phase: "install sources", DoneFiles: n, TotalFiles: len(r.steps)})
		}
		if err := r.placeOne(n); err != nil {
			return err
		}
	}
	return nil
}

// placeOne brings one step to its end: as long as something else is there it
// is displaced; a name that appears meanwhile is never replaced.
func (r *runner) placeOne(n int) error {
	s := &r.steps[n]
	for range maxDisplacements {
		done, err := r.inPlace(s)
		if done || err != nil {
			return err
		}
		if _, err := r.root.Lstat(s.Path); err == nil {
			if err := r.displace(n); err != nil {
				return err
			}
			continue
		}
		err = r.put(n)
		switch {
		case err == nil:
			r.sync[parentOf(s.Path)] = true
			return nil
		case errors.Is(err, fs.ErrExist):
			continue // appeared meanwhile
		case absent(err):
			if err := r.makeParents(s.Path); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return &fault.Error{Op: "install file", Path: QuotePath(s.Path), Kind: fault.Busy, Err: fmt.Errorf("%s is written again and again", QuotePath(s.Path)),
		Hint: "End the program that writes it, then run `forklift recover`."}
}

// put makes the wanted thing at the step's path, which is free.
func (r *runner) put(n int) error {
	s := &r.steps[n]
	switch s.Want.Type {
	case storage.Directory:
		r.sync[s.Path] = true
		return r.root.Mkdir(s.Path, vfs.FileMode(s.Want.Mode|writable))
	case storage.Symlink:
		return r.root.Symlink(s.Want.Target, s.Path)
	}
	if err := r.root.Chtimes(r.stagedPath(n), r.now); err != nil {
		return err
	}
	// A link never replaces a name that somebody made meanwhile, and leaves
	// the staged name as the proof of what was installed.
	err := r.root.Link(r.stagedPath(n), s.Path)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EMLINK) {
		// No hard links here. The rename can replace a name made in this
		// very moment; there is no better call everywhere.
		err = r.root.Rename(r.stagedPath(n), s.Path)
	}
	return err
}

// inPlace reports whether a step's path is as wanted. Only the mode of a
// directory is left for later.
func (r *runner) inPlace(s *step) (bool, error) {
	info, ok, err := r.lookFor(s)
	if !ok || err != nil {
		return false, err
	}
	if s.Want.Type == storage.Directory {
		return info.IsDir(), nil
	}
	if r.ours[inode{info.Dev, info.Ino}] && info.IsRegular() {
		return true, nil
	}
	ok, err = r.matches(s.Path, info, s.Want, false)
	if ok && err == nil && info.IsRegular() && !sameMode(info, s.Want.Mode) {
		err = r.chmod(s.Path, info, s.Want.Mode)
	}
	if absent(err) || unreadable(err) {
		return false, nil // changed while we looked, or not what we installed
	}
	return ok, err
}

// makeParents makes the directories that lead to a path and that somebody
// removed meanwhile. Something else in their place ends the install by name:
// what is in it cannot be judged.
func (r *runner) makeParents(p string) error {
	var failed error
	prefixes(p, func(dir string) bool {
		info, err := r.root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			failed = r.root.Mkdir(dir, 0o755)
			r.sync[parentOf(dir)], r.sync[dir] = true, true
			if errors.Is(failed, fs.ErrExist) {
				failed = nil
			}
		case err != nil:
			failed = err
		case !info.IsDir():
			failed = &fault.Error{Op: "install file", Path: QuotePath(p), Kind: fault.Failed, Err: fmt.Errorf("%s was replaced by something that is not a directory", QuotePath(dir)),
				Hint: "Put the directory back, then run `forklift recover`; or run `forklift recover --back`."}
		}
		return failed == nil
	})
	return failed
}
