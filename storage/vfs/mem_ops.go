package vfs

import (
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// permBits are the bits that chmod sets.
const permBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// put checks that something new may have the name of s.
func (s memSpot) put() error {
	switch {
	case s.node != nil:
		return syscall.EEXIST
	case s.dir.nlink == 0:
		return syscall.ENOENT // a directory that was removed
	}
	return nil
}

// Mkdir makes a directory.
func (v *memView) Mkdir(name string, perm fs.FileMode) error {
	return v.on(OpMkdir, name, func(s memSpot) error {
		if err := s.put(); err != nil {
			return err
		}
		v.m.enact(memChange{s.dir, s.base, v.m.newIn(s.dir, fs.ModeDir, perm&permBits)})
		return nil
	})
}

// Symlink makes a symbolic link.
func (v *memView) Symlink(target, name string) error {
	return v.on(OpSymlink, name, func(s memSpot) error {
		if err := s.put(); err != nil {
			return err
		}
		if target == "" {
			return syscall.ENOENT
		}
		n := v.m.newIn(s.dir, fs.ModeSymlink, 0o777)
		n.target = target
		v.m.enact(memChange{s.dir, s.base, n})
		return nil
	})
}

// Remove removes a file or an empty directory.
func (v *memView) Remove(name string) error {
	return v.on(OpRemove, name, func(s memSpot) error {
		switch {
		case s.node == nil:
			return syscall.ENOENT
		case s.dir == nil:
			return syscall.EINVAL
		case len(s.node.kids) > 0:
			return syscall.ENOTEMPTY
		}
		v.m.enact(memChange{s.dir, s.base, nil})
		return nil
	})
}

// Rename moves a file or directory.
func (v *memView) Rename(oldname, newname string) error {
	return v.on(OpRename, oldname, func(from memSpot) error {
		to, err := v.find(newname)
		if err != nil {
			return err
		}
		// The order of the checks is that of Linux.
		switch {
		case from.dir == nil || to.dir == nil:
			return syscall.EBUSY
		case from.node == nil:
			return syscall.ENOENT
		case from.node.holds(to.dir):
			return syscall.EINVAL
		case to.node != nil && to.node.holds(from.dir):
			return syscall.ENOTEMPTY
		case from.node == to.node:
			return nil
		case to.node == nil:
		case to.node.typ.IsDir() && !from.node.typ.IsDir():
			return syscall.EISDIR
		case !to.node.typ.IsDir() && from.node.typ.IsDir():
			return syscall.ENOTDIR
		case len(to.node.kids) > 0:
			return syscall.ENOTEMPTY
		}
		if to.dir.nlink == 0 {
			return syscall.ENOENT
		}
		v.m.enact(memChange{from.dir, from.base, nil}, memChange{to.dir, to.base, from.node})
		return nil
	})
}

// holds says whether dir is n or below it.
func (n *memNode) holds(dir *memNode) bool {
	if n == dir {
		return true
	}
	for _, kid := range n.kids {
		if kid.typ.IsDir() && kid.holds(dir) {
			return true
		}
	}
	return false
}

// Link makes a hard link.
func (v *memView) Link(oldname, newname string) error {
	return v.onNode(OpLink, oldname, func(n *memNode) error {
		to, err := v.find(newname)
		if err != nil {
			return err
		}
		if err := to.put(); err != nil {
			return err
		}
		if n.typ.IsDir() {
			return syscall.EPERM
		}
		v.m.enact(memChange{to.dir, to.base, n})
		return nil
	})
}

// Readlink reads a symbolic link.
func (v *memView) Readlink(name string) (target string, err error) {
	err = v.onNode(OpReadlink, name, func(n *memNode) error {
		if n.typ != fs.ModeSymlink {
			return syscall.EINVAL
		}
		target = n.target
		return nil
	})
	return target, err
}

// Lstat describes name.
func (v *memView) Lstat(name string) (i Info, err error) {
	err = v.onNode(OpLstat, name, func(n *memNode) error {
		i = n.info(name)
		return nil
	})
	return i, err
}

// dirOnly says why n is not a directory.
func (n *memNode) dirOnly() error {
	if !n.typ.IsDir() {
		return syscall.ENOTDIR
	}
	return nil
}

// ReadDir lists a directory.
func (v *memView) ReadDir(name string) (list []Entry, err error) {
	err = v.onNode(OpReadDir, name, func(n *memNode) error {
		if err := n.dirOnly(); err != nil {
			return err
		}
		list = make([]Entry, 0, len(n.kids))
		for base, kid := range n.kids {
			list = append(list, Entry{base, kid.typ})
		}
		return nil
	})
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Chmod sets the bits of the mode.
func (v *memView) Chmod(name string, mode fs.FileMode) error {
	return v.onNode(OpChmod, name, func(n *memNode) error {
		if n.typ == fs.ModeSymlink {
			return syscall.ELOOP
		}
		n.meta.perm = mode & permBits
		v.m.touchMeta(n)
		return nil
	})
}

// Chown sets the owner; -1 leaves one as it is. A file loses setuid and setgid.
func (v *memView) Chown(name string, uid, gid int) error {
	return v.onNode(OpChown, name, func(n *memNode) error {
		if uid != -1 {
			n.meta.uid = uid
		}
		if gid != -1 {
			n.meta.gid = gid
		}
		n.dropRights()
		v.m.touchMeta(n)
		return nil
	})
}

// Chtimes sets the modification time.
func (v *memView) Chtimes(name string, mtime int64) error {
	return v.onNode(OpUtimes, name, func(n *memNode) error {
		v.m.touchMeta(n)
		n.meta.mtime = mtime
		return nil
	})
}

// Xattrs reads the attributes.
func (v *memView) Xattrs(name string) (list []Xattr, err error) {
	err = v.onNode(OpXattrs, name, func(n *memNode) error {
		for key, value := range n.meta.xattrs {
			list = append(list, Xattr{key, append([]byte{}, value...)})
		}
		return nil
	})
	sortXattrs(list)
	return list, err
}

// SetXattr sets an attribute.
func (v *memView) SetXattr(name string, x Xattr) error {
	return v.onNode(OpSetXattr, name, func(n *memNode) error {
		switch {
		case !strings.HasPrefix(x.Name, "user."):
			return fs.ErrInvalid
		case n.typ == fs.ModeSymlink:
			return syscall.EPERM
		case len(x.Value) > xattrLimit:
			return syscall.E2BIG
		}
		n.setXattr(x)
		v.m.touchMeta(n)
		return nil
	})
}

// Space tells what SetSpace set.
func (v *memView) Space(name string) (s Space, err error) {
	err = v.onTarget(OpSpace, name, func(*memNode) error {
		s = v.m.space
		return nil
	})
	return s, err
}

// OpenRoot opens a directory as a Root.
func (v *memView) OpenRoot(name string) (Root, error) {
	r := &memRoot{&memView{m: v.m, root: true}}
	err := v.onNode(OpOpenRoot, name, func(n *memNode) error {
		r.top = n
		return n.dirOnly()
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Close closes a Root.
func (r *memRoot) Close() error {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	if r.closed {
		return fs.ErrClosed
	}
	r.closed = true
	return nil
}
