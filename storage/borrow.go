package storage

import (
	"io"
	"os"
	"sync"
	"sync/atomic"

	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// borrowed is the file of PatchOptions.Near from which an outFile takes what
// has the right hash.
type borrowed struct {
	once sync.Once
	f    vfs.File    // nil: there is none
	vain atomic.Bool // it has other content: not worth another look
}

// open gives the file of the same path in near; nil if there is none, or
// nothing to be had from it.
func (b *borrowed) open(near vfs.Root, path string) vfs.File {
	b.once.Do(func() {
		if f, err := near.OpenFile(path, os.O_RDONLY, 0); err == nil {
			b.f = f
		}
	})
	if b.vain.Load() {
		return nil
	}
	return b.f
}

func (b *borrowed) close() {
	if b.f != nil {
		_ = b.f.Close()
	}
}

// borrow writes those blobs of the batch that the near directory has at the
// same place of the same file: they are read into memory and hashed there, so
// that it does not matter who writes to that file meanwhile.
func (w *filler) borrow() error {
	if w.near == nil || len(w.batch) == 0 {
		return nil
	}
	groups := stretches(w.batch, spanBytes, contiguous)
	buffers := sync.Pool{New: func() any { return new([]byte) }}
	err := parallel(w.ctx, len(groups), func(i int) error {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		return w.borrowGroup(groups[i], buf)
	})
	if err != nil {
		return err
	}
	w.dropPlaced()
	return nil
}

// borrowGroup does that for a stretch of a file, and takes what it wrote out
// of the batch. A file that cannot be read is one that has nothing.
func (w *filler) borrowGroup(g []fill, buf *[]byte) error {
	o := g[0].out
	f := o.source.open(w.near, o.path)
	if f == nil {
		return nil
	}
	last := g[len(g)-1]
	*buf = grow(*buf, int(last.off-g[0].off)+last.bytes)
	n, err := f.ReadAt(*buf, g[0].off)
	if err != nil && err != io.EOF {
		n = 0
	}
	data := (*buf)[:n]
	right := func(l leaf) bool {
		at := int(l.off - g[0].off)
		return at+l.bytes <= len(data) && pack.Sum(data[at:at+l.bytes]) == l.id
	}
	from, found := 0, false
	for i := 0; i <= len(g); i++ {
		if i < len(g) && right(g[i].leaf) {
			continue
		}
		if from < i {
			found = true
			start, end := g[from].off-g[0].off, g[i-1].off-g[0].off+int64(g[i-1].bytes)
			if err := w.writeAt(o, data[start:end], g[from].off); err != nil {
				return failed("write", o.path, err)
			}
			w.borrowed.Add(end - start)
		}
		for k := from; k < i; k++ {
			g[k].out = nil
		}
		from = i + 1
	}
	if !found {
		o.source.vain.Store(true)
	}
	return nil
}
