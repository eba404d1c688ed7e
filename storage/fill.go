package storage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"forklift/storage/internal/pack"
	"forklift/storage/vfs"

	"golang.org/x/sync/errgroup"
)

// Limits of a batch: how much is written between two looks at the plan.
const (
	batchBytes = 64 << 20
	batchFiles = 256
)

// fillWorkers is how many goroutines decode and write: designed for two cores.
const fillWorkers = 2

// fill is a blob that belongs at a place of a file.
type fill struct {
	leaf
	out   *outFile
	check bool // perhaps it is there already: read and compare first
	place place
	order int // of the file in the batch
}

// filler writes blobs into files, in batches: within one, frames are read in
// order and each is decoded once.
type filler struct {
	s      *Store
	ctx    context.Context
	near   vfs.Root // see PatchOptions
	verify float64  // share of what is written that is read back
	report *reporter

	batch []fill
	files []*outFile // of the batch, in order; the last one may get more
	bytes int

	changed int // files that were created or written to

	written, read, borrowed atomic.Int64
}

// begin starts a file, whose directory the filler leaves in the end; its
// blobs follow with add.
func (w *filler) begin(o *outFile) error {
	var err error
	if len(w.files) >= batchFiles {
		err = w.flush(true)
	}
	w.files = append(w.files, o)
	return err
}

// add puts a blob into the file that was begun last.
func (w *filler) add(l leaf, check bool) error {
	if w.bytes+l.bytes > batchBytes && w.bytes > 0 {
		if err := w.flush(false); err != nil {
			return err
		}
	}
	w.batch = append(w.batch, fill{leaf: l, out: w.files[len(w.files)-1], check: check, order: len(w.files)})
	w.bytes += l.bytes
	return nil
}

// flush writes the batch and ends its files, but for the last one unless
// all are complete.
func (w *filler) flush(all bool) error {
	if err := w.compare(); err != nil {
		return err
	}
	if err := w.borrow(); err != nil {
		return err
	}
	if err := w.write(); err != nil {
		return err
	}
	w.batch, w.bytes = w.batch[:0], 0
	n := len(w.files)
	if !all {
		n--
	}
	ending := w.files[:n]
	err := parallel(w.ctx, len(ending), func(i int) error {
		return failed("write", ending[i].path, ending[i].finish())
	})
	if err != nil {
		return err
	}
	for _, o := range ending {
		if o.wrote.Load() || o.create {
			w.changed++
		}
		w.report.add(o.entry.Size, 1)
	}
	w.files = slices.Clone(w.files[n:])
	return nil
}

// close lets go of the files after a failure.
func (w *filler) close() {
	for _, o := range w.files {
		if o.ended {
			continue
		}
		if o.f != nil {
			_ = o.f.Close()
		}
		o.source.close()
		o.dir.leave()
	}
}

// parallel calls do for 0 to n-1 on all workers.
func parallel(ctx context.Context, n int, do func(i int) error) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(fillWorkers, n) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := do(i); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// stretches cuts fills into groups that are read or written at once: those
// for which joins says so of neighbours, up to limit bytes.
func stretches(fills []fill, limit int, joins func(a, b *fill) bool) [][]fill {
	var groups [][]fill
	for len(fills) > 0 {
		n, size := 1, fills[0].bytes
		for n < len(fills) && size+fills[n].bytes <= limit && joins(&fills[n-1], &fills[n]) {
			size += fills[n].bytes
			n++
		}
		groups = append(groups, fills[:n])
		fills = fills[n:]
	}
	return groups
}

// contiguous says whether b continues a in the same file.
func contiguous(a, b *fill) bool { return a.out == b.out && a.off+int64(a.bytes) == b.off }

// compare drops the blobs that are there already.
func (w *filler) compare() error {
	groups := stretches(w.batch, spanBytes, func(a, b *fill) bool { return a.check && b.check && contiguous(a, b) })
	groups = slices.DeleteFunc(groups, func(g []fill) bool { return !g[0].check })
	if len(groups) == 0 {
		return nil
	}
	buffers := sync.Pool{New: func() any { return new([]byte) }}
	err := parallel(w.ctx, len(groups), func(i int) error {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		return w.compareGroup(groups[i], buf)
	})
	if err != nil {
		return err
	}
	w.dropPlaced()
	return nil
}

// dropPlaced takes out of the batch what is in its place: that has lost its file.
func (w *filler) dropPlaced() {
	w.batch = slices.DeleteFunc(w.batch, func(f fill) bool { return f.out == nil })
}

// compareGroup reads a stretch of a file and takes out of the batch what is
// right.
func (w *filler) compareGroup(g []fill, buf *[]byte) error {
	o := g[0].out
	size := 0
	for _, f := range g {
		size += f.bytes
	}
	*buf = grow(*buf, size)
	f, err := o.open()
	if err != nil {
		return failed("read", o.path, err)
	}
	n, err := f.ReadAt(*buf, g[0].off)
	if err != nil && err != io.EOF {
		return failed("read", o.path, err)
	}
	w.read.Add(int64(n))
	at := 0
	for i := range g {
		end := at + g[i].bytes
		if end <= n && pack.Sum((*buf)[at:end]) == g[i].id {
			g[i].out = nil
		}
		at = end
	}
	return nil
}

// write reads the frames of the batch and writes its blobs.
func (w *filler) write() error {
	var near nearby
	for i := range w.batch {
		f := &w.batch[i]
		p, err := near.find(&w.s.blobs, f.id)
		if err != nil {
			return failed("restore", f.out.path, err)
		}
		if f.place = p; p.rows[p.slot].Bytes != uint32(f.bytes) {
			return corrupt("restore", f.out.path, "blob %s has %d bytes where %d belong", f.id, p.rows[p.slot].Bytes, f.bytes)
		}
	}
	slices.SortFunc(w.batch, func(a, b fill) int {
		return cmp.Or(slices.Compare(a.place.pack[:], b.place.pack[:]), cmp.Compare(a.place.Offset, b.place.Offset),
			cmp.Compare(a.order, b.order), cmp.Compare(a.off, b.off))
	})
	frames := stretches(w.batch, 1<<62, func(a, b *fill) bool { return a.place.key() == b.place.key() })
	buffers := sync.Pool{New: func() any { return new(pack.Buffer) }}
	return parallel(w.ctx, len(frames), func(i int) error {
		buf := buffers.Get().(*pack.Buffer)
		defer buffers.Put(buf)
		return w.writeFrame(frames[i], buf)
	})
}

// writeFrame writes the blobs that are in one frame.
func (w *filler) writeFrame(fills []fill, buf *pack.Buffer) error {
	p := fills[0].place
	r, err := w.s.blobs.packs.open(p.pack)
	if err != nil {
		return err
	}
	defer w.s.blobs.packs.release(p.pack)
	data, err := r.Frame(p.Frame, buf)
	if err != nil {
		return err
	}
	name := packName(w.s.dir, p.pack)
	starts := make([]int, len(p.rows))
	verified := make([]bool, len(p.rows))
	at := 0
	for i, row := range p.rows {
		starts[i] = at
		at += int(row.Bytes)
	}
	for _, f := range fills {
		if verified[f.place.slot] {
			continue
		}
		if _, err := pack.Blob(name, data, p.rows, f.place.slot); err != nil {
			return failed("restore", f.out.path, err)
		}
		verified[f.place.slot] = true
	}
	// Pages that are neighbours in the file mostly are so in the frame.
	joins := func(a, b *fill) bool { return contiguous(a, b) && a.place.slot+1 == b.place.slot }
	for _, g := range stretches(fills, 1<<62, joins) {
		from := starts[g[0].place.slot]
		last := g[len(g)-1]
		piece := data[from : starts[last.place.slot]+last.bytes]
		if err := w.writeAt(g[0].out, piece, g[0].off); err != nil {
			return failed("write", g[0].out.path, err)
		}
	}
	return nil
}

// errReadBack says that the disk does not give what was written.
var errReadBack = errors.New("it reads back otherwise than it was written")

// writeAt writes a stretch of a file.
func (w *filler) writeAt(o *outFile, data []byte, off int64) error {
	f, err := o.open()
	if err != nil {
		return err
	}
	if o.entry.Sparse && o.create {
		o.wrote.Store(true)
		return w.writeAround(f, data, off)
	}
	if err := writeFull(f, data, off); err != nil {
		return err
	}
	o.written(f, int64(len(data)))
	w.written.Add(int64(len(data)))
	if w.verify < 1 && rand.Float64() >= w.verify {
		return nil
	}
	back := make([]byte, len(data))
	n, err := f.ReadAt(back, off)
	if err != nil && err != io.EOF {
		return err
	}
	w.read.Add(int64(n))
	if n < len(back) || !bytes.Equal(back, data) {
		return corrupt("verify", o.path, "%w", errReadBack)
	}
	return nil
}

// writeAround writes what is not zero and leaves holes.
func (w *filler) writeAround(f vfs.File, data []byte, off int64) error {
	for len(data) > 0 {
		n := min(len(data), holeBytes)
		if !bytes.Equal(data[:n], zeros[:n]) {
			if err := writeFull(f, data[:n], off); err != nil {
				return err
			}
			w.written.Add(int64(n))
		}
		data, off = data[n:], off+int64(n)
	}
	return nil
}
