package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// memFile is an open file of a Mem.
type memFile struct {
	v      *memView
	node   *memNode
	name   string
	flag   int
	off    int64
	closed bool
}

// OpenFile opens or creates a file; see FS.
func (v *memView) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	op := OpOpen
	if flag&os.O_CREATE != 0 {
		op = OpCreate
	} else if flag&os.O_TRUNC != 0 {
		op = OpTruncate
	}
	f := &memFile{v: &memView{m: v.m}, name: name, flag: flag}
	err := v.on(op, name, func(s memSpot) (err error) {
		f.node, err = v.m.open(s, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// open finds or makes the node of a file to open.
func (m *Mem) open(s memSpot, flag int, perm fs.FileMode) (*memNode, error) {
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch n := s.node; {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, syscall.ENOENT
	case n == nil:
		if err := s.put(); err != nil {
			return nil, err
		}
		n = m.newIn(s.dir, 0, perm&permBits)
		m.enact(memChange{s.dir, s.base, n})
		return n, nil
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, syscall.EEXIST
	case n.typ == fs.ModeSymlink:
		return nil, syscall.ELOOP
	case n.typ.IsDir() && (writes || flag&os.O_CREATE != 0):
		return nil, syscall.EISDIR
	case !n.typ.IsDir() && flag&syscall.O_DIRECTORY != 0:
		return nil, syscall.ENOTDIR
	case writes && flag&os.O_TRUNC != 0:
		m.resize(n, 0)
	}
	return s.node, nil
}

// Name is the name it was opened by.
func (f *memFile) Name() string { return f.name }

// enter locks the file system for a call on the file.
func (f *memFile) enter(op Op) error {
	err := f.v.enter(op)
	if f.closed {
		return fs.ErrClosed
	}
	return err
}

// on makes one call on the file and wraps its error.
func (f *memFile) on(op Op, call func() error) error {
	err := f.enter(op)
	defer f.v.m.mu.Unlock()
	if err == nil {
		err = call()
	}
	if err == io.EOF {
		return err
	}
	return pathError(string(op), f.name, err)
}

// readAt reads without moving.
func (f *memFile) readAt(p []byte, off int64) (int, error) {
	switch {
	case f.flag&os.O_WRONLY != 0:
		return 0, syscall.EBADF
	case f.node.typ.IsDir():
		return 0, syscall.EISDIR
	case off < 0:
		return 0, syscall.EINVAL
	case len(p) == 0:
		return 0, nil
	case off >= int64(len(f.node.data)):
		return 0, io.EOF
	}
	return copy(p, f.node.data[off:]), nil
}

// Read reads on.
func (f *memFile) Read(p []byte) (n int, err error) {
	err = f.on(OpRead, func() (err error) {
		n, err = f.readAt(p, f.off)
		f.off += int64(n)
		return err
	})
	return n, err
}

// ReadAt reads at an offset.
func (f *memFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.on(OpRead, func() (err error) {
		n, err = f.readAt(p, off)
		if err == nil && n < len(p) {
			err = io.EOF
		}
		return err
	})
	return n, err
}

// Write writes on, or at the end of a file that is open for appending.
func (f *memFile) Write(p []byte) (n int, err error) {
	err = f.on(OpWrite, func() error {
		if f.flag&os.O_APPEND != 0 {
			f.off = int64(len(f.node.data))
		}
		if err := f.writeAt(p, f.off); err != nil {
			return err
		}
		n = len(p)
		f.off += int64(n)
		return nil
	})
	return n, err
}

// errAppendAt is what os.File says, too.
var errAppendAt = errors.New("WriteAt of a file opened with O_APPEND")

// WriteAt writes at an offset.
func (f *memFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.on(OpWrite, func() error {
		if f.flag&os.O_APPEND != 0 {
			return errAppendAt
		}
		if err := f.writeAt(p, off); err != nil {
			return err
		}
		n = len(p)
		return nil
	})
	return n, err
}

func (f *memFile) writeAt(p []byte, off int64) error {
	switch {
	case f.flag&(os.O_WRONLY|os.O_RDWR) == 0:
		return syscall.EBADF
	case off < 0:
		return syscall.EINVAL
	case len(p) == 0:
		return nil
	}
	n := f.node
	if end := off + int64(len(p)); end > int64(len(n.data)) {
		f.v.m.resize(n, end)
	}
	n.own()
	n.dropRights()
	copy(n.data[off:], p)
	for b := off / memBlock; b*memBlock < off+int64(len(p)); b++ {
		n.written[b] = true
	}
	f.v.m.touch(n)
	return nil
}

// own gives the content a copy of its own before it is changed.
func (n *memNode) own() {
	if n.shared {
		n.data = append(make([]byte, 0, cap(n.data)), n.data...)
		n.shared = false
	}
}

// resize sets the size of the content.
func (m *Mem) resize(n *memNode, size int64) {
	n.own()
	n.dropRights()
	if size <= int64(len(n.data)) {
		clear(n.data[size:]) // what a later growth shows
		n.data = n.data[:size]
	} else {
		n.data = append(n.data, make([]byte, size-int64(len(n.data)))...)
	}
	blocks := int((size + memBlock - 1) / memBlock)
	for len(n.written) < blocks {
		n.written = append(n.written, false)
	}
	n.written = n.written[:blocks]
	m.touch(n)
}

// Truncate sets the size.
func (f *memFile) Truncate(size int64) error {
	return f.on(OpTruncate, func() error {
		if size < 0 || f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
			return syscall.EINVAL
		}
		f.v.m.resize(f.node, size)
		return nil
	})
}

// Sync makes the content, or the entries of a directory, durable.
func (f *memFile) Sync() error {
	return f.on(OpSync, func() error {
		f.v.m.syncNode(f.node)
		return nil
	})
}

// Stat describes the open file.
func (f *memFile) Stat() (i Info, err error) {
	err = f.on(OpStat, func() error {
		i = f.node.info(f.name)
		return nil
	})
	return i, err
}

// Close closes it.
func (f *memFile) Close() error {
	f.v.m.mu.Lock()
	defer f.v.m.mu.Unlock()
	if f.closed {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	return nil
}
