package storage

import (
	"context"
	"errors"
	"fmt"
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
	file, err := s.nameFile(project, worktree, kind, name)
	if err != nil {
		return err
	}
	pair, err := s.pairName(project, id)
	if err != nil {
		return err
	}
	release, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if _, err := s.fs.Lstat(pair); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &fault.Error{Kind: fault.NotFound, Err: fmt.Errorf("there is no pair %s", id)}
		}
		return failed(op, name, err)
	}
	body, err := s.readName(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(op, name, err)
	}
	if err != nil || body.Pair != old {
		return &fault.Error{Op: op, Path: name, Kind: fault.Busy, Err: errors.New("it was replaced or removed meanwhile"), Hint: "Try again."}
	}
	return failed(op, name, record.Write(s.fs, file, "name", nameFormat, nameBody{project, worktree, kind, name, id}))
}
