package commands

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"forklift/storage/fault"
)

// Failure is an error as the fronts send it: with --json the value of the key
// "error".
type Failure struct {
	Kind    string   `json:"kind"`           // of the closed set in storage/fault
	Op      string   `json:"op,omitempty"`   // what was being done
	Path    string   `json:"path,omitempty"` // to what
	Message string   `json:"message"`        // one line for people
	Hint    string   `json:"hint,omitempty"` // a sentence: what can be done now
	Items   []string `json:"items,omitempty"`
}

// FailureOf describes any error.
func FailureOf(err error) Failure {
	f := Failure{
		Kind: fault.KindOf(err).String(), Message: err.Error(),
		Hint: fault.HintOf(err), Items: fault.ItemsOf(err),
	}
	var e *fault.Error
	if errors.As(err, &e) {
		f.Op, f.Path = e.Op, e.Path
	}
	return f
}

// classify gives a kind and a hint to causes that any layer can meet and
// that say by themselves what they are.
func classify(verb string, err error) error {
	kind, hint := fault.KindOf(err), fault.HintOf(err)
	if kind != fault.Failed && hint != "" {
		return err
	}
	e := &fault.Error{Kind: kind, Hint: hint, Err: err}
	switch {
	case kind == fault.Failed && errors.Is(err, context.Canceled):
		e.Op, e.Kind = verb, fault.Canceled
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Hint = fault.NoSpace, "Free some space on that file system and try again."
	case hint == "" && errors.Is(err, syscall.EROFS):
		e.Hint = "The file system is mounted read-only."
	case hint == "" && errors.Is(err, fs.ErrPermission):
		e.Hint = "Check who owns the file or directory and what its permissions are."
	default:
		return err
	}
	return e
}
