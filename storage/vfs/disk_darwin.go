package vfs

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	pathFlags = unix.O_RDONLY
	dirFlags  = unix.O_RDONLY | unix.O_DIRECTORY
	utimeOmit = -2 // UTIME_OMIT of <sys/stat.h>
)

// openBeneath opens the directory dir below fd, no element of it a link.
func openBeneath(fd int, dir string) (int, error) { return walkBeneath(fd, dir) }

// chmodat sets permission bits without following a link.
func chmodat(dir int, name string, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return syscall.ELOOP
	}
	return unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
}

// fsync makes a file or directory durable; fsync(2) would stop at the disk's
// own cache.
func fsync(fd int) error {
	return retry(func() error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
		if err == syscall.ENOTSUP {
			return unix.Fsync(fd) // not asked again: this file system has no such call
		}
		return err
	})
}

// syncfs is not there: sync(2) neither waits nor reports errors.
func syncfs(int) error { return errors.ErrUnsupported }

// readDir reads the entries of an open directory.
func readDir(fd int) ([]Entry, error) {
	dup, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(dup), ".")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	list := make([]Entry, 0, len(names))
	for _, name := range names {
		var st unix.Stat_t
		err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == syscall.ENOENT {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		list = append(list, Entry{Name: name, Type: fileMode(uint32(st.Mode)).Type()})
	}
	return list, nil
}

// Xattrs reads the attributes whose names begin with "user.", as programs
// that come from Linux set them. macOS's own are not the user's work.
func (d *disk) Xattrs(name string) (list []Xattr, err error) {
	file, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		if errors.Is(err, syscall.ELOOP) {
			return nil, nil // a link has none
		}
		return nil, err
	}
	defer file.Close()
	f := file.(*diskFile).f
	defer runtime.KeepAlive(f)
	fd := int(f.Fd())
	buf := make([]byte, xattrLimit)
	n, err := unix.Flistxattr(fd, buf)
	if err == syscall.ENOTSUP {
		return nil, nil
	}
	if err != nil {
		return nil, pathError("xattrs", name, err)
	}
	for attr := range strings.SplitSeq(string(buf[:n]), "\x00") {
		if !strings.HasPrefix(attr, "user.") {
			continue
		}
		value := make([]byte, xattrLimit)
		n, err := unix.Fgetxattr(fd, attr, value)
		if err != nil {
			return nil, pathError("xattrs", name, err)
		}
		list = append(list, Xattr{Name: attr, Value: value[:n]})
	}
	sortXattrs(list)
	return list, nil
}

// SetXattr sets an attribute.
func (d *disk) SetXattr(name string, x Xattr) error {
	if !strings.HasPrefix(x.Name, "user.") {
		return pathError("setxattr", name, syscall.EINVAL)
	}
	hit(OpSetXattr, name)
	file, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	f := file.(*diskFile).f
	defer runtime.KeepAlive(f)
	return pathError("setxattr", name, unix.Fsetxattr(int(f.Fd()), x.Name, x.Value, 0))
}
