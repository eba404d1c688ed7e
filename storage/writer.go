package storage

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"

	"forklift/storage/durable"
	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// writerTries bounds the search for a working directory: another process
// that cleans up can take one that is not locked yet.
const writerTries = 10

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

// workDir is a directory under tmp/ with its lock. Whoever can take the lock
// of such a directory may remove it: its owner is gone.
type workDir struct {
	fs   vfs.FS
	dir  string
	lock vfs.Lock
}

// workLock is the name of the lock in a working directory.
const workLock = "lock"

// newWorkDir makes a working directory.
func (s *Store) newWorkDir() (*workDir, error) {
	for range writerTries {
		var random [8]byte
		_, _ = rand.Read(random[:])
		dir := s.path(tmpDir, hex.EncodeToString(random[:]))
		// Until the lock is held the directory may be removed at any moment by
		// a writer that cleans up.
		err := s.fs.Mkdir(dir, dirPerm)
		if err == nil {
			var lock vfs.Lock
			if lock, err = s.fs.Lock(path.Join(dir, workLock), true); err == nil {
				return &workDir{s.fs, dir, lock}, nil
			}
		}
		if !errors.Is(err, vfs.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, errors.New("other processes remove each working directory that is made")
}

// remove removes the directory and what is in it. It is never needed again,
// so nothing is synced: a crash leaves it for the next writer to remove.
func (d *workDir) remove() {
	if list, err := d.fs.ReadDir(d.dir); err == nil {
		for _, e := range list {
			_ = d.fs.Remove(path.Join(d.dir, e.Name))
		}
	}
	_ = d.fs.Remove(d.dir)
	_ = d.lock.Unlock()
}

// removeAbandoned removes the working directories whose locks are free.
// What cannot be removed now stays for the next time.
func (s *Store) removeAbandoned() {
	list, err := s.fs.ReadDir(s.path(tmpDir))
	if err != nil {
		return
	}
	for _, e := range list {
		dir := s.path(tmpDir, e.Name)
		if !e.Type.IsDir() {
			continue
		}
		lock, err := s.fs.Lock(path.Join(dir, workLock), true)
		if err != nil {
			continue
		}
		_ = durable.RemoveAll(s.fs, dir)
		_ = lock.Unlock()
	}
}
