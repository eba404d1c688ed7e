package storage

import (
	"context"
	"fmt"

	"forklift/storage/fault"
)

// ReadFile gives the content of a manifest's regular file, verified. One of
// more than limit bytes is refused (kind Usage).
func (s *Store) ReadFile(ctx context.Context, e Entry, limit int64) ([]byte, error) {
	if e.Type != Regular {
		return nil, &fault.Error{Op: "read file", Path: e.Path, Kind: fault.Usage, Err: fmt.Errorf("%s is not a regular file", e.Path)}
	}
	if e.Size > limit {
		return nil, &fault.Error{Op: "read file", Path: e.Path, Kind: fault.Usage,
			Err: fmt.Errorf("%s has %d bytes, the limit is %d", e.Path, e.Size, limit)}
	}
	release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	data := make([]byte, 0, e.Size)
	err = s.leaves(e.Content, e.Size, func(l leaf) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		part, err := s.blobs.get(l.id)
		if err != nil {
			return err
		}
		if len(part) != l.bytes {
			return corrupt("read content", l.id.String(), "it has %d bytes, not %d", len(part), l.bytes)
		}
		data = append(data, part...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", e.Path, err)
	}
	return data, nil
}
