package storage

import (
	"context"
	"errors"
	"io/fs"

	"forklift/storage/fault"
	"forklift/storage/record"
)

// ReplaceName makes a name that leads to the pair old lead to the pair id of
// the same project. A name that is absent or leads elsewhere by now is an
// error of kind Busy; two who replace one name at once must exclude each other.
//
// After nil the change is durable. After an error or a crash the name leads
// to the one or the other.
func (s *Store) ReplaceName(ctx context.Context, project, worktree string, kind PairKind, name string, old, id PairID) error {
	const op = "replace name"
	file, release, err := s.enterName(ctx, op, project, worktree, kind, name, id)
	if err != nil {
		return err
	}
	defer release()
	body, err := s.readName(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(op, name, err)
	}
	if err != nil || body.Pair != old {
		return &fault.Error{Op: op, Path: name, Kind: fault.Busy, Err: errors.New("it was replaced or removed meanwhile"), Hint: "Try again."}
	}
	return failed(op, name, record.Write(s.fs, file, "name", nameFormat, nameBody{project, worktree, kind, name, id}))
}
