package commands

import (
	"context"
	"errors"

	"forklift/engine"
	"forklift/storage/fault"
)

// DiffRequest asks what differs between two checkpoints, or between one and
// what is there now.
type DiffRequest struct {
	A        string   `json:"a,omitempty" arg:"[A]" complete:"checkpoint" help:"a checkpoint, or WORKTREE:NAME (default: the one the worktree rests on)"`
	B        string   `json:"b,omitempty" arg:"[B]" complete:"checkpoint" help:"another one (default: the files and the database as they are now)"`
	Paths    []string `json:"paths,omitempty" arg:"[-- PATH...]" complete:"path" help:"only these files and directories, and no tables"`
	Stat     bool     `json:"stat,omitempty" flag:"stat" help:"of each file only how many lines came and went"`
	NameOnly bool     `json:"name_only,omitempty" flag:"name-only" help:"only the names of the files and tables"`
}

// DiffResult is what differs.
type DiffResult struct {
	engine.DiffResult
	Style string `json:"-"` // one of the engine's Diff constants
}

var diffVerb = NewVerb(Verb{
	Name: "diff", Group: GroupCheckpoints, Worktree: true, ReadOnly: true, Near: []string{"compare", "changes"},
	Short: "Show what differs between checkpoints, or from one to what is there now",
	Long: `Prints the source files that differ as a unified diff that "git apply" reads, and
the tables that differ, with the rows that were inserted, updated and deleted where
that is known: the counters of both sides must be of one history, and what is there
now is counted only while its server runs or after it was stopped idle. Otherwise it
names the tables whose files differ. TRUNCATE is not counted by PostgreSQL: such a table
is "rewritten". Definitions (columns, constraints, triggers, views, indexes, functions,
types) are named where they changed along one history; owners, privileges and comments
are put back by a restore but not compared. Times of files do not count.`,
	Examples: []Example{
		{"forklift diff", "what changed since the checkpoint that the worktree rests on"},
		{"forklift diff before-migration", "from a checkpoint to what is there now"},
		{"forklift diff before-migration after --stat", "between two checkpoints, in short"},
		{"forklift diff before-migration -- src/app.py", "one file"},
	},
}, Diff)

// Diff compares. It changes nothing.
func Diff(ctx context.Context, env Env, req DiffRequest) (DiffResult, error) {
	opt := engine.DiffOptions{A: req.A, B: req.B, Files: engine.DiffPatch}
	switch {
	case req.Stat && req.NameOnly:
		return DiffResult{}, &fault.Error{Op: "diff", Kind: fault.Usage, Err: errors.New("--stat and --name-only were both given"), Hint: "Give one of them."}
	case req.Stat:
		opt.Files = engine.DiffStat
	case req.NameOnly:
		opt.Files = engine.DiffNames
	}
	return inWorktree(ctx, env, func(w Worktree) (result DiffResult, err error) {
		if opt.Paths, err = pathsIn(env, w, req.Paths); err != nil {
			return result, err
		}
		d, err := w.Diff(ctx, opt)
		if err == nil {
			result = DiffResult{DiffResult: *d, Style: opt.Files}
		}
		return result, err
	})
}
