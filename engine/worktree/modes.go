package worktree

import (
	"errors"
	"io/fs"
	"slices"

	"forklift/storage"
	"forklift/storage/vfs"
)

// modes sets the bits of modes, from the bottom up so that a directory that
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
		if !ok || info.IsDir() != f.dir || !f.dir && !info.IsRegular() || sameMode(info, f.Mode) {
			continue // right, or something else now: then there is nothing to set
		}
		if f.dir && f.Mode&0o400 == 0 {
			// Afterwards it cannot be opened to flush its entries.
			if err := r.root.SyncDir(f.Path); err != nil {
				return err
			}
		}
		if err := r.chmod(f.Path, info, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

// setgid is the bit of a directory whose group what is made in it gets.
const setgid = 0o2000

// chmod sets the mode of what info describes and remembers to flush it.
//
// A directory can have a group that is none of the user's: that of the setgid
// directory above, or one that somebody gave it. Then the system lets nobody but root
// set setgid. Linux leaves the bit out and says nothing, others refuse. No
// second try would end otherwise, so the directory stays without, and is noted.
func (r *runner) chmod(p string, info vfs.Info, mode uint32) error {
	mode = storage.KeptMode(info, mode)
	if !info.IsDir() {
		r.files = append(r.files, p)
		return r.root.Chmod(p, vfs.FileMode(mode))
	}
	r.sync[p] = true
	err := r.root.Chmod(p, vfs.FileMode(mode))
	if mode&setgid == 0 || err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err != nil {
		if err = r.root.Chmod(p, vfs.FileMode(mode&^setgid)); err != nil {
			return err
		}
	}
	now, err := r.root.Lstat(p)
	if err == nil && now.IsDir() && now.Bits() == mode&^setgid {
		r.denied[p] = true
	}
	if absent(err) {
		return nil // gone meanwhile
	}
	return err
}

// Warnings names, after Run, what could not be made as it was and is right all
// the same.
func (in *Install) Warnings() []string {
	var list []string
	for p := range in.denied {
		list = append(list, QuotePath(p)+" has a group that is not yours, so the system did not give it the setgid bit")
	}
	slices.Sort(list)
	return list[:min(len(list), maxNamed)]
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
