package worktree

import (
	"errors"
	"io/fs"
	"slices"

	"forklift/storage"
)

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
