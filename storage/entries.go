package storage

import (
	"context"
	"fmt"
	"io"
	"iter"

	"forklift/storage/failpoint"
)

// Entries makes a manifest from entries that come in the order of a
// manifest, each in a directory that has an entry; content is in the store
// or in this writer. The first error of the sequence ends it.
func (w *Writer) Entries(ctx context.Context, seq iter.Seq2[Entry, error]) (ID, error) {
	const op = "make manifest"
	defer failpoint.Bulk()()
	b := treeBuilder{put: w.node}
	for e, err := range seq {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return ID{}, failed(op, "", err)
		}
		if e.Type == Regular && e.Size > 0 {
			ok, err := w.has(e.Content.Root)
			if err != nil {
				return ID{}, failed(op, e.Path, err)
			}
			if !ok {
				return ID{}, misuse(op, e.Path, "the content of %s is not stored", e.Path)
			}
		}
		if err := b.add(e); err != nil {
			return ID{}, misuse(op, e.Path, "%w", err)
		}
	}
	id, err := b.finish()
	return id, failed(op, "", err)
}

// Reader gives the bytes of a regular file, each blob verified before any of
// it is given out. It must be closed: it holds the store's lock.
func (s *Store) Reader(ctx context.Context, e Entry) (io.ReadCloser, error) {
	if e.Type != Regular {
		return nil, misuse("read", e.Path, "%s is not a regular file", e.Path)
	}
	release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(func(yield func([]byte, error) bool) {
		err := s.leaves(e.Content, e.Size, func(l leaf) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			data, err := s.blobs.get(l.id)
			if err == nil && len(data) != l.bytes {
				err = fmt.Errorf("blob %s has %d bytes where %d belong", l.id, len(data), l.bytes)
				err = corrupt("read", e.Path, "%w", err)
			}
			if err == nil && !yield(data, nil) {
				return errStop
			}
			return err
		})
		if err != nil && err != errStop {
			yield(nil, failed("read", e.Path, err))
		}
	})
	return &contentReader{next: next, stop: stop, release: release}, nil
}

// contentReader reads a file blob by blob.
type contentReader struct {
	next    func() ([]byte, error, bool)
	stop    func()
	release func()
	rest    []byte
	err     error
}

// Read reads on.
func (r *contentReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		data, err, ok := r.next()
		r.rest, r.err = data, err
		if !ok {
			r.err = io.EOF
		}
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the reading.
func (r *contentReader) Close() error {
	r.stop()
	r.release()
	r.err, r.rest = io.ErrClosedPipe, nil
	return nil
}
