package engine

import "context"

// The ways to copy a running server.
const (
	MethodAuto = "auto" // a physical copy, else a dump
	MethodCopy = "copy" // a physical copy or an error
	MethodDump = "dump" // a dump or an error
)

// SourceServer is a running database elsewhere that a seed is made from.
type SourceServer struct {
	URL     Secret   // its password never gets into logs, errors or results
	Method  string   // MethodAuto, MethodCopy or MethodDump; "" is MethodAuto
	Preload []string // libraries that the copy's servers may load at start; others of the source are left out
}

// Copied says how a server was copied.
type Copied struct {
	Method   string   `json:"method"` // MethodCopy or MethodDump
	Source   string   `json:"source"` // host, port and database; no secrets
	Version  string   `json:"version"`
	Database string   `json:"database"`          // that worktrees are sent to
	Bytes    int64    `json:"bytes"`             // that came from the source
	Refused  string   `json:"refused,omitempty"` // why a physical copy was not possible
	Warnings []string `json:"warnings,omitempty"`
}

// Copier is a Database that can be filled from a running server elsewhere.
// Neither method changes anything that the source's users can see.
type Copier interface {
	// CopyServer fills the empty directory of a slot with a physical copy of
	// a server: all roles and databases. It leaves the copy at rest, cleanly
	// stopped. Where the server does not permit it, and the method leaves a
	// choice, the result's Method is "" and Refused says why; nothing was
	// written then.
	CopyServer(ctx context.Context, slot Slot, src SourceServer) (*Copied, error)
	// DumpServer loads a dump of one database of the server, and of its
	// roles, into the running server of this branch.
	DumpServer(ctx context.Context, src SourceServer) (*Copied, error)
	// LoadDump loads a dump file of any format into the running server, as
	// Load does; sql files come before it.
	LoadDump(ctx context.Context, sql []string, dump, database string) error
}
