package vfs

import (
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Mkdir makes a directory; the umask is undone.
func (d *disk) Mkdir(name string, perm fs.FileMode) error {
	hit(OpMkdir, name)
	return d.in(OpMkdir, name, func(p place) error {
		want := Bits(perm)
		if err := retry(func() error { return unix.Mkdirat(p.fd, p.base, want) }); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstatat(p.fd, p.base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if uint32(st.Mode)&0o7777 == want {
			return nil
		}
		hit(OpChmod, name)
		return chmodat(p.fd, p.base, want)
	})
}

// Remove removes a file or an empty directory.
func (d *disk) Remove(name string) error {
	hit(OpRemove, name)
	return d.on(OpRemove, name, func(dir int, base string) error {
		err := unix.Unlinkat(dir, base, 0)
		if err != syscall.EISDIR && err != syscall.EPERM {
			return err
		}
		// EISDIR is Linux, EPERM elsewhere; but EPERM is also what an
		// immutable file gives.
		if rmErr := unix.Unlinkat(dir, base, unix.AT_REMOVEDIR); rmErr != syscall.ENOTDIR {
			return rmErr
		}
		return err
	})
}

// Rename moves a file or directory.
func (d *disk) Rename(oldname, newname string) error {
	hit(OpRename, newname)
	return d.onTwo(OpRename, oldname, newname, unix.Renameat)
}

// Link makes a hard link.
func (d *disk) Link(oldname, newname string) error {
	hit(OpLink, newname)
	return d.onTwo(OpLink, oldname, newname, func(ofd int, obase string, nfd int, nbase string) error {
		return unix.Linkat(ofd, obase, nfd, nbase, 0)
	})
}

// Symlink makes a symbolic link.
func (d *disk) Symlink(target, name string) error {
	hit(OpSymlink, name)
	return d.on(OpSymlink, name, func(dir int, base string) error {
		return unix.Symlinkat(target, dir, base)
	})
}

// Readlink reads a symbolic link.
func (d *disk) Readlink(name string) (target string, err error) {
	err = d.on(OpReadlink, name, func(dir int, base string) error {
		for size := 256; ; size *= 4 {
			buf := make([]byte, size)
			n, err := unix.Readlinkat(dir, base, buf)
			if err != nil {
				return err
			}
			if n < size {
				target = string(buf[:n])
				return nil
			}
		}
	})
	return target, err
}

// Lstat describes name.
func (d *disk) Lstat(name string) (Info, error) {
	var st unix.Stat_t
	err := d.on(OpLstat, name, func(dir int, base string) error {
		return unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return Info{}, err
	}
	return infoOf(name, &st), nil
}

// ReadDir lists a directory.
func (d *disk) ReadDir(name string) (list []Entry, err error) {
	err = d.on(OpReadDir, name, func(dir int, base string) error {
		fd, err := openat(dir, base, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		list, err = readDir(fd)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Chmod sets the bits of the mode. A symbolic link is ELOOP.
func (d *disk) Chmod(name string, mode fs.FileMode) error {
	hit(OpChmod, name)
	return d.on(OpChmod, name, func(dir int, base string) error {
		return chmodat(dir, base, Bits(mode))
	})
}

// Chown sets the owner.
func (d *disk) Chown(name string, uid, gid int) error {
	hit(OpChown, name)
	return d.on(OpChown, name, func(dir int, base string) error {
		return unix.Fchownat(dir, base, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// Chtimes sets the modification time, of a link itself too.
func (d *disk) Chtimes(name string, mtime int64) error {
	hit(OpUtimes, name)
	ts := []unix.Timespec{{Nsec: utimeOmit}, unix.NsecToTimespec(mtime)}
	return d.on(OpUtimes, name, func(dir int, base string) error {
		return unix.UtimesNanoAt(dir, base, ts, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// openAny opens something to sync or describe it.
func (p place) openAny(flags int) (fd int, err error) {
	if !p.follows {
		return openat(p.fd, p.base, flags, 0)
	}
	err = retry(func() error {
		fd, err = unix.Open(p.base, flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// onOpen makes one call with name open.
func (d *disk) onOpen(op Op, name string, flags int, call func(fd int) error) error {
	return d.in(op, name, func(p place) error {
		fd, err := p.openAny(flags)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return call(fd)
	})
}

// SyncDir makes the entries of a directory durable.
func (d *disk) SyncDir(name string) error {
	hit(OpSyncDir, name)
	return d.onOpen(OpSyncDir, name, unix.O_RDONLY|unix.O_DIRECTORY, fsync)
}

// SyncFS makes the whole file system durable; errors.ErrUnsupported where
// the kernel has no call for it that reports errors.
func (d *disk) SyncFS(name string) error {
	hit(OpSyncFS, name)
	return d.onOpen(OpSyncFS, name, unix.O_RDONLY, syncfs)
}

// Space tells the room.
func (d *disk) Space(name string) (Space, error) {
	var st unix.Statfs_t
	err := d.onOpen(OpSpace, name, pathFlags, func(fd int) error { return unix.Fstatfs(fd, &st) })
	if err != nil {
		return Space{}, err
	}
	unit := int64(st.Bsize)
	return Space{FreeBytes: int64(st.Bavail) * unit, TotalBytes: int64(st.Blocks) * unit}, nil
}

// infoOf translates what stat(2) says.
func infoOf(name string, st *unix.Stat_t) Info {
	return Info{
		Name:   name[strings.LastIndexByte(name, '/')+1:],
		Size:   st.Size,
		Mode:   fileMode(uint32(st.Mode)),
		Mtime:  st.Mtim.Nano(),
		Ctime:  st.Ctim.Nano(),
		Dev:    uint64(st.Dev),
		Ino:    st.Ino,
		UID:    st.Uid,
		GID:    st.Gid,
		Blocks: st.Blocks,
		Nlink:  uint64(st.Nlink),
	}
}

// fileMode translates st_mode.
func fileMode(m uint32) fs.FileMode {
	mode := FileMode(m)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	return mode
}
