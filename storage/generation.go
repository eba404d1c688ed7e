package storage

import (
	"errors"
	"path"

	"forklift/storage/fault"
	"forklift/storage/record"
)

// readFormat reads the format file: who the store is, and what has been
// deleted since this Store looked last.
func (s *Store) readFormat() error {
	name := path.Join(s.dir, formatFile)
	// The file is replaced by rename. Looked at before it is read, an older
	// look only makes the next one read it again.
	info, err := s.fs.Lstat(name)
	if err != nil {
		return err
	}
	var body formatBody
	if err := record.Read(s.fs, name, "store", storeFormat, &body); err != nil {
		return err
	}
	s.marker, s.id = statOf(info), body.ID
	s.generation.Store(body.Generation)
	return nil
}

// refresh is called when the lock has just been taken, by nobody else of
// this Store: if a prune or a repair has deleted something since, everything
// that this Store remembers of indexes and packs is forgotten.
func (s *Store) refresh() error {
	info, err := s.fs.Lstat(path.Join(s.dir, formatFile))
	if err != nil || statOf(info) == s.marker {
		return failed("read store", s.dir, err)
	}
	id := s.id
	if err := s.readFormat(); err != nil {
		return failed("read store", s.dir, err)
	}
	if s.id != id {
		return &fault.Error{Op: "read store", Path: s.dir, Kind: fault.Busy,
			Err:  errReplaced,
			Hint: "Try again; it is another store now."}
	}
	s.blobs.close()
	return nil
}

var errReplaced = errors.New("the store was replaced by another one")

// renew changes the generation, durably: whoever remembers that something is
// stored must forget it. The lock is held exclusively; nothing has been
// deleted yet.
func (s *Store) renew() error {
	name := path.Join(s.dir, formatFile)
	body := formatBody{ID: s.id, Generation: s.generation.Load() + 1}
	if err := record.Write(s.fs, name, "store", storeFormat, body); err != nil {
		return failed("change generation", name, err)
	}
	return failed("change generation", name, s.readFormat())
}
