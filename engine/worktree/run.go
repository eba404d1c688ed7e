package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"

	"forklift/storage"
	"forklift/storage/vfs"
)

// maxDisplacements is how often one path is cleared before giving up:
// somebody who writes it again that often would win in the end.
const maxDisplacements = 16

// runner is one run of an install.
type runner struct {
	*Install
	prober
	now  int64          // the time that installed files get
	ours map[inode]bool // staged files, which may be in place already
	// twins are the paths, in the form that has no case, which several steps
	// have in different cases, where the file system does not tell them apart.
	twins map[string]bool
	sync  map[string]bool // directories whose entries changed
	files []string        // files whose mode changed
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
		ours: map[inode]bool{}, twins: in.twins(root), sync: map[string]bool{path.Join(in.staging, oldDir): true},
	}
	in.denied = map[string]bool{}
	for _, phase := range []func() error{r.staged, r.open, r.clear, r.place, r.modes, r.flush} {
		if err := phase(); err != nil {
			return nil, fmt.Errorf("install sources: %w", err)
		}
	}
	in.fresh, in.installedAt = true, r.now
	return in.find(ctx)
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

// twins finds the steps whose paths only differ in case, if that does not
// count here.
func (in *Install) twins(root vfs.Root) map[string]bool {
	if !caseless(root) {
		return nil
	}
	seen, twins := map[string]bool{}, map[string]bool{}
	for i := range in.steps {
		key := foldPath(in.steps[i].Path)
		if seen[key] {
			twins[key] = true
		}
		seen[key] = true
	}
	return twins
}

// look describes a path; ok is false when nothing is there, which includes
// that a directory on the way is none, or only the path's twin.
func (r *runner) look(p string) (info vfs.Info, ok bool, err error) {
	info, err = r.root.Lstat(p)
	if absent(err) {
		return info, false, nil
	}
	if err != nil || !r.twins[foldKey(r.twins, p)] {
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

// foldKey is the key of a path among twins; where there are none it costs
// nothing.
func foldKey(twins map[string]bool, p string) string {
	if len(twins) == 0 {
		return ""
	}
	return foldPath(p)
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
