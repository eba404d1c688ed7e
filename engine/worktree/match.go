package worktree

import (
	"context"
	"errors"
	"io/fs"

	"forklift/storage"
	"forklift/storage/vfs"
)

// prober compares what is in a worktree with entries.
type prober struct {
	ctx   context.Context
	root  vfs.Root
	store Store
}

// matches reports whether what is at path, which info describes, is what the
// entry says: type, content and attributes and, if asked, mode.
func (p *prober) matches(path string, info vfs.Info, e *storage.Entry, mode bool) (bool, error) {
	switch kind(e) {
	case storage.Directory:
		return info.IsDir() && (!mode || sameMode(info, e.Mode)), nil
	case storage.Symlink:
		if !info.IsSymlink() {
			return false, nil
		}
		target, err := p.root.Readlink(path)
		return err == nil && target == e.Target, err
	case storage.Regular:
		if !info.IsRegular() || info.Size != e.Size || mode && !sameMode(info, e.Mode) {
			return false, nil
		}
	default:
		return false, nil
	}
	attrs, err := p.root.Xattrs(path)
	if err != nil || !sameXattrs(attrs, e.Xattrs) {
		return false, err
	}
	content, size, err := p.store.HashFile(p.ctx, p.root, path, e.Content.Unit)
	return err == nil && size == e.Size && content == e.Content, err
}

// sameMode reports that what info describes has the bits that are wanted of a
// mode, as far as it may have them.
func sameMode(info vfs.Info, mode uint32) bool {
	return storage.Mode(info) == storage.KeptMode(info, mode)
}

// sameXattrs compares attributes as read with those of an entry. Both are
// sorted by name.
func sameXattrs(have []vfs.Xattr, want []storage.EntryXattr) bool {
	if len(have) != len(want) {
		return false
	}
	for i := range have {
		if have[i].Name != want[i].Name || string(have[i].Value) != string(want[i].Value) {
			return false
		}
	}
	return true
}

// unreadable reports the errors of something that is there and cannot be
// read.
func unreadable(err error) bool { return errors.Is(err, fs.ErrPermission) }
