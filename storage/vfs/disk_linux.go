package vfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	pathFlags = unix.O_PATH                    // to open something only to name it
	dirFlags  = unix.O_PATH | unix.O_DIRECTORY // the same for a directory
	utimeOmit = unix.UTIME_OMIT                // leave a time as it is
	direntMin = 19                             // bytes before the name in struct linux_dirent64
)

// openBeneath opens the directory dir below fd, no element of it a link.
// openat2 (Linux 5.6) does it in one call; containers may forbid it.
func openBeneath(fd int, dir string) (int, error) {
	how := unix.OpenHow{
		Flags:   dirFlags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	for {
		sub, err := unix.Openat2(fd, dir, &how)
		switch err {
		case syscall.EINTR, syscall.EAGAIN:
		case syscall.ENOSYS, syscall.EPERM:
			return walkBeneath(fd, dir)
		default:
			return sub, err
		}
	}
}

// chmodat sets permission bits without following a link.
func chmodat(dir int, name string, mode uint32) error {
	// fchmodat2 is Linux 6.6; EOPNOTSUPP means an older one, or a link, EPERM
	// also a container that forbids it.
	err := unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
	if err == syscall.EOPNOTSUPP || err == syscall.EPERM {
		return chmodProc(dir, name, mode)
	}
	return err
}

// chmodProc is chmodat for older kernels: it pins what the name is and
// changes that through /proc.
func chmodProc(dir int, name string, mode uint32) error {
	fd, err := openat(dir, name, pathFlags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return syscall.ELOOP
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}

// syncReports says once whether syncfs reports errors here.
var syncReports = sync.OnceValue(func() bool {
	var u unix.Utsname
	return unix.Uname(&u) == nil && releaseReports(unix.ByteSliceToString(u.Release[:]))
})

// releaseReports says whether syncfs of a kernel release reports errors: from
// Linux 5.8 on (its manual page).
func releaseReports(release string) bool {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, majorErr := strconv.Atoi(parts[0])
	minor, minorErr := strconv.Atoi(parts[1])
	return majorErr == nil && minorErr == nil && (major > 5 || major == 5 && minor >= 8)
}

// fsync makes a file or directory durable.
func fsync(fd int) error {
	return retry(func() error { return unix.Fsync(fd) })
}

// syncfs makes a file system durable.
func syncfs(fd int) error {
	if !syncReports() {
		return errors.ErrUnsupported
	}
	return retry(func() error { return unix.Syncfs(fd) })
}

// direntBufs are the buffers of readDir.
var direntBufs = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readDir reads the entries of an open directory. os.File.ReadDir would
// make a stat by name where the file system does not tell the type, which in
// a Root could be of something else.
func readDir(fd int) ([]Entry, error) {
	buf := direntBufs.Get().(*[32 << 10]byte)
	defer direntBufs.Put(buf)
	list := []Entry{}
	for {
		var n int
		err := retry(func() (err error) {
			n, err = unix.Getdents(fd, buf[:])
			return err
		})
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return list, nil
		}
		if list, err = parseDirents(list, fd, buf[:n]); err != nil {
			return nil, err
		}
	}
}

// parseDirents appends the entries in b, a sequence of linux_dirent64: inode
// (8 bytes), offset (8), length (2), type (1), name, NUL.
func parseDirents(list []Entry, fd int, b []byte) ([]Entry, error) {
	for len(b) > direntMin {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= direntMin || size > len(b) {
			return nil, syscall.EIO
		}
		inode, kind, name := binary.NativeEndian.Uint64(b), b[18], b[direntMin:size]
		b = b[size:]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if inode == 0 || string(name) == "." || string(name) == ".." {
			continue
		}
		e := Entry{Name: string(name)}
		if kind == unix.DT_UNKNOWN {
			var st unix.Stat_t
			err := unix.Fstatat(fd, e.Name, &st, unix.AT_SYMLINK_NOFOLLOW)
			if err == syscall.ENOENT {
				continue // removed meanwhile
			}
			if err != nil {
				return nil, err
			}
			e.Type = fileMode(st.Mode).Type()
		} else {
			e.Type = fileMode(uint32(kind) << 12).Type() // DT_x is S_IFx >> 12
		}
		list = append(list, e)
	}
	return list, nil
}

// xattrPath is a path to (dir, base) for the calls that take no descriptor
// of a directory.
func xattrPath(dir int, base string) string {
	if dir == unix.AT_FDCWD {
		return base
	}
	return "/proc/self/fd/" + strconv.Itoa(dir) + "/" + base
}

// Xattrs reads the "user." attributes.
func (d *disk) Xattrs(name string) (list []Xattr, err error) {
	err = d.on(OpXattrs, name, func(dir int, base string) error {
		path := xattrPath(dir, base)
		names, err := xattrCall(func(b []byte) (int, error) { return unix.Llistxattr(path, b) })
		if err == syscall.ENOTSUP {
			return nil
		}
		if err != nil {
			return err
		}
		for n := range strings.SplitSeq(string(names), "\x00") {
			if !strings.HasPrefix(n, "user.") {
				continue
			}
			value, err := xattrCall(func(b []byte) (int, error) { return unix.Lgetxattr(path, n, b) })
			if err == syscall.ENODATA {
				continue // removed meanwhile
			}
			if err != nil {
				return err
			}
			list = append(list, Xattr{Name: n, Value: value})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sortXattrs(list)
	return list, nil
}

// xattrCall makes a call that fills a buffer of unknown size.
func xattrCall(call func([]byte) (int, error)) ([]byte, error) {
	var small [256]byte
	buf := small[:]
	for {
		n, err := call(buf)
		if err == nil {
			return bytes.Clone(buf[:n]), nil
		}
		if err != syscall.ERANGE || len(buf) > xattrLimit {
			return nil, err
		}
		buf = make([]byte, len(buf)*4)
	}
}

// SetXattr sets an attribute.
func (d *disk) SetXattr(name string, x Xattr) error {
	if !strings.HasPrefix(x.Name, "user.") {
		return pathError("setxattr", name, fs.ErrInvalid)
	}
	hit(OpSetXattr, name)
	return d.on(OpSetXattr, name, func(dir int, base string) error {
		return unix.Lsetxattr(xattrPath(dir, base), x.Name, x.Value, 0)
	})
}
