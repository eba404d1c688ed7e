package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"syscall"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/vfs"
)

// maxDisplacements is how often one path is cleared before giving up:
// somebody who writes it again that often would win in the end.
const maxDisplacements = 16

// runner is one run of an install.
type runner struct {
	*Install
	prober
	now      int64           // the time that installed files get
	ours     map[inode]bool  // staged files, which may be in place already
	caseless bool            // see Stage
	sync     map[string]bool // directories whose entries changed
	files    []string        // files whose mode changed
}

type inode struct{ dev, ino uint64 }

// Run installs what was staged and tells what it rescued: files that it
// displaced although they were neither what was saved nor what is wanted,
// because somebody changed them meanwhile. It may be called again after an
// error or a crash, and then finishes; see the package's documentation.
//
// After nil everything is in place and durable, and the displaced files are in
// the staging directory. After an error or a crash each path is as before,
// absent or as wanted. The operation lock must be held, and the journal must
// name this operation.
func (in *Install) Run(ctx context.Context) ([]Rescue, error) {
	if len(in.steps) == 0 {
		return in.find(ctx)
	}
	root, err := in.fs.OpenRoot(in.dir)
	if err != nil {
		return nil, fmt.Errorf("install sources: %w", err)
	}
	defer root.Close()
	r := &runner{
		Install: in, prober: prober{ctx, root, in.store}, now: in.clock.Now().UnixNano(),
		ours: map[inode]bool{}, caseless: caseless(root), sync: map[string]bool{path.Join(in.staging, oldDir): true},
	}
	for _, phase := range []func() error{r.staged, r.open, r.clear, r.place, r.modes, r.flush} {
		if err := phase(); err != nil {
			return nil, fmt.Errorf("install sources: %w", err)
		}
	}
	in.fresh, in.installedAt = true, r.now
	return in.find(ctx)
}

// find looks for what must be rescued and remembers it for Rescues.
func (in *Install) find(ctx context.Context) (list []Rescue, err error) {
	in.rescued, err = in.rescues(ctx)
	return in.rescued, err
}

// staged learns which inodes are ours. After a crash each staged file is
// compared with what it should be; one that is not (it was changed in place
// after it had been installed) is staged anew, so that the changed one is
// found to be somebody's work.
func (r *runner) staged() error {
	for _, dir := range []string{newDir, oldDir} {
		err := r.root.Mkdir(path.Join(r.staging, dir), 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	var missing []int
	for n := range r.steps {
		s := &r.steps[n]
		if !s.staged() {
			continue
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		info, err := r.root.Lstat(r.stagedPath(n))
		if err == nil && !r.fresh {
			var ok bool
			ok, err = r.matches(r.stagedPath(n), info, s.Want, true)
			if unreadable(err) {
				ok, err = true, nil // nobody can have changed it
			}
			if err == nil && !ok {
				if err = r.root.Remove(r.stagedPath(n)); err == nil {
					err = fs.ErrNotExist
				}
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, n)
		case err != nil:
			return err
		default:
			r.ours[inode{info.Dev, info.Ino}] = true
		}
	}
	return r.restage(missing)
}

// restage makes lost staged files again, unless what is in place is right.
func (r *runner) restage(numbers []int) error {
	var needed []int
	for _, n := range numbers {
		done, err := r.inPlace(&r.steps[n])
		if err != nil {
			return err
		}
		if !done {
			needed = append(needed, n)
		}
	}
	if len(needed) == 0 {
		return nil
	}
	if err := r.extract(r.ctx, r.root, needed); err != nil {
		return err
	}
	if err := r.flushStaged(r.root, needed); err != nil {
		return err
	}
	for _, n := range needed {
		info, err := r.root.Lstat(r.stagedPath(n))
		if err != nil {
			return err
		}
		r.ours[inode{info.Dev, info.Ino}] = true
	}
	return nil
}

// look describes a path; ok is false when nothing is there, which includes
// that a directory on the way is none. Where case does not count, a name in
// another case is not the path's.
func (r *runner) look(p string) (info vfs.Info, ok bool, err error) {
	info, err = r.root.Lstat(p)
	if absent(err) {
		return info, false, nil
	}
	if err != nil || !r.caseless {
		return info, err == nil, err
	}
	list, err := r.root.ReadDir(parentOf(p))
	if err != nil {
		return info, false, err
	}
	for _, e := range list {
		if e.Name == path.Base(p) {
			return info, true, nil
		}
	}
	return info, false, nil
}

// lookFor describes the path of a step that wants something. A directory that
// is there in another case, because what it holds is not ours to move, serves.
func (r *runner) lookFor(s *step) (vfs.Info, bool, error) {
	if kind(s.Want) != storage.Directory {
		return r.look(s.Path)
	}
	info, err := r.root.Lstat(s.Path)
	if absent(err) {
		return info, false, nil
	}
	return info, err == nil, err
}

// absent reports the errors of a name that leads nowhere.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// open makes directories writable that their modes protect.
func (r *runner) open() error {
	for _, o := range r.head.Opens {
		info, ok, err := r.look(string(o.Path))
		if err != nil {
			return err
		}
		if ok && info.IsDir() && info.Mode.Perm()&writable != writable {
			if err := r.root.Chmod(string(o.Path), info.Mode.Perm()|writable); err != nil {
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
		if err == nil && dir != "." && info.IsDir() && info.Mode.Perm()&writable != writable {
			if err := r.root.Chmod(dir, info.Mode.Perm()|writable); err != nil {
				return failed
			}
		}
	}
	return r.root.Rename(p, to)
}

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
		return r.root.Mkdir(s.Path, fs.FileMode(s.Want.Mode)|writable)
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
	if ok && err == nil && info.IsRegular() && uint32(info.Mode.Perm()) != s.Want.Mode {
		err = r.chmod(s.Path, s.Want.Mode, false)
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

// modes sets permission bits, from the bottom up so that a directory that
// becomes read-only is finished before.
func (r *runner) modes() error {
	type final struct {
		dirMode
		dir bool
	}
	var finals []final
	for n := range r.steps {
		s := &r.steps[n]
		if s.Want != nil && (s.Want.Type == storage.Directory || s.modeOnly()) {
			finals = append(finals, final{dirMode{s.Path, s.Want.Mode}, s.Want.Type == storage.Directory})
		}
	}
	for _, o := range r.head.Opens {
		finals = append(finals, final{dirMode{string(o.Path), o.Mode}, true})
	}
	slices.SortFunc(finals, func(a, b final) int { return comparePaths(b.Path, a.Path) })
	for _, f := range finals {
		info, ok, err := r.look(f.Path)
		if err != nil {
			return err
		}
		if !ok || info.IsDir() != f.dir || !f.dir && !info.IsRegular() || uint32(info.Mode.Perm()) == f.Mode {
			continue // right, or something else now: then there is nothing to set
		}
		if f.dir && f.Mode&0o400 == 0 {
			// Afterwards it cannot be opened to flush its entries.
			if err := r.root.SyncDir(f.Path); err != nil {
				return err
			}
		}
		if err := r.chmod(f.Path, f.Mode, f.dir); err != nil {
			return err
		}
	}
	return nil
}

// chmod sets permission bits and remembers to flush them.
func (r *runner) chmod(p string, mode uint32, dir bool) error {
	if dir {
		r.sync[p] = true
	} else {
		r.files = append(r.files, p)
	}
	return r.root.Chmod(p, fs.FileMode(mode))
}

// flush makes everything that was changed durable.
func (r *runner) flush() error {
	if len(r.sync)+len(r.files) > syncEach {
		if err := r.root.SyncFS("."); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for _, p := range r.files {
		if err := syncFile(r.root, p); err != nil && !absent(err) {
			return err
		}
	}
	dirs := make([]string, 0, len(r.sync))
	for dir := range r.sync {
		dirs = append(dirs, dir)
	}
	slices.SortFunc(dirs, comparePaths)
	for _, dir := range dirs {
		err := r.root.SyncDir(dir)
		if errors.Is(err, fs.ErrPermission) {
			if err = r.root.SyncFS("."); errors.Is(err, errors.ErrUnsupported) {
				err = nil // its entries were flushed before its mode was set
			}
		}
		if err != nil && !absent(err) { // gone with the directory above
			return err
		}
	}
	return nil
}
