package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"forklift/storage/fault"
)

// failed gives err its place and, where the cause tells it, its kind. A
// cause that has a kind already keeps it.
func failed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	e := &fault.Error{Op: op, Path: path, Kind: fault.KindOf(err), Err: err}
	if e.Kind != fault.Failed {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Kind = fault.Canceled
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind = fault.NoSpace
		e.Hint = "Free some space on that file system and try again."
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "Check who owns it and its permissions."
	}
	return e
}

// corrupt says that stored bytes are not what was written.
func corrupt(op, path string, format string, args ...any) error {
	return &fault.Error{Op: op, Path: path, Kind: fault.Corrupt, Err: fmt.Errorf(format, args...)}
}

// misuse says that a caller gave something that cannot be stored.
func misuse(op, path string, format string, args ...any) error {
	return &fault.Error{Op: op, Path: path, Kind: fault.Usage, Err: fmt.Errorf(format, args...)}
}
