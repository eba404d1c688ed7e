package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// Call is one call of an FS or File as a hook sees it.
type Call struct {
	Op   Op
	Name string // what it is about; in a Root with the Root's own name before it
	To   string // the new name of a rename or link, the target of a symlink
	Size int64  // bytes to read or write, or the size to truncate to
}

// String is a line for logs: the operation and its arguments.
func (c Call) String() string {
	switch c.Op {
	case OpRename, OpLink:
		return fmt.Sprintf("%s %s %s", c.Op, c.Name, c.To)
	case OpSymlink:
		return fmt.Sprintf("%s %s -> %s", c.Op, c.Name, c.To)
	case OpWrite, OpTruncate:
		return fmt.Sprintf("%s %s %d", c.Op, c.Name, c.Size)
	}
	return fmt.Sprintf("%s %s", c.Op, c.Name)
}

// ShortWrite, returned by a hook for a write, lets half of the bytes
// through before the write fails with Err.
type ShortWrite struct{ Err error }

// Error is that of Err.
func (s *ShortWrite) Error() string { return s.Err.Error() }

// Unwrap gives Err.
func (s *ShortWrite) Unwrap() error { return s.Err }

// Hook gives a file system that calls before in front of every call of
// base, its Roots and its files (but not Close, Name and Unlock). An error
// of before is the call's error, and base is not called. before is called
// from whichever goroutine makes the call; it may itself use base.
func Hook(base FS, before func(Call) error) FS {
	return &hookFS{base: base, before: before}
}

type hookFS struct {
	base   FS
	dir    string // the name of a Root
	before func(Call) error
}

type hookRoot struct {
	hookFS
	root Root
}

// full is the name of something with the Root's name before it.
func (h *hookFS) full(name string) string {
	if h.dir == "" {
		return name
	}
	return path.Join(h.dir, name)
}

func (h *hookFS) hook(c Call) error {
	err := h.before(c)
	var p *fs.PathError
	if err == nil || errors.As(err, &p) {
		return err
	}
	return pathError(string(c.Op), c.Name, err)
}

func (h *hookFS) call(op Op, name string) error {
	return h.hook(Call{Op: op, Name: h.full(name)})
}

// OpenFile implements FS.
func (h *hookFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	op := OpOpen
	if flag&os.O_CREATE != 0 {
		op = OpCreate
	} else if flag&os.O_TRUNC != 0 {
		op = OpTruncate
	}
	if err := h.call(op, name); err != nil {
		return nil, err
	}
	f, err := h.base.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &hookFile{File: f, h: h, name: h.full(name)}, nil
}

// Mkdir implements FS.
func (h *hookFS) Mkdir(name string, perm fs.FileMode) error {
	if err := h.call(OpMkdir, name); err != nil {
		return err
	}
	return h.base.Mkdir(name, perm)
}

// Remove implements FS.
func (h *hookFS) Remove(name string) error {
	if err := h.call(OpRemove, name); err != nil {
		return err
	}
	return h.base.Remove(name)
}

// Rename implements FS.
func (h *hookFS) Rename(oldname, newname string) error {
	if err := h.hook(Call{Op: OpRename, Name: h.full(oldname), To: h.full(newname)}); err != nil {
		return err
	}
	return h.base.Rename(oldname, newname)
}

// Link implements FS.
func (h *hookFS) Link(oldname, newname string) error {
	if err := h.hook(Call{Op: OpLink, Name: h.full(oldname), To: h.full(newname)}); err != nil {
		return err
	}
	return h.base.Link(oldname, newname)
}

// Symlink implements FS.
func (h *hookFS) Symlink(target, name string) error {
	if err := h.hook(Call{Op: OpSymlink, Name: h.full(name), To: target}); err != nil {
		return err
	}
	return h.base.Symlink(target, name)
}

// Readlink implements FS.
func (h *hookFS) Readlink(name string) (string, error) {
	if err := h.call(OpReadlink, name); err != nil {
		return "", err
	}
	return h.base.Readlink(name)
}

// Lstat implements FS.
func (h *hookFS) Lstat(name string) (Info, error) {
	if err := h.call(OpLstat, name); err != nil {
		return Info{}, err
	}
	return h.base.Lstat(name)
}

// ReadDir implements FS.
func (h *hookFS) ReadDir(name string) ([]Entry, error) {
	if err := h.call(OpReadDir, name); err != nil {
		return nil, err
	}
	return h.base.ReadDir(name)
}

// Chmod implements FS.
func (h *hookFS) Chmod(name string, mode fs.FileMode) error {
	if err := h.call(OpChmod, name); err != nil {
		return err
	}
	return h.base.Chmod(name, mode)
}

// Chown implements FS.
func (h *hookFS) Chown(name string, uid, gid int) error {
	if err := h.call(OpChown, name); err != nil {
		return err
	}
	return h.base.Chown(name, uid, gid)
}

// Chtimes implements FS.
func (h *hookFS) Chtimes(name string, mtime int64) error {
	if err := h.call(OpUtimes, name); err != nil {
		return err
	}
	return h.base.Chtimes(name, mtime)
}

// Xattrs implements FS.
func (h *hookFS) Xattrs(name string) ([]Xattr, error) {
	if err := h.call(OpXattrs, name); err != nil {
		return nil, err
	}
	return h.base.Xattrs(name)
}

// SetXattr implements FS.
func (h *hookFS) SetXattr(name string, x Xattr) error {
	if err := h.call(OpSetXattr, name); err != nil {
		return err
	}
	return h.base.SetXattr(name, x)
}

// SyncDir implements FS.
func (h *hookFS) SyncDir(name string) error {
	if err := h.call(OpSyncDir, name); err != nil {
		return err
	}
	return h.base.SyncDir(name)
}

// SyncFS implements FS.
func (h *hookFS) SyncFS(name string) error {
	if err := h.call(OpSyncFS, name); err != nil {
		return err
	}
	return h.base.SyncFS(name)
}

// Space implements FS.
func (h *hookFS) Space(name string) (Space, error) {
	if err := h.call(OpSpace, name); err != nil {
		return Space{}, err
	}
	return h.base.Space(name)
}

// Lock implements FS. A lock whose file is absent is a create, too.
func (h *hookFS) Lock(name string, exclusive bool) (Lock, error) {
	if err := h.call(OpLock, name); err != nil {
		return nil, err
	}
	if _, err := h.base.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := h.call(OpCreate, name); err != nil {
			return nil, err
		}
	}
	return h.base.Lock(name, exclusive)
}

// OpenRoot implements FS.
func (h *hookFS) OpenRoot(name string) (Root, error) {
	if err := h.call(OpOpenRoot, name); err != nil {
		return nil, err
	}
	r, err := h.base.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &hookRoot{hookFS{base: r, dir: h.full(name), before: h.before}, r}, nil
}

// Close implements Root.
func (h *hookRoot) Close() error { return h.root.Close() }

// hookFile is an open file of a hooked file system.
type hookFile struct {
	File
	h    *hookFS
	name string
}

// OSFile passes on what the base's file has, nil if it is not of the OS.
func (f *hookFile) OSFile() *os.File {
	if b, ok := f.File.(interface{ OSFile() *os.File }); ok {
		return b.OSFile()
	}
	return nil
}

func (f *hookFile) call(op Op, size int64) error {
	return f.h.hook(Call{Op: op, Name: f.name, Size: size})
}

// write makes a write that the hook may cut short.
func (f *hookFile) write(p []byte, write func([]byte) (int, error)) (int, error) {
	hooked := f.call(OpWrite, int64(len(p)))
	var short *ShortWrite
	switch {
	case hooked == nil:
		return write(p)
	case !errors.As(hooked, &short):
		return 0, hooked
	}
	n, err := write(p[:len(p)/2])
	if err == nil {
		err = pathError(string(OpWrite), f.name, short.Err)
	}
	return n, err
}

// Read implements File.
func (f *hookFile) Read(p []byte) (int, error) {
	if err := f.call(OpRead, int64(len(p))); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

// ReadAt implements File.
func (f *hookFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.call(OpRead, int64(len(p))); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

// Write implements File.
func (f *hookFile) Write(p []byte) (int, error) {
	return f.write(p, f.File.Write)
}

// WriteAt implements File.
func (f *hookFile) WriteAt(p []byte, off int64) (int, error) {
	return f.write(p, func(p []byte) (int, error) { return f.File.WriteAt(p, off) })
}

// Truncate implements File.
func (f *hookFile) Truncate(size int64) error {
	if err := f.call(OpTruncate, size); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync implements File.
func (f *hookFile) Sync() error {
	if err := f.call(OpSync, 0); err != nil {
		return err
	}
	return f.File.Sync()
}

// Stat implements File.
func (f *hookFile) Stat() (Info, error) {
	if err := f.call(OpStat, 0); err != nil {
		return Info{}, err
	}
	return f.File.Stat()
}
