package durable

import (
	"errors"
	"io/fs"
	"path"
	"syscall"

	"forklift/storage/vfs"
)

// MkdirAll makes dir and the directories above it that are missing, with
// exactly perm. Ones that exist keep their mode.
//
// After nil dir is durable, also when it existed already. After an error or
// a crash any number of the upper ones exist. It syncs at least one
// directory each time: callers on a hot path remember what they made.
func MkdirAll(fsys vfs.FS, dir string, perm fs.FileMode) error {
	dir = path.Clean(dir)
	info, err := fsys.Lstat(dir)
	switch {
	case err == nil && info.IsSymlink():
		return fsys.SyncDir(dir) // ENOTDIR unless it leads to a directory
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case err == nil:
		return syncParentOf(fsys, dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := path.Dir(dir)
	if parent == dir {
		return err
	}
	if err := MkdirAll(fsys, parent, perm); err != nil {
		return err
	}
	if err := fsys.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.SyncDir(parent)
}

// syncParentOf makes the entry of an existing directory durable. Where we
// may not read the parent, we have not made the directory either.
func syncParentOf(fsys vfs.FS, dir string) error {
	parent := path.Dir(dir)
	if parent == dir || dir == "." {
		return nil
	}
	err := fsys.SyncDir(parent)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// SyncDir makes the entries of an existing directory durable, as far as
// somebody else, who may have been killed, has not done so.
//
// After nil they are. After an error any change of them that was not durable
// before may be lost.
func SyncDir(fsys vfs.FS, dir string) error { return fsys.SyncDir(dir) }

// Rename moves oldname to newname and replaces a file that is there.
//
// After nil the move is durable. After an error or a crash the thing has
// exactly one of the two names; what newname held before is there or
// replaced accordingly.
func Rename(fsys vfs.FS, oldname, newname string) error {
	if err := fsys.Rename(oldname, newname); err != nil {
		return err
	}
	to, from := path.Dir(newname), path.Dir(oldname)
	if err := fsys.SyncDir(to); err != nil {
		return err
	}
	if from == to {
		return nil
	}
	return fsys.SyncDir(from)
}

// Remove removes a file or an empty directory. Absent is not an error.
//
// After nil its absence is durable. After an error or a crash it is there or
// gone.
func Remove(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncAbsence(fsys, path.Dir(name))
}

// syncAbsence syncs a directory from which something is gone; a directory
// that is gone itself has nothing to sync.
func syncAbsence(fsys vfs.FS, dir string) error {
	err := fsys.SyncDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveAll removes name and everything in it, without ever following a
// symbolic link, even one that is planted while it works. Directories that
// their modes protect are made writable. Absent is not an error.
//
// After nil its absence is durable. After an error or a crash any part of
// the tree is left, under its name.
func RemoveAll(fsys vfs.FS, name string) error {
	if err := removeTree(fsys, name); err != nil {
		return err
	}
	return syncAbsence(fsys, path.Dir(name))
}

// removeTree removes one thing of a directory.
func removeTree(dir vfs.FS, name string) error {
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	root, openErr := dir.OpenRoot(name)
	if openErr != nil {
		info, statErr := dir.Lstat(name)
		if errors.Is(statErr, fs.ErrNotExist) {
			return nil
		}
		if statErr != nil || !info.IsDir() {
			return err // not a directory: what Remove says counts
		}
		return openErr
	}
	if err := removeContent(root); err != nil {
		_ = root.Close()
		return err
	}
	if err := root.Close(); err != nil {
		return err
	}
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeContent empties a directory.
func removeContent(root vfs.Root) error {
	list, err := root.ReadDir(".")
	if errors.Is(err, fs.ErrPermission) {
		list, err = unprotect(root)
	}
	if err != nil {
		return err
	}
	for i := 0; i < len(list); i++ {
		err := removeTree(root, list[i].Name)
		if errors.Is(err, fs.ErrPermission) {
			if _, err = unprotect(root); err == nil {
				err = removeTree(root, list[i].Name)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unprotect lets the owner change a directory that its mode protects.
func unprotect(root vfs.Root) ([]vfs.Entry, error) {
	if err := root.Chmod(".", 0o700); err != nil {
		return nil, err
	}
	return root.ReadDir(".")
}

// SyncTree makes everything in dir durable, dir itself included, but not
// its name in the directory above: files and directories that were written
// by plain calls.
//
// After nil all of it is durable. After an error any part of it may be lost
// in a power cut, and trying again does not help.
//
// Where the file system can be synced as a whole that is done (one call,
// Linux since 5.8); elsewhere each file and directory is synced.
func SyncTree(fsys vfs.FS, dir string) error {
	err := fsys.SyncFS(dir)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return syncEach(root)
}

func syncEach(root vfs.Root) error {
	list, err := root.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range list {
		switch {
		case e.Type.IsDir():
			sub, err := root.OpenRoot(e.Name)
			if err != nil {
				return err
			}
			err = syncEach(sub)
			_ = sub.Close()
			if err != nil {
				return err
			}
		case e.Type.IsRegular():
			if err := SyncFile(root, e.Name); err != nil {
				return err
			}
		}
	}
	return root.SyncDir(".")
}
