package storage

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"forklift/storage/durable"
	"forklift/storage/vfs"
)

// outFile is a file that is being filled.
type outFile struct {
	dir    *openDir
	name   string // in dir
	path   string // for errors
	entry  *Entry
	create bool // it does not exist yet
	exact  bool // its mode, times and attributes become those of the entry
	perm   fs.FileMode
	wrote  atomic.Bool  // something of it was written
	dirty  atomic.Int64 // bytes that were written since the start of the last write-out
	begun  atomic.Bool  // a write-out was started: finish waits for it
	ended  bool
	source borrowed

	once sync.Once
	f    vfs.File
	err  error
}

// writeOutBytes is how much of a file is written before the disk is set to
// work on it, while what follows is still being decoded.
const writeOutBytes = 8 << 20

// written notes n bytes, and starts to write them out when they have become
// many. Who flushes the file system later would not be told of an error of
// that if somebody else was before; so finish asks the file itself.
func (o *outFile) written(f vfs.File, n int64) {
	o.wrote.Store(true)
	if o.dirty.Add(n) < writeOutBytes {
		return
	}
	o.dirty.Store(0)
	o.begun.Store(true)
	durable.BeginSync(f)
}

// open opens the file when its first byte is written, or at its end.
func (o *outFile) open() (vfs.File, error) {
	o.once.Do(func() {
		if o.f != nil {
			return // it was open from the start
		}
		o.f, o.err = o.dir.OpenFile(o.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, o.perm)
		if o.err == nil && o.entry.Sparse {
			o.err = o.f.Truncate(o.entry.Size) // holes at the end are never written
		}
	})
	return o.f, o.err
}

// finish closes the file and gives it what is not content.
func (o *outFile) finish() error {
	f, err := o.open()
	if err != nil {
		return err
	}
	o.ended = true
	o.source.close()
	defer o.dir.leave()
	info, err := f.Stat()
	if err == nil && info.Size != o.entry.Size {
		if err = f.Truncate(o.entry.Size); err == nil {
			info, err = f.Stat() // what is written to may lose setuid and setgid
		}
	}
	if err == nil && o.begun.Load() {
		err = durable.EndSync(f)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil || !o.exact {
		return err
	}
	return setAttributes(o.dir, o.name, o.entry, info, o.create)
}

// setAttributes makes the mode, times and extended attributes of a file
// those of its entry. Attributes that the entry does not name stay.
func setAttributes(dir vfs.FS, name string, e *Entry, is vfs.Info, created bool) error {
	var had []vfs.Xattr
	if !created && len(e.Xattrs) > 0 {
		var err error
		if had, err = dir.Xattrs(name); err != nil {
			return err
		}
	}
	for _, x := range e.Xattrs {
		same := func(h vfs.Xattr) bool { return h.Name == x.Name && bytes.Equal(h.Value, x.Value) }
		if slices.ContainsFunc(had, same) {
			continue
		}
		if err := dir.SetXattr(name, vfs.Xattr(x)); err != nil {
			return err
		}
	}
	if want := KeptMode(is, e.Mode); is.Bits() != want {
		if err := dir.Chmod(name, vfs.FileMode(want)); err != nil {
			return err
		}
	}
	if e.Mtime != 0 && e.Mtime != is.Mtime {
		return dir.Chtimes(name, e.Mtime)
	}
	return nil
}

func writeFull(f vfs.File, data []byte, off int64) error {
	n, err := f.WriteAt(data, off)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}
