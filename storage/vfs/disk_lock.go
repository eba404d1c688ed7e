package vfs

import (
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockTries bounds how often Lock starts again because the file that it
// locked was removed or replaced meanwhile.
const lockTries = 100

// diskLock is a held flock.
type diskLock struct {
	f     *os.File
	given atomic.Bool // to a caller of File: a child may share the lock
}

// Lock takes the lock. The file it holds is the one that name still names:
// whoever removes lock files does so with the lock held.
func (d *disk) Lock(name string, exclusive bool) (Lock, error) {
	how := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	var l *diskLock
	err := d.in(OpLock, name, func(p place) error {
		for range lockTries {
			fd, err := openLock(p, name, exclusive)
			if err != nil {
				return err
			}
			held, err := flock(p, fd, how)
			if held {
				l = &diskLock{f: os.NewFile(uintptr(fd), name)}
				return nil
			}
			_ = unix.Close(fd)
			if err != nil {
				return err
			}
		}
		return ErrLocked
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// flock locks the open file; false without an error means that the place
// names another file by now.
func flock(p place, fd, how int) (held bool, err error) {
	err = retry(func() error { return unix.Flock(fd, how) })
	if err == syscall.EWOULDBLOCK {
		return false, ErrLocked
	}
	if err != nil {
		return false, err
	}
	return names(p, fd)
}

// openLock opens a lock file and creates it if it is absent. No descriptor
// for writing is needed, but NFS asks for one to lock exclusively.
func openLock(p place, name string, exclusive bool) (int, error) {
	fd, err := openat(p.fd, p.base, unix.O_RDWR, 0)
	if err == syscall.EROFS && !exclusive {
		// Who only reads may look at a store on a read-only disk, too.
		return openat(p.fd, p.base, unix.O_RDONLY, 0)
	}
	if err != syscall.ENOENT {
		return fd, err
	}
	hit(OpCreate, name)
	return openat(p.fd, p.base, unix.O_RDWR|unix.O_CREAT, 0o600)
}

// names says whether the place still names the open file.
func names(p place, fd int) (bool, error) {
	var open, named unix.Stat_t
	if err := unix.Fstat(fd, &open); err != nil {
		return false, err
	}
	err := unix.Fstatat(p.fd, p.base, &named, unix.AT_SYMLINK_NOFOLLOW)
	if err == syscall.ENOENT {
		return false, nil
	}
	return open.Dev == named.Dev && open.Ino == named.Ino, err
}

// Unlock releases the lock. A child that inherited the file keeps it: then
// only our descriptor is closed. Otherwise the lock is given up explicitly,
// because a process that is being started at this moment holds copies of all
// descriptors for an instant.
func (l *diskLock) Unlock() error {
	var err error
	if !l.given.Load() {
		err = unix.Flock(int(l.f.Fd()), unix.LOCK_UN)
	}
	if closeErr := l.f.Close(); closeErr != nil {
		return closeErr
	}
	return pathError("unlock", l.f.Name(), err)
}

// File is the open lock file.
func (l *diskLock) File() *os.File {
	l.given.Store(true)
	return l.f
}
