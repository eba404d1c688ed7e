package vfs

import (
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// diskFile is an open file of the disk.
type diskFile struct {
	f    *os.File
	name string
}

// OpenFile opens or creates a file; see FS.
func (d *disk) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&os.O_CREATE != 0 {
		hit(OpCreate, name)
	} else if flag&os.O_TRUNC != 0 {
		hit(OpTruncate, name)
	}
	f := &diskFile{name: name}
	err := d.in(OpOpen, name, func(p place) error {
		fd, err := openat(p.fd, p.base, flag, Bits(perm))
		if err != nil {
			return err
		}
		f.f = os.NewFile(uintptr(fd), name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OSFile is the operating system's file, for calls that FS does not have
// (cloning). Files of OS have this method, others do not.
func (f *diskFile) OSFile() *os.File { return f.f }

// Name is the name it was opened by.
func (f *diskFile) Name() string { return f.name }

// Read reads on.
func (f *diskFile) Read(p []byte) (int, error) { return f.f.Read(p) }

// ReadAt reads at an offset.
func (f *diskFile) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// Write writes on.
func (f *diskFile) Write(p []byte) (int, error) {
	hit(OpWrite, f.name)
	return f.f.Write(p)
}

// WriteAt writes at an offset.
func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	hit(OpWrite, f.name)
	return f.f.WriteAt(p, off)
}

// Truncate sets the size.
func (f *diskFile) Truncate(size int64) error {
	hit(OpTruncate, f.name)
	return f.f.Truncate(size)
}

// Sync makes the content durable (fsync; F_FULLFSYNC on macOS).
func (f *diskFile) Sync() error {
	hit(OpSync, f.name)
	return f.f.Sync()
}

// Stat describes the open file.
func (f *diskFile) Stat() (Info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(f.f.Fd()), &st) })
	runtime.KeepAlive(f.f)
	if err != nil {
		return Info{}, pathError("stat", f.name, err)
	}
	return infoOf(f.name, &st), nil
}

// Close closes it.
func (f *diskFile) Close() error { return f.f.Close() }
