package clone

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// methods are tried in this order.
var methods = []method{share, copyInKernel}

// share lets dst have the blocks of src (ioctl FICLONE).
func share(dst, src *os.File, size int64) (int64, bool, error) {
	var err error
	control := func(to, from uintptr) { err = unix.IoctlFileClone(int(to), int(from)) }
	if ctlErr := withFds(dst, src, control); ctlErr != nil {
		return 0, false, ctlErr
	}
	switch {
	case err == nil:
		return size, false, nil
	case cannot(err):
		return 0, true, nil
	}
	return 0, false, &os.PathError{Op: "clone", Path: dst.Name(), Err: err}
}

// copyInKernel copies with copy_file_range, which may share blocks, too.
func copyInKernel(dst, src *os.File, size int64) (int64, bool, error) {
	var from, to int64
	for from < size {
		var n int
		var err error
		control := func(d, s uintptr) {
			n, err = unix.CopyFileRange(int(s), &from, int(d), &to, int(min(size-from, 1<<30)), 0)
		}
		if ctlErr := withFds(dst, src, control); ctlErr != nil {
			return 0, false, ctlErr
		}
		switch {
		case err == syscall.EINTR:
		case err != nil && cannot(err):
			return to, true, nil
		case err != nil:
			return to, false, &os.PathError{Op: "copy", Path: dst.Name(), Err: err}
		case n == 0:
			return to, true, nil // shorter than it said, or a file system that lies: read it
		}
	}
	return to, false, nil
}

// cannot says whether an error means that this way of copying does not
// exist here.
func cannot(err error) bool {
	for _, no := range []error{syscall.EOPNOTSUPP, syscall.ENOTTY, syscall.ENOSYS, syscall.EXDEV, syscall.EINVAL, syscall.EPERM} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// withFds makes a call with both descriptors, which stay open meanwhile.
func withFds(dst, src *os.File, call func(to, from uintptr)) error {
	d, err := dst.SyscallConn()
	if err != nil {
		return err
	}
	s, err := src.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = d.Control(func(to uintptr) {
		inner = s.Control(func(from uintptr) { call(to, from) })
	})
	if err != nil {
		return err
	}
	return inner
}

// canShare says whether FICLONE works between two files.
func canShare(dst, src *os.File) bool {
	_, next, err := share(dst, src, 0)
	return !next && err == nil
}
