package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"forklift/storage/durable"
	"forklift/storage/internal/index"
	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// Commit makes everything that the writer was given durable and findable:
// the packs are flushed and get their names, are read back and every blob of
// them is verified, then an index that names them is flushed.
//
// After nil all of it is durable. After an error or a crash nothing of it can
// be found; packs without an index may be left, which prune removes. Nothing
// new means that no file is written. Abort must still follow.
func (w *Writer) Commit(ctx context.Context) error {
	w.mu.Lock()
	idle := w.idle
	w.idle = nil
	w.mu.Unlock()
	for _, p := range append(idle, w.meta) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	err := w.commit(ctx)
	if err != nil {
		w.failed = failed("commit to store", w.s.dir, err)
		return w.failed
	}
	w.state = writerCommitted
	return nil
}

func (w *Writer) commit(ctx context.Context) error {
	if w.pack != nil {
		if err := w.seal(); err != nil {
			return err
		}
	}
	if len(w.sealed) == 0 {
		// What was found in an index that another writer has just renamed must
		// not be rested on before that name is durable.
		return errors.Join(ctx.Err(), durable.SyncDir(w.s.fs, w.s.path(indexDir)))
	}
	var packs []pack.Summary
	for i := range w.sealed {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &w.sealed[i]
		f := p.file
		p.file = nil // Publish closes it, whatever happens
		if err := w.s.publishPack(f, p.ID); err != nil {
			return err
		}
		packs = append(packs, p.Summary)
		w.named = append(w.named, p.ID)
	}
	for _, p := range packs {
		if err := w.s.readBack(ctx, p.ID); err != nil {
			return err
		}
	}
	if err := w.writeIndex(packs); err != nil {
		return err
	}
	w.seen, w.sealed = nil, nil
	w.dropFiles()
	return nil
}

// publishPack makes a pack durable under its name. f is closed.
func (s *Store) publishPack(f vfs.File, id ID) error {
	name := packName(s.dir, id)
	// A directory that holds a published pack was synced with it; one that
	// merely exists may have been made a moment before a crash.
	if !s.blobs.publishedBeside(id) {
		err := s.fs.Mkdir(path.Dir(name), dirPerm)
		if err == nil || errors.Is(err, fs.ErrExist) {
			err = durable.SyncDir(s.fs, s.path(packsDir))
		}
		if err != nil {
			_ = f.Close()
			return err
		}
	}
	return durable.Publish(s.fs, f, name)
}

// publishedBeside says whether an index names an intact pack in the
// directory where a pack belongs.
func (b *blobs) publishedBeside(id ID) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for other, intact := range b.intact {
		if intact && other[0] == id[0] {
			return true
		}
	}
	return false
}

// readBack verifies every byte of a pack that was just written.
func (s *Store) readBack(ctx context.Context, id ID) error {
	r, err := pack.Open(s.fs, packName(s.dir, id))
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Verify(ctx, id)
	return err
}

// writeIndex publishes an index of the packs, which takes in those of the live ones
// that it is time for, and removes those.
func (w *Writer) writeIndex(packs []pack.Summary) error {
	entries, frames := 0, 0
	for _, p := range packs {
		entries += len(p.Rows)
		frames += len(p.Frames)
	}
	b := &w.s.blobs
	if err := b.load(); err != nil {
		return err
	}
	b.mu.RLock()
	merge := index.Choose(b.files, entries)
	name, err := w.s.buildIndex(w.work, packs, merge, nil)
	b.mu.RUnlock()
	if err != nil {
		return err
	}
	w.stored += int64(entries*index.EntryBytes + frames*index.FrameBytes)
	for _, x := range merge {
		// What comes back after a power cut only says things twice.
		if x.Name() != name {
			_ = w.s.fs.Remove(x.Name())
		}
	}
	return b.load()
}

// buildIndex writes an index in a working directory and publishes it.
func (s *Store) buildIndex(work *workDir, packs []pack.Summary, merge []*index.File, drop map[ID]bool) (string, error) {
	f, err := s.fs.OpenFile(path.Join(work.dir, "index"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	dropped := make(map[pack.ID]bool, len(drop))
	for id := range drop {
		dropped[id] = true
	}
	id, err := index.Build(f, packs, merge, dropped)
	if err != nil {
		_ = f.Close()
		return "", err
	}
	name := indexName(s.dir, id)
	return name, durable.Publish(s.fs, f, name)
}
