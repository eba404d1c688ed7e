package storage

import (
	"encoding/json"
	"slices"
	"time"
)

// PairID names a pair: 26 characters of a ULID in lower case, so that ids
// sort by time. It is made before the pair is, and recorded in the journal.
type PairID string

// Pair is a checkpoint: one immutable record that ties the manifest of the
// selected source files to the manifests of the databases of the same moment.
// It is stored as JSON under pairs/<project>/<id>.json and never changes.
type Pair struct {
	ID        PairID    `json:"id"`
	Project   string    `json:"project"`              // project id; "" for a seed
	Worktree  string    `json:"worktree"`             // worktree id; "" for a seed
	Name      string    `json:"name"`                 // as given by the user, or made up
	Kind      PairKind  `json:"kind"`                 // capture, safety, rescue or seed
	Created   time.Time `json:"created"`              // UTC
	Actor     string    `json:"actor"`                // who: "cli", "lsp", ...
	Reason    string    `json:"reason,omitempty"`     // such as "before restore of NAME"
	Note      string    `json:"note,omitempty"`       // the user's words
	Labels    []string  `json:"labels,omitempty"`     // free
	Parents   []PairID  `json:"parents,omitempty"`    // what the worktree was at before
	Head      string    `json:"head,omitempty"`       // commit id of HEAD, "" without one
	GitBranch string    `json:"git_branch,omitempty"` // short name, "" when detached

	Source    SourceState     `json:"source"`
	Databases []DatabaseState `json:"databases"`

	AddedBytes   int64 `json:"added_bytes"`   // compressed bytes that this capture added to the store
	LogicalBytes int64 `json:"logical_bytes"` // bytes of all files that the pair names

	// Protected is not part of the record: see Meta, which also has the
	// present Name and Note of a pair that was read.
	Protected bool `json:"-"`
}

// PairKind says why a pair was made.
type PairKind string

// The kinds of a pair.
const (
	Capture PairKind = "capture" // by the user
	Safety  PairKind = "safety"  // by a restore, before it changed anything
	Rescue  PairKind = "rescue"  // by an install that met files edited meanwhile
	Seed    PairKind = "seed"    // a starting database
	// Template is the empty database of a kind, version and options: what a
	// worktree without a seed starts from. Made when first needed.
	Template PairKind = "template"
)

// SourceState is the source half of a pair. Covered, when it is not nil,
// lists further paths that the manifest speaks for beside the selection:
// those a restore was about to write; each is in the manifest or was absent.
type SourceState struct {
	Manifest   ID       `json:"manifest"` // zero: the pair has no source half (a seed)
	Paths      []string `json:"paths"`    // the selected paths
	Ignore     []string `json:"ignore,omitempty"`
	Gitignored string   `json:"gitignored,omitempty"` // "skip" or "include"
	Covered    []string `json:"covered,omitempty"`
	Files      int      `json:"files"`
	Bytes      int64    `json:"bytes"`
}

// DatabaseState is one database of a pair. Facts, Tables and Counters are the
// database kind's own JSON: what the store does not need to understand.
type DatabaseState struct {
	Kind     string          `json:"kind"`  // "postgres"
	State    string          `json:"state"` // "clean", or "kept" without trees; "recover" is reserved; others are refused
	Trees    []TreeState     `json:"trees"`
	Facts    json.RawMessage `json:"facts,omitempty"`
	Tables   json.RawMessage `json:"tables,omitempty"`   // relfilenode to table
	Counters json.RawMessage `json:"counters,omitempty"` // per table: inserted, updated, deleted
}

// TreeState is one directory tree of a database.
type TreeState struct {
	Name     string `json:"name"` // "pgdata"
	Manifest ID     `json:"manifest"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
}

// Same reports whether two source halves hold the same files, and s speaks
// for every path that other covers.
func (s SourceState) Same(other SourceState) bool {
	if s.Manifest != other.Manifest || s.Gitignored != other.Gitignored ||
		!slices.Equal(s.Paths, other.Paths) || !slices.Equal(s.Ignore, other.Ignore) {
		return false
	}
	for _, p := range other.Covered {
		if !slices.Contains(s.Covered, p) {
			return false
		}
	}
	return true
}
