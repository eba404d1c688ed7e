package commands

import (
	"errors"

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
