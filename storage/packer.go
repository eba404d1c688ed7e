package storage

import (
	"forklift/storage/internal/pack"
)

// packer fills frames for a writer. One goroutine uses it at a time.
type packer struct {
	w    *Writer
	near nearby
	in   pack.Packer
	out  pack.Packed
}

// put adds a blob that was claimed.
func (p *packer) put(id ID, data []byte) error {
	if !p.in.Fits(len(data)) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.in.Put(id, data)
	return nil
}

// flush writes the frame that is being filled.
func (p *packer) flush() error {
	if p.in.Empty() {
		return nil
	}
	p.in.Pack(&p.out)
	return p.w.append(&p.out)
}

// packer lends a packer to a goroutine; giveBack returns it, with its
// unfinished frame, to the next one.
func (w *Writer) packer() *packer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.idle); n > 0 {
		p := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return p
	}
	return &packer{w: w}
}

func (w *Writer) giveBack(p *packer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, p)
}
