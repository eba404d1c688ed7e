package engine

import (
	"context"
	"encoding/json"
	"time"

	"forklift/engine/config"
	"forklift/engine/gitdir"
	"forklift/storage"
	"forklift/storage/clock"
	"forklift/storage/vfs"
)

// Host is what the engine gets from the process it runs in.
type Host struct {
	FS    vfs.FS
	Clock clock.Clock
	Actor string // "cli", "lsp", "mcp"
	// Caller is the process that asks, where that is not this one: the
	// commands that it was started by are not in its way. 0 is this one.
	Caller int
	// StoreDir is where a project without a recorded store gets one.
	StoreDir string
	// StateDir holds the user's approvals (trust); 0700.
	StateDir string
	// Kinds are the database kinds by name.
	Kinds map[string]OpenDatabase
	// DefaultKind is the kind of a worktree whose file names none.
	DefaultKind string
	// Detect tells which kind of database the files of a worktree ask for,
	// for a new .forklift.json; nil leaves it to DefaultKind.
	Detect func(ctx context.Context, worktree string) (*config.Detected, error)
	// Git reads repositories.
	Git Git
	// RunHook runs the hooks of .forklift.json; nil cannot.
	RunHook HookRunner
	// Boot names the present boot of the machine; "" asks the machine.
	Boot string
}

// WaitOptions say what to do about those who are in the way.
type WaitOptions struct {
	Wait       time.Duration // how long to wait for managed commands and open transactions; 0 refuses at once
	Disconnect bool          // cut off clients that have a transaction open
	// UnsavedDisk goes on although an editor has unsaved changes of files that
	// are saved or changed: what is on disk is meant.
	UnsavedDisk bool
	NoHooks     bool // leave the app to the user
}

// CaptureOptions are the wishes for a capture.
type CaptureOptions struct {
	WaitOptions
	Name string // "" makes one from the time and the git branch
	Note string
}

// CaptureResult describes a new checkpoint.
type CaptureResult struct {
	ID          storage.PairID `json:"id"`
	Name        string         `json:"name"`
	Files       int            `json:"files"`        // source files
	SourceBytes int64          `json:"source_bytes"` // bytes of them
	Databases   int            `json:"databases"`
	DataBytes   int64          `json:"data_bytes"`  // bytes of the databases' files
	ReadBytes   int64          `json:"read_bytes"`  // bytes read by this capture
	AddedBytes  int64          `json:"added_bytes"` // compressed bytes it added to the store
	AwayMs      int64          `json:"away_ms"`     // how long the database did not accept connections; 0 if it was not running
	WallMs      int64          `json:"wall_ms"`
	Unchanged   bool           `json:"unchanged"` // nothing had happened in the running database, so that it was not stopped
	Sessions    int            `json:"sessions"`  // that were cut off
	Skipped     []Skipped      `json:"skipped,omitempty"`
	Hooks       []HookResult   `json:"hooks,omitempty"` // that were run
	Warnings    []string       `json:"warnings,omitempty"`
}

// Skipped is a path that a capture left out. A path that is not UTF-8 is
// quoted (see worktree.QuotePath), here and in FileChange.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // "repository", "socket", "fifo", "device", "reserved"
}

// RestoreOptions are the wishes for a restore.
type RestoreOptions struct {
	WaitOptions
	Ref            string   // NAME or WORKTREE:NAME; unused by Undo and Redo
	Verify         bool     // read back every page
	DiscardCurrent bool     // go on although the present state cannot be saved
	Part           Part     // what of the checkpoint is put back; unused by Undo and Redo
	Paths          []string // of PartPaths: from the worktree's top
	Plan           string   // go on only if this still is the id of the plan
}

// RestoreResult describes a finished restore, undo or redo.
type RestoreResult struct {
	Verb       string         `json:"verb"` // restore, undo or redo
	ID         storage.PairID `json:"id"`   // what the worktree is at now
	Name       string         `json:"name"`
	Part       Part           `json:"part,omitempty"`  // of it, that was put back; "" is all
	Paths      []string       `json:"paths,omitempty"` // that were put back
	SafetyID   storage.PairID `json:"safety_id"`       // what was there before; undo goes back to it
	SafetyName string         `json:"safety_name"`
	Changed    int            `json:"changed"` // source files written
	Removed    int            `json:"removed"` // source files removed
	Kept       int            `json:"kept"`    // source files already right
	// Unselected is where source files were changed that .forklift.json does
	// not select now: sources of the checkpoint. Empty for single paths.
	Unselected   []string     `json:"unselected,omitempty"`
	PatchedBytes int64        `json:"patched_bytes"`     // bytes written to the database's slot
	Rescued      []string     `json:"rescued,omitempty"` // paths edited meanwhile, kept in the rescue checkpoint
	RescueName   string       `json:"rescue_name,omitempty"`
	Running      bool         `json:"running"` // the server runs again
	AwayMs       int64        `json:"away_ms"`
	WallMs       int64        `json:"wall_ms"`
	Hooks        []HookResult `json:"hooks,omitempty"` // that were run
	Warnings     []string     `json:"warnings,omitempty"`
}

// RecoverOptions are the wishes for a recovery.
type RecoverOptions struct {
	WaitOptions
	Back bool // finish backwards although the switch was made
}

// RecoverResult says how an interrupted operation ended.
type RecoverResult struct {
	Nothing    bool           `json:"nothing"`   // there was nothing to recover
	Verb       string         `json:"verb"`      // of the interrupted operation
	Direction  string         `json:"direction"` // "forward": as if it had finished; "back": as if it had never begun
	ID         storage.PairID `json:"id,omitempty"`
	Name       string         `json:"name,omitempty"` // the checkpoint the worktree is at
	Running    bool           `json:"running"`
	Rescued    []string       `json:"rescued,omitempty"`
	RescueName string         `json:"rescue_name,omitempty"`
	Hooks      []HookResult   `json:"hooks,omitempty"` // that were run
	Warnings   []string       `json:"warnings,omitempty"`
}

// SetupOptions are the wishes for a setup.
type SetupOptions struct {
	Seed   string   // "" is the project's seed, or an empty database
	Source []string // paths for the generated file; nil guesses
	Yes    bool     // accept the generated file without asking
	New    bool     // a new identity for a copied worktree
	TCP    bool     // the server listens on loopback, too
	NoTCP  bool     // it does not any more
	Port   int      // with TCP: where; 0 chooses
	// Review is shown the generated file before anything is changed, unless
	// Yes is set; its error ends the setup with nothing changed. nil accepts.
	Review func(ctx context.Context, path, text string) error
}

// SetupResult says what a setup made.
type SetupResult struct {
	Worktree   WorktreeInfo `json:"worktree"`
	Created    bool         `json:"created"` // false: it was set up already
	ConfigPath string       `json:"config_path"`
	ConfigMade bool         `json:"config_made"`      // the default file was written
	Config     string       `json:"config,omitempty"` // its text, when it was
	Seed       string       `json:"seed"`             // "" for an empty database
	Warnings   []string     `json:"warnings,omitempty"`
	TCP        *TCPInfo     `json:"tcp,omitempty"` // where the server listens beside its socket
}

// WorktreeInfo identifies a worktree.
type WorktreeInfo struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Project string    `json:"project"`
	Path    string    `json:"path"`
	Store   string    `json:"store"`
	Branch  string    `json:"branch"` // database branch
	Kind    string    `json:"kind"`   // database kind
	Created time.Time `json:"created"`
}

// Checkpoint is a row of a list.
type Checkpoint struct {
	ID           storage.PairID   `json:"id"`
	Name         string           `json:"name"`
	Worktree     string           `json:"worktree"` // its name
	Kind         storage.PairKind `json:"kind"`
	Created      time.Time        `json:"created"`
	Note         string           `json:"note,omitempty"`
	Reason       string           `json:"reason,omitempty"`
	Actor        string           `json:"actor"`
	Head         string           `json:"head,omitempty"`
	GitBranch    string           `json:"git_branch,omitempty"`
	Files        int              `json:"files"`
	LogicalBytes int64            `json:"logical_bytes"`
	OwnBytes     int64            `json:"own_bytes"`      // stored for it alone
	SharedBytes  int64            `json:"shared_bytes"`   // stored, and other checkpoints need it too
	Current      bool             `json:"current"`        // the worktree rests on it
	Half         Part             `json:"half,omitempty"` // "code" or "data": only that half of the worktree does
	Protected    bool             `json:"protected"`      // it is never forgotten
}

// CheckpointDetail is everything about one checkpoint.
type CheckpointDetail struct {
	Checkpoint
	Pair  *storage.Pair     `json:"pair"`
	Facts []json.RawMessage `json:"facts"`
}

// ListOptions choose the rows.
type ListOptions struct {
	All     bool // safety and rescue checkpoints too
	Project bool // of every worktree of the project
}

// FileChange is a source file that differs from the last checkpoint.
type FileChange struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, modified, removed, mode
}

// StatusResult is the state of a worktree.
type StatusResult struct {
	Worktree    WorktreeInfo `json:"worktree"`
	Interrupted *Interrupted `json:"interrupted,omitempty"`
	Operation   *RunningOp   `json:"operation,omitempty"`  // one that is under way now
	Checkpoint  *Checkpoint  `json:"checkpoint,omitempty"` // the one the worktree rests on
	// Source is the checkpoint that the source files rest on, where that is
	// another one; Checkpoint is then only where the database comes from.
	SourceCheckpoint *Checkpoint     `json:"source_checkpoint,omitempty"`
	AgeSeconds       int64           `json:"age_seconds"` // of it
	Source           []string        `json:"source"`
	Files            []FileChange    `json:"files"` // since the checkpoint; at most MaxStatusFiles
	FileCount        int             `json:"file_count"`
	FilesKnown       bool            `json:"files_known"` // the files were compared with the checkpoint
	Tables           []TableChange   `json:"tables"`      // since the checkpoint
	RowCount         int64           `json:"row_count"`
	RowsKnown        bool            `json:"rows_known"` // the server runs, and its counters can be compared
	Server           ServerInfo      `json:"server"`
	Holders          []HolderInfo    `json:"holders"`           // managed commands that run
	Unsaved          []UnsavedBuffer `json:"unsaved,omitempty"` // of editors, wherever in the worktree
	App              *StoppedApp     `json:"app,omitempty"`     // that was stopped by a hook and not started again
	Trusted          bool            `json:"trusted"`
	Orphans          []string        `json:"orphans,omitempty"`  // worktrees of the project that are gone, but keep a database
	Problems         []string        `json:"problems,omitempty"` // what keeps the rest from being known
}

// Interrupted describes an operation that was cut off.
type Interrupted struct {
	Verb    string    `json:"verb"`
	Since   time.Time `json:"since"`
	Forward bool      `json:"forward"` // which way recover will go
	Target  string    `json:"target"`  // the checkpoint it was about
}

// RunningOp is an operation that holds the worktree now.
type RunningOp struct {
	Verb  string    `json:"verb"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Phase string    `json:"phase,omitempty"` // what it does now
}

// ServerInfo is a server's state for people and --json.
type ServerInfo struct {
	State   string    `json:"state"` // stopped, running, unclean, foreign
	PID     int       `json:"pid,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Version string    `json:"version,omitempty"`
	Pinned  bool      `json:"pinned"` // by `db start`: not stopped when the last command leaves
}

// HolderInfo is a managed command that runs.
type HolderInfo struct {
	PID   int       `json:"pid"`
	Argv  []string  `json:"argv"`
	Since time.Time `json:"since"`
}

// Operation is a row of the operation log, as `log` shows it.
type Operation struct {
	ID      string         `json:"id"`
	Verb    string         `json:"verb"`
	Actor   string         `json:"actor"`
	Reason  string         `json:"reason,omitempty"`
	Started time.Time      `json:"started"`
	Ended   time.Time      `json:"ended,omitzero"`
	Outcome string         `json:"outcome"` // done, back, failed; "" while under way or interrupted
	Before  storage.PairID `json:"before,omitempty"`
	After   storage.PairID `json:"after,omitempty"`
	Name    string         `json:"name,omitempty"` // the checkpoint it was about
	Part    Part           `json:"part,omitempty"` // of it, that was restored; "" is all
	Paths   []string       `json:"paths,omitempty"`
	Error   string         `json:"error,omitempty"`
}

// TeardownOptions say whether a teardown is only described.
type TeardownOptions struct {
	Yes  bool   // do it; without it only the plan is made
	Plan string // do only this plan; "" does whatever comes out
}

// TeardownResult says what a teardown removes, or removed.
type TeardownResult struct {
	Done        bool         `json:"done"` // false: only the plan
	Plan        string       `json:"plan_id"`
	Worktree    WorktreeInfo `json:"worktree"`
	Removes     []string     `json:"removes"`     // in words
	Checkpoints int          `json:"checkpoints"` // that stay in the store
}

// SeedRemoveOptions say which seed is removed, and whether that is only described.
type SeedRemoveOptions struct {
	Name string
	Yes  bool   // do it; without it only the plan is made
	Plan string // do only this plan; "" does whatever comes out
}

// SeedRemoveResult says what a removal of a seed removes, or removed.
type SeedRemoveResult struct {
	Done bool     `json:"done"` // false: only the plan
	Plan string   `json:"plan_id"`
	Seed SeedInfo `json:"seed"` // those who began with it keep what they have
}

// SeedOptions are the wishes for a new seed.
type SeedOptions struct {
	Name     string
	Kind     string   // database kind; "" is the default one
	SQL      []string // files, in order
	Database string   // that the files are loaded into; "" is the default one
	Dump     string   // a dump of any format, loaded after the SQL files
	// Source is a running server to copy; with it no file is loaded.
	Source SourceServer
}

// SeedInfo is a row of the list of seeds.
type SeedInfo struct {
	Name         string          `json:"name"`
	ID           storage.PairID  `json:"id"`
	Created      time.Time       `json:"created"`
	LogicalBytes int64           `json:"logical_bytes"`
	AddedBytes   int64           `json:"added_bytes"`
	Facts        json.RawMessage `json:"facts"`
	UsedBy       []string        `json:"used_by,omitempty"` // worktree names
	Copied       *Copied         `json:"copied,omitempty"`  // of a seed that was just made from a running server
}

// Git is what the engine asks of git repositories. Implementations read the
// files themselves or call git without a shell, hooks, filters and monitors.
type Git interface {
	// Find tells the worktree that holds dir: kind NotFound outside a
	// repository, Unsupported for a bare one, Untrusted when the git
	// directory does not list the worktree back or belongs to someone else.
	Find(ctx context.Context, dir string) (Repo, error)
	// Head tells the commit id of HEAD ("" before the first commit) and the
	// short name of the git branch ("" when detached).
	Head(ctx context.Context, r Repo) (commit, branch string, err error)
	// Tracked lists the top-level names that git tracks.
	Tracked(ctx context.Context, r Repo) ([]string, error)
	// Ignored lists what git ignores and does not track below the given
	// paths: relative paths, a directory stands for all that is in it.
	Ignored(ctx context.Context, r Repo, paths []string) ([]string, error)
	// TrackedIn lists the files at and below the given paths that git tracks.
	TrackedIn(ctx context.Context, r Repo, paths []string) ([]string, error)
	// Excludes gives the lines of git's ignore files outside the worktree
	// (the user's and the repository's own), the ones that count least first.
	Excludes(ctx context.Context, r Repo) ([]string, error)
	// ExcludesFile is the path of the user's ignore file, which need not be there.
	ExcludesFile(ctx context.Context, r Repo) (string, error)
	// SettingsFiles lists the files that git takes its settings from, present or not.
	SettingsFiles(ctx context.Context, r Repo) ([]string, error)
	WorktreeGit
}

// Repo is where a worktree's parts are.
type Repo = gitdir.Repo
