package storage

import (
	"context"
	"io"
	"io/fs"
	"os"

	"forklift/storage/failpoint"
	"forklift/storage/vfs"
)

// ExtractFile is a file to be written under a name of the caller's.
type ExtractFile struct {
	Entry Entry  // of a regular file
	Name  string // relative to the root; its directory exists, it does not
}

// Extract writes the content of regular files under other names than they
// have in their tree: to be looked at, and moved into place, by the caller.
// Files are created with mode 0600 and their holes, without times and attributes,
// and nothing is flushed. After an error any of them may exist.
func (s *Store) Extract(ctx context.Context, root vfs.Root, files []ExtractFile) error {
	release, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	defer failpoint.Bulk()()
	w := &filler{s: s, ctx: ctx, report: newReporter(ctx)}
	err = s.extract(w, root, files)
	if err == nil {
		err = w.flush(true)
	}
	if err != nil {
		w.close()
		return failed("extract", "", err)
	}
	w.report.done()
	return nil
}

func (s *Store) extract(w *filler, root vfs.Root, files []ExtractFile) error {
	var dir *openDir
	defer func() {
		if dir != nil {
			dir.leave()
		}
	}()
	for i := range files {
		f := &files[i]
		if f.Entry.Type != Regular {
			return misuse("extract", f.Entry.Path, "%s is not a regular file", f.Entry.Path)
		}
		parent := parentPath(f.Name)
		if dir == nil || dir.path != parent {
			sub, err := root.OpenRoot(parent)
			if err != nil {
				return failed("open", parent, err)
			}
			if dir != nil {
				dir.leave()
			}
			dir = &openDir{Root: sub, path: parent}
			dir.use()
		}
		dir.use()
		o := &outFile{dir: dir, name: baseName(f.Name), path: f.Name, entry: &f.Entry,
			create: true, perm: fs.FileMode(0o600)}
		err := w.begin(o)
		if err == nil {
			err = s.leaves(f.Entry.Content, f.Entry.Size, func(l leaf) error { return w.add(l, false) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// HashFile gives the reference to the content of a file, as a scan that cuts
// by unit would make it, and its size, without storing anything: to be
// compared with an entry. A file that changes meanwhile gives a reference to
// what was read.
func (s *Store) HashFile(ctx context.Context, root vfs.Root, path string, unit Unit) (Content, int64, error) {
	f, err := root.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return Content{}, 0, failed("read", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.IsRegular() {
		err = misuse("read", path, "%s is not a regular file", path)
	}
	if err != nil {
		return Content{}, 0, failed("read", path, err)
	}
	c := newCutter(hashOnly{}, unit)
	defer c.free()
	content, n, err := c.stream(&untilDone{ctx, f}, nil)
	return content, n, failed("read", path, err)
}

// untilDone is a Reader that ends with its context.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read reads on.
func (u *untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// Content stores the bytes of one file that does not come from a scan, and
// gives the reference to them and their number.
func (w *Writer) Content(ctx context.Context, r io.Reader, unit Unit) (Content, int64, error) {
	if unit != Pages && unit != Chunks {
		return Content{}, 0, misuse("store content", "", "unknown unit %d", unit)
	}
	defer failpoint.Bulk()()
	p := w.packer()
	defer w.giveBack(p)
	c := newCutter(p, unit)
	defer c.free()
	content, n, err := c.stream(&untilDone{ctx, r}, nil)
	return content, n, failed("store content", "", err)
}
