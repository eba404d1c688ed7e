package storage

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"forklift/storage/internal/pack"

	"github.com/restic/chunker"
)

// How source files are cut. The numbers are the format: others would store
// everything again.
const (
	// MinChunkedBytes is the size from which a file of unit Chunks is cut.
	MinChunkedBytes = 1 << 20
	// minChunk and maxChunk bound a chunk; chunkBits zero bits of the rolling
	// hash end one: about 768 KiB on average.
	minChunk  = 256 << 10
	maxChunk  = 2 << 20
	chunkBits = 19
	// chunkPol is the polynomial of the rolling hash, an irreducible one of
	// degree 53 as package chunker wants it.
	chunkPol = chunker.Pol(0x3DA3358B4DC173)
	// holeBytes is the length of zeros from which a hole is worth keeping.
	holeBytes = 64 << 10
)

// spanBytes is how much a full span of pages covers.
const spanBytes = contentFanOut * PageBytes

// sink takes what a cutter cuts.
type sink interface {
	// claim says whether put must follow for a blob.
	claim(id ID) (bool, error)
	put(id ID, data []byte) error
	node(data []byte) (ID, error)
}

// hashOnly is a sink that keeps nothing.
type hashOnly struct{}

func (hashOnly) claim(ID) (bool, error)       { return false, nil }
func (hashOnly) put(ID, []byte) error         { return nil }
func (hashOnly) node(data []byte) (ID, error) { return pack.Sum(data), nil }

func (p *packer) claim(id ID) (bool, error)    { return p.w.claim(id, &p.near) }
func (p *packer) node(data []byte) (ID, error) { return p.w.node(data) }

// cutter cuts the bytes of files into blobs. One goroutine uses it.
type cutter struct {
	sink  sink
	unit  Unit
	buf   []byte // of a span, or of a whole file
	chunk []byte
	rabin *chunker.Chunker
	refs  []contentRef
	holes bool // the file has a stretch of zeros worth a hole
}

// cutters keeps cutters with their buffers, up to 4 MiB each, for the next
// file.
var cutters = sync.Pool{New: func() any { return new(cutter) }}

// newCutter gives a cutter for a sink; free returns it.
func newCutter(s sink, unit Unit) *cutter {
	c := cutters.Get().(*cutter)
	c.sink, c.unit = s, unit
	return c
}

func (c *cutter) free() {
	c.sink = nil
	cutters.Put(c)
}

// hints are the spans of a file as it was before, to compare with. They are
// in the store, blobs and all.
type hints struct {
	spans []contentRef
	read  func(span contentRef) ([]contentRef, error)
}

// at gives span i and its pages; nothing if it cannot be told.
func (h *hints) at(i int) (contentRef, []contentRef) {
	if h == nil || i >= len(h.spans) {
		return contentRef{}, nil
	}
	refs, err := h.read(h.spans[i])
	if err != nil {
		return contentRef{}, nil // a hint that is gone costs a look-up for each page
	}
	return h.spans[i], refs
}

// grow gives a buffer of n bytes.
func grow(buf []byte, n int) []byte {
	if cap(buf) < n {
		return make([]byte, n)
	}
	return buf[:n]
}

// stream cuts everything that r gives: one file.
func (c *cutter) stream(r io.Reader, h *hints) (Content, int64, error) {
	c.holes = false
	b := contentBuilder{unit: c.unit, put: c.sink.node}
	var n int64
	var err error
	if c.unit == Pages {
		n, err = c.pages(r, 0, h, func(level int, ref contentRef) error { return b.add(level, ref) })
	} else {
		n, err = c.chunks(r, func(ref contentRef) error { return b.add(0, ref) })
	}
	if err != nil {
		return Content{}, 0, err
	}
	content, err := b.finish()
	return content, n, err
}

// pages cuts r, which begins at span first of a file, into pages and emits
// the spans (level 1), or the page (level 0) if the file is no longer.
func (c *cutter) pages(r io.Reader, first int, h *hints, emit func(level int, ref contentRef) error) (int64, error) {
	c.buf = grow(c.buf, spanBytes)
	var total int64
	for i := first; ; i++ {
		n, err := io.ReadFull(r, c.buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, err
		}
		if n > 0 {
			level, ref, err := c.span(c.buf[:n], i, h)
			if err == nil {
				err = emit(level, ref)
			}
			if err != nil {
				return 0, err
			}
		}
		total += int64(n)
		if err != nil {
			return total, nil
		}
	}
}

// span stores the pages of span i.
func (c *cutter) span(data []byte, i int, h *hints) (int, contentRef, error) {
	if i == 0 && len(data) <= PageBytes {
		ref, err := c.blob(data)
		return 0, ref, err
	}
	before, pages := h.at(i)
	same := before.bytes == int64(len(data))
	c.refs = c.refs[:0]
	for k := 0; len(data) > 0; k++ {
		page := data[:min(PageBytes, len(data))]
		data = data[len(page):]
		id := pack.Sum(page)
		c.refs = append(c.refs, contentRef{id, int64(len(page))})
		if k < len(pages) && pages[k].id == id {
			continue
		}
		same = false
		if err := c.store(id, page); err != nil {
			return 0, contentRef{}, err
		}
	}
	if same {
		return 1, before, nil
	}
	ref := contentRef{}
	for _, r := range c.refs {
		ref.bytes += r.bytes
	}
	var err error
	ref.id, err = c.sink.node(encodeContent(Pages, 1, c.refs))
	return 1, ref, err
}

// blob stores one blob.
func (c *cutter) blob(data []byte) (contentRef, error) {
	id := pack.Sum(data)
	return contentRef{id, int64(len(data))}, c.store(id, data)
}

func (c *cutter) store(id ID, data []byte) error {
	fresh, err := c.sink.claim(id)
	if err != nil || !fresh {
		return err
	}
	return c.sink.put(id, data)
}

// chunks cuts r where its content says, if it is long.
func (c *cutter) chunks(r io.Reader, emit func(contentRef) error) (int64, error) {
	c.buf = grow(c.buf, MinChunkedBytes)
	n, err := io.ReadFull(r, c.buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		if n == 0 {
			return 0, nil
		}
		return int64(n), c.chunkOf(c.buf[:n], emit)
	}
	if err != nil {
		return 0, err
	}
	r = io.MultiReader(bytes.NewReader(c.buf), r)
	if c.rabin == nil {
		c.rabin = chunker.NewWithBoundaries(r, chunkPol, minChunk, maxChunk)
	} else {
		c.rabin.ResetWithBoundaries(r, chunkPol, minChunk, maxChunk)
	}
	c.rabin.SetAverageBits(chunkBits)
	c.chunk = grow(c.chunk, maxChunk)
	var total int64
	for {
		piece, err := c.rabin.Next(c.chunk[:0])
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return 0, err
		}
		if err := c.chunkOf(piece.Data, emit); err != nil {
			return 0, err
		}
		total += int64(len(piece.Data))
	}
}

func (c *cutter) chunkOf(data []byte, emit func(contentRef) error) error {
	c.holes = c.holes || hasHole(data)
	ref, err := c.blob(data)
	if err != nil {
		return err
	}
	return emit(ref)
}

// zeros is a stretch of zeros to compare with.
var zeros [holeBytes]byte

// zeroPage is the ID of a page of zeros.
var zeroPage = pack.Sum(zeros[:PageBytes])

// hasHole says whether an aligned stretch of holeBytes in data is zero.
func hasHole(data []byte) bool {
	for len(data) >= holeBytes {
		if data[0] == 0 && bytes.Equal(data[:holeBytes], zeros[:]) {
			return true
		}
		data = data[holeBytes:]
	}
	return false
}
