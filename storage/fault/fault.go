// Package fault is the one error type of Forklift.
//
// An error that a user may see is a *[Error]: the operation, the place, a
// [Kind] from a closed set, the cause and a hint that says what to do next.
// Packages below return it as the literal &fault.Error{...}; callers wrap
// with fmt.Errorf("verb noun: %w") when they add information, and the fronts
// find the kind, the hint and the items again with [KindOf], [HintOf] and
// [ItemsOf]. One table, [Kind.ExitCode], maps kinds to exit codes, another,
// [Kind.RPCCode], to JSON-RPC codes; nothing else may.
package fault

import (
	"context"
	"errors"
	"strings"
	"syscall"
)

// Kind says what sort of failure an error is. The set is closed.
type Kind uint8

// The kinds, in the order of their exit codes.
const (
	Failed      Kind = iota // anything without a kind of its own
	Usage                   // a wrong argument or configuration
	Busy                    // somebody else holds what is needed; Items name them
	NotFound                // no such checkpoint, worktree, seed, repository
	Untrusted               // the repository's file is not approved
	Interrupted             // an operation was cut off: recover first
	Corrupt                 // stored or recorded bytes are not what was written
	NoSpace                 // too little space, found ahead or met
	Unsupported             // this version, platform or file system cannot
	Unsaved                 // editors hold unsaved buffers; Items name them
	StartHook               // the operation is done, only the start hook failed
	Canceled                // the user interrupted it
)

var kinds = [...]struct {
	name string
	exit int
	rpc  int
}{
	Failed:      {"failed", 1, -32000},
	Usage:       {"usage", 2, -32602},
	Busy:        {"busy", 3, -32003},
	NotFound:    {"not-found", 4, -32004},
	Untrusted:   {"untrusted", 5, -32005},
	Interrupted: {"interrupted", 6, -32006},
	Corrupt:     {"corrupt", 7, -32007},
	NoSpace:     {"no-space", 8, -32008},
	Unsupported: {"unsupported", 9, -32009},
	Unsaved:     {"unsaved", 10, -32010},
	StartHook:   {"start-hook", 11, -32011},
	Canceled:    {"canceled", 130, -32800},
}

// String is the kind's name as it stands in --json output.
func (k Kind) String() string { return kinds[k].name }

// ExitCode is the process exit code for the kind.
func (k Kind) ExitCode() int { return kinds[k].exit }

// RPCCode is the JSON-RPC error code for the kind.
func (k Kind) RPCCode() int { return kinds[k].rpc }

// Error is a failure with everything a front needs to show it. Only Kind
// and one of Err and Path are required.
type Error struct {
	Op    string   // what was being done, such as "capture" or "open store"
	Path  string   // the file, directory or name it was done to
	Kind  Kind     // what sort of failure
	Err   error    // the cause
	Hint  string   // a sentence: what the user can do now
	Items []string // what it is about when there are several: holders, files, problems
}

// Error is "op path: cause"; parts that are missing, or that the cause
// already names, are left out.
func (e *Error) Error() string {
	cause := e.Kind.String()
	if e.Err != nil {
		cause = e.Err.Error()
	}
	head := e.Op
	if e.Path != "" && !strings.Contains(cause, e.Path) {
		head = strings.TrimSpace(head + " " + e.Path)
	}
	if head == "" {
		return cause
	}
	return head + ": " + cause
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// system says what errors of the operating system mean to a user, where
// nothing nearer to the cause has said so.
var system = []struct {
	err  error
	kind Kind
	hint string
}{
	{syscall.ENOSPC, NoSpace, "make room on that file system and try again"},
	{syscall.EDQUOT, NoSpace, "your quota there is used up; make room and try again"},
	{syscall.EROFS, Failed, "that file system is read-only; mount it writable, or keep the store elsewhere"},
	{syscall.EACCES, Failed, "look at the owner and the mode of that path and of the directories above it"},
	{syscall.EIO, Failed, "the disk failed to read or write; look at the system's log before anything else"},
	{context.Canceled, Canceled, ""},
}

// KindOf finds the kind of err: that of the outermost *Error in its chain
// whose kind is not Failed, else what an error of the system in it means,
// else Failed.
func KindOf(err error) Kind {
	for rest := err; rest != nil; {
		var e *Error
		if !errors.As(rest, &e) {
			break
		}
		if e.Kind != Failed {
			return e.Kind
		}
		rest = e.Err
	}
	for _, s := range system {
		if errors.Is(err, s.err) {
			return s.kind
		}
	}
	return Failed
}

// HintOf finds the outermost hint in err's chain, else what can be done about
// an error of the system in it, else "".
func HintOf(err error) string {
	for rest := err; rest != nil; {
		var e *Error
		if !errors.As(rest, &e) {
			break
		}
		if e.Hint != "" {
			return e.Hint
		}
		rest = e.Err
	}
	for _, s := range system {
		if errors.Is(err, s.err) {
			return s.hint
		}
	}
	return ""
}

// Sentence is err and its hint in one text, for lists that have one line for
// each of several errors.
func Sentence(err error) string {
	if hint := HintOf(err); hint != "" {
		return strings.TrimSuffix(err.Error(), ".") + ". " + hint
	}
	return err.Error()
}

// ItemsOf finds the outermost non-empty Items in err's chain.
func ItemsOf(err error) []string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return nil
		}
		if len(e.Items) > 0 {
			return e.Items
		}
		err = e.Err
	}
	return nil
}

// Wrap adds what was being done and to which path to an error that is not
// nil; the kind, hint and items of err stay.
func Wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Path: path, Err: err}
}
