package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// Writer adds blobs and manifests to the store: one capture. Until Commit
// nothing of it can be found by anybody. Its methods may be called from
// several goroutines, Commit and Abort only after the others returned.
//
// It holds the store's lock shared until Abort, also after Commit, so that
// what it stored stays until a pair names it.
type Writer struct {
	s       *Store
	release func()

	mu     sync.Mutex // guards what follows
	state  writerState
	failed error           // the first failure to write; nothing works after it
	seen   map[ID]struct{} // blobs that this writer stores
	work   *workDir
	pack   *pack.Builder // nil between packs
	file   vfs.File
	sealed []sealedPack
	named  []ID  // packs that Commit has published
	stored int64 // bytes of packs and of their index entries
	idle   []*packer

	metaMu sync.Mutex
	meta   *packer // nodes are packed apart from content: walks read only them
}

// writerState is what has become of a writer.
type writerState uint8

const (
	writerOpen writerState = iota
	writerCommitted
	writerAborted
)

// sealedPack is a pack that is complete but has no name yet.
type sealedPack struct {
	pack.Summary
	file vfs.File
}

// NewWriter begins a capture, and removes what writers that were killed left
// behind. Nothing is written before there is something to store. Abort must
// follow.
func (s *Store) NewWriter(ctx context.Context) (*Writer, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.blobs.load(); err != nil {
		release()
		return nil, err
	}
	s.removeAbandoned()
	w := &Writer{s: s, release: release, seen: map[ID]struct{}{}}
	w.meta = &packer{w: w}
	return w, nil
}

// claim says whether the caller must store a blob: neither the store nor
// this writer has it. The answer is given once for each blob. near is the
// caller's own.
func (w *Writer) claim(id ID, near *nearby) (bool, error) {
	w.mu.Lock()
	_, seen := w.seen[id]
	w.mu.Unlock()
	if seen {
		return false, nil
	}
	known, err := near.known(&w.s.blobs, id)
	if known || err != nil {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, seen = w.seen[id]; seen {
		return false, nil
	}
	w.seen[id] = struct{}{}
	return true, nil
}

// has says whether the store or this writer has a blob.
func (w *Writer) has(id ID) (bool, error) {
	w.mu.Lock()
	_, seen := w.seen[id]
	w.mu.Unlock()
	if seen {
		return true, nil
	}
	return w.s.blobs.known(id)
}

// node stores a node.
func (w *Writer) node(data []byte) (ID, error) {
	id := pack.Sum(data)
	fresh, err := w.claim(id, new(nearby))
	if err != nil || !fresh {
		return id, err
	}
	w.metaMu.Lock()
	defer w.metaMu.Unlock()
	return id, w.meta.put(id, data)
}

// append writes a frame to the pack.
func (w *Writer) append(f *pack.Packed) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.appendLocked(f); err != nil {
		w.failed = failed("write pack", w.s.path(tmpDir), err)
		return w.failed
	}
	return nil
}

// usable says why nothing can be written any more.
func (w *Writer) usable() error {
	if w.failed != nil {
		return w.failed
	}
	if w.state != writerOpen {
		return errors.New("write to the store: the writer has ended")
	}
	return nil
}

func (w *Writer) appendLocked(f *pack.Packed) error {
	if w.pack != nil && w.pack.Full() {
		if err := w.seal(); err != nil {
			return err
		}
	}
	if w.pack == nil {
		if w.work == nil {
			work, err := w.s.newWorkDir()
			if err != nil {
				return err
			}
			w.work = work
		}
		name := path.Join(w.work.dir, fmt.Sprintf("%d%s", len(w.sealed), packSuffix))
		file, err := w.s.fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		w.file = file
		if w.pack, err = pack.NewBuilder(file); err != nil {
			return err
		}
	}
	return w.pack.Add(f)
}

// seal completes the pack that is being written.
func (w *Writer) seal() error {
	sum, err := w.pack.Finish()
	if err != nil {
		return err
	}
	w.sealed = append(w.sealed, sealedPack{sum, w.file})
	w.stored += sum.Bytes
	w.pack, w.file = nil, nil
	return nil
}

// AddedBytes is how many bytes this writer added to the store: its packs and
// their index entries. It is final after Commit.
func (w *Writer) AddedBytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.stored
	if w.pack != nil {
		n += w.pack.Bytes()
	}
	return n
}

// Abort ends the writer and releases the store's lock. What was not
// committed is removed; after Commit nothing is. It may be called twice.
func (w *Writer) Abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.release == nil {
		return
	}
	if w.state == writerOpen {
		w.state = writerAborted
		w.dropFiles()
	}
	w.release()
	w.release = nil
}

// dropFiles closes and removes what is in the working directory.
func (w *Writer) dropFiles() {
	for _, p := range w.sealed {
		if p.file != nil {
			_ = p.file.Close()
		}
	}
	if w.file != nil {
		_ = w.file.Close()
	}
	w.sealed, w.file, w.pack = nil, nil, nil
	if w.work != nil {
		w.work.remove()
		w.work = nil
	}
}
