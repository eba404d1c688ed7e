package vfs

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"

	"forklift/storage/failpoint"

	"golang.org/x/sys/unix"
)

// disk is the real disk: all of it when root is nil, else one directory.
//
// Every method opens the directory that holds the name and then makes one
// system call on (descriptor, base name) that does not follow links. Below a
// Root no element of a name may be a symbolic link. Go's os.Root would follow
// those that stay inside; but inside of a worktree there is a .git, and a
// planted src/x -> ../.git/hooks must not redirect what is installed.
type disk struct{ root *handle }

// diskRoot is a disk that is confined to a directory.
type diskRoot struct{ disk }

// handle is a directory descriptor that a method cannot see closed, and its
// number reused, while it works with it.
type handle struct {
	mu sync.RWMutex
	fd int // -1 after Close
}

// place is where a name is: a directory and a base name in it.
type place struct {
	fd      int
	base    string
	own     bool // fd was opened for this place
	follows bool // names lead through links here: it is not in a Root
}

// OS is the file system of the machine. Names must be absolute. Links in all
// but the last element of a name are followed.
func OS() FS { return &disk{} }

// enter keeps a Root's descriptor open until leave. Calls must not nest: a
// Close that waits in between would wait forever.
func (d *disk) enter() error {
	if d.root == nil {
		return nil
	}
	d.root.mu.RLock()
	if d.root.fd < 0 {
		d.root.mu.RUnlock()
		return fs.ErrClosed
	}
	return nil
}

func (d *disk) leave() {
	if d.root != nil {
		d.root.mu.RUnlock()
	}
}

// at finds the directory of name, between enter and leave. The caller
// releases the place.
func (d *disk) at(name string) (place, error) {
	if d.root == nil {
		if !strings.HasPrefix(name, "/") {
			return place{}, fs.ErrInvalid
		}
		return place{fd: unix.AT_FDCWD, base: name, follows: true}, nil
	}
	if !validName(name) {
		return place{}, fs.ErrInvalid
	}
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return place{fd: d.root.fd, base: name}, nil
	}
	fd, err := openBeneath(d.root.fd, name[:i])
	return place{fd: fd, base: name[i+1:], own: true}, err
}

func (p place) release() {
	if p.own {
		_ = unix.Close(p.fd)
	}
}

// validName says whether name is one that a Root takes: "." or elements
// between single slashes, none of them "." or "..". Bytes are free.
func validName(name string) bool {
	if name == "." {
		return true
	}
	for {
		elem, rest, more := strings.Cut(name, "/")
		if elem == "" || elem == "." || elem == ".." {
			return false
		}
		if !more {
			return true
		}
		name = rest
	}
}

// walkBeneath opens the directory dir below fd element by element.
func walkBeneath(fd int, dir string) (int, error) {
	own := false
	for more := true; more; {
		var elem string
		elem, dir, more = strings.Cut(dir, "/")
		next, err := openat(fd, elem, dirFlags, 0)
		if own {
			_ = unix.Close(fd)
		}
		if err != nil {
			return -1, err
		}
		fd, own = next, true
	}
	return fd, nil
}

// in works at the place of name and wraps the error.
func (d *disk) in(op Op, name string, work func(p place) error) error {
	err := d.enter()
	if err == nil {
		defer d.leave()
		var p place
		if p, err = d.at(name); err == nil {
			defer p.release()
			err = work(p)
		}
	}
	return pathError(string(op), name, err)
}

// on makes one system call at the place of name and wraps its error.
func (d *disk) on(op Op, name string, call func(fd int, base string) error) error {
	return d.in(op, name, func(p place) error {
		return retry(func() error { return call(p.fd, p.base) })
	})
}

// onTwo makes one system call at the places of two names.
func (d *disk) onTwo(op Op, a, b string, call func(afd int, abase string, bfd int, bbase string) error) error {
	return d.in(op, a, func(p place) error {
		q, err := d.at(b)
		if err == nil {
			err = retry(func() error { return call(p.fd, p.base, q.fd, q.base) })
			q.release()
		}
		if err != nil {
			return fmt.Errorf("to %s: %w", b, err)
		}
		return nil
	})
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

// openat is open(2) without following a link in the last element, without
// waiting for the other end of a FIFO and without inheritance.
func openat(dir int, name string, flags int, perm uint32) (fd int, err error) {
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	err = retry(func() error {
		fd, err = unix.Openat(dir, name, flags, perm)
		return err
	})
	return fd, err
}

// OpenRoot opens a directory as a Root.
func (d *disk) OpenRoot(name string) (Root, error) {
	r := &diskRoot{disk{root: &handle{fd: -1}}}
	err := d.on(OpOpenRoot, name, func(dir int, base string) (err error) {
		r.root.fd, err = openat(dir, base, dirFlags, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Close releases the directory.
func (r *diskRoot) Close() error {
	r.root.mu.Lock()
	defer r.root.mu.Unlock()
	if r.root.fd < 0 {
		return fs.ErrClosed
	}
	err := unix.Close(r.root.fd)
	r.root.fd = -1
	return err
}

// hit is the failpoint before a state-changing call.
func hit(op Op, name string) { failpoint.Hit(string(op), name) }
