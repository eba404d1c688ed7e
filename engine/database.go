package engine

import (
	"context"
	"encoding/json"
	"time"

	"forklift/storage"
)

// Slot is one of the two places that a branch's live data can be in.
type Slot string

// The slots.
const (
	SlotA Slot = "a"
	SlotB Slot = "b"
)

// Other is the slot that s is not.
func (s Slot) Other() Slot {
	if s == SlotA {
		return SlotB
	}
	return SlotA
}

// ServerState says what a branch's server is doing.
type ServerState uint8

// The states of a server.
const (
	AtRest  ServerState = iota // nothing runs, the live lock is free
	Running                    // our server runs and accepts connections
	Unclean                    // nothing runs, but the files say that it did not stop cleanly
	Foreign                    // somebody else's server has the files open
)

// String is the state as status shows it.
func (s ServerState) String() string {
	return [...]string{"stopped", "running", "unclean", "foreign"}[s]
}

// Status is a server's state with its details.
type Status struct {
	State   ServerState
	Slot    Slot      // that the running server serves
	PID     int       // of the running server
	Since   time.Time // when it was started
	Version string    // "17.12"
}

// EnvVar is one variable for a managed command. Secret values are never
// logged.
type EnvVar struct {
	Name   string
	Value  string
	Secret bool
	// Unset is a variable that the command must not have, from whomever: with
	// it clients would go to another database. Value is "".
	Unset bool
}

// Client is a session of a running server that is not ours.
type Client struct {
	PID         int       `json:"pid"`
	Application string    `json:"application"`
	User        string    `json:"user"`
	Database    string    `json:"database"`
	State       string    `json:"state"` // as pg_stat_activity says
	Since       time.Time `json:"since"` // start of the transaction, or of the session
	Busy        bool      `json:"busy"`  // has a transaction open
}

// DatabaseTree is one directory tree that is a database's state.
type DatabaseTree struct {
	Name  string        // "pgdata"; the same in every pair of the kind
	Dir   string        // absolute
	Rules storage.Rules // what of it is saved
}

// Observation is what a running server tells about its contents: the kind's
// own JSON, kept in the pair.
type Observation struct {
	Tables   json.RawMessage // what the files are called: relfilenode to table
	Counters json.RawMessage // per table: inserted, updated, deleted
}

// TableChange is how many rows of a table changed between two observations.
type TableChange struct {
	Database string `json:"database"`
	Table    string `json:"table"` // schema.table
	Inserted int64  `json:"inserted"`
	Updated  int64  `json:"updated"`
	Deleted  int64  `json:"deleted"`
}

// ChangedFile is a file of a database's trees that differs between two states.
type ChangedFile struct {
	Tree, Path string
	Old, New   bool // it is there in the one, and in the other
}

// The ways in which the files of a table can differ.
const (
	TableCreated   = "created"
	TableDropped   = "dropped"
	TableRewritten = "rewritten" // it has another file: TRUNCATE, VACUUM FULL, ALTER TABLE
	TableTouched   = "files"     // pages of it changed, which says nothing about rows
)

// TableFile is a table whose files differ.
type TableFile struct {
	Database string
	Table    string // schema.table; "" stands for all system tables of the database
	Change   string // one of the constants above
}

// DefinitionChanged is how an object differs that is defined otherwise.
const DefinitionChanged = "changed"

// DefinitionChange is an object of a database that was made, dropped or
// defined otherwise.
type DefinitionChange struct {
	Database string `json:"database"`
	Kind     string `json:"kind"`   // table, view, index, function, ...
	Name     string `json:"name"`   // schema.name
	Change   string `json:"change"` // created, dropped, changed
}

// Definer is a Database whose observations tell of definitions, too.
type Definer interface {
	// Definitions compares the Tables of two observations of one history.
	// known is false where one of them does not tell.
	Definitions(before, after json.RawMessage) (changes []DefinitionChange, known bool, err error)
}

// Counter is a Database that can be asked for less than an Observation, by
// those who look often.
type Counter interface {
	// Count asks the running server for the Counters of an Observation.
	Count(ctx context.Context) (json.RawMessage, error)
}

// Branch is where one database of its own lives.
type Branch struct {
	ID   string // unique in the store
	Dir  string // <store>/branches/<id>; slots are Dir/a and Dir/b, the kind's own files Dir/run
	Live string // path of the lock file that every server process inherits
	// Installation is forklift.toml's choice of the server's programs; ""
	// leaves it to the kind.
	Installation string
	// Worktree is the top directory of the git worktree that the branch is
	// opened for; "" where that is gone or does not matter.
	Worktree string
	// Options is the object of .forklift.json that has the kind's name; nil
	// without one.
	Options json.RawMessage
	// SecretFile is where the kind keeps the one password of the whole
	// store, 0600; "" for a branch that has none.
	SecretFile string
}

// SlotDir is the directory of a slot.
func (b Branch) SlotDir(s Slot) string { return b.Dir + "/" + string(s) }

// RunDir holds what the kind needs beside the data: configuration, log,
// record of the server. Nothing in it is captured.
func (b Branch) RunDir() string { return b.Dir + "/run" }

// Database is one kind of state that a worktree owns beside its files, bound
// to one branch. The engine holds the worktree's locks around every method;
// an implementation takes only the live lock. Every method has a deadline of
// its own beside the context's.
type Database interface {
	// Kind is the kind's name: "postgres".
	Kind() string

	// Template names the state that Init makes: equal names, equal state.
	// It changes with the version and the options of creation.
	Template(ctx context.Context) (string, error)
	// Init fills the empty directory of a slot with a new, empty database at rest.
	Init(ctx context.Context, slot Slot) error
	// Load runs plain SQL files against the running server, as psql would,
	// and leaves the database vacuumed. database is created when absent; ""
	// is the default one.
	Load(ctx context.Context, files []string, database string) error

	// State tells what the server does; slot is the selected one, whose
	// files are looked at when nothing runs.
	State(ctx context.Context, slot Slot) (Status, error)
	// Start starts the server on a slot and returns once it accepts
	// connections; starting a running one is not an error. A slot that was
	// not stopped cleanly goes through crash recovery.
	Start(ctx context.Context, slot Slot) error
	// Stop returns once the server is provably at rest (the live lock is
	// free). Stopping a stopped one is not an error. Sessions are cut off.
	Stop(ctx context.Context) error
	// Settle writes out what the running server holds in memory, so that
	// Stop has little to write.
	Settle(ctx context.Context) error
	// Clients lists the sessions of the running server.
	Clients(ctx context.Context) ([]Client, error)

	// Trees tells what a capture saves. While the server runs (hot) the
	// rules leave out what only a stopped server has in final form.
	// At rest it proves rest first: the live lock free, the files saying a clean stop.
	// It fails by name for what cannot be captured (a tablespace outside).
	Trees(ctx context.Context, slot Slot, hot bool) ([]DatabaseTree, error)
	// Place is the directory of a tree (see DatabaseTree.Name) in a slot, "" for
	// a name that the kind does not know. A restore makes and fills it.
	Place(slot Slot, tree string) string
	// Warnings tells what the last Trees call at rest kept against the
	// usual rules, for the user.
	Warnings() []string
	// Unchanged reports that the running server holds exactly the state that
	// these facts were of, in every row, sequence and setting; it was started
	// on a slot that held that state. False also where that cannot be told
	// without stopping it. What was true once is not true again later: the
	// answer holds for all the time since the server was started.
	Unchanged(ctx context.Context, slot Slot, facts json.RawMessage) bool
	// Observe asks the running server about its tables.
	Observe(ctx context.Context) (Observation, error)
	// Changes compares counters of two observations of the same history.
	Changes(before, after json.RawMessage) ([]TableChange, error)

	// TableFiles tells which tables changed files belong to, by the table
	// maps of the observations of both states, and which tables were made,
	// dropped or rewritten by what the maps say; either may be nil. Files that
	// are no table's are passed over, but for those of system tables.
	TableFiles(before, after json.RawMessage, changed []ChangedFile) ([]TableFile, error)

	// Facts describes the state in a slot: version, architecture, collation, ...
	Facts(ctx context.Context, slot Slot) (json.RawMessage, error)
	// CheckFacts says why a state with these facts cannot be started here
	// (kind Unsupported), or nil.
	CheckFacts(ctx context.Context, facts json.RawMessage) error

	// Env is what a managed command is given: connectionEnv and the kind's own
	// variables. It does not need a running server.
	Env(ctx context.Context, connectionEnv string) ([]EnvVar, error)
	// Remove removes what the kind keeps outside the branch's directory
	// (sockets), when the branch goes.
	Remove(ctx context.Context) error
}

// OpenDatabase makes the Database of a kind for a branch. settings is the
// `database` object of .forklift.json (may be nil).
type OpenDatabase func(ctx context.Context, branch Branch, settings json.RawMessage) (Database, error)
