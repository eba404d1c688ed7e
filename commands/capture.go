package commands

import (
	"context"

	"forklift/engine"
)

// CaptureRequest asks for a new checkpoint.
type CaptureRequest struct {
	Name string `json:"name,omitempty" arg:"[NAME]" help:"what to call it; without a name one is made from the time and the git branch"`
	Note string `json:"note,omitempty" flag:"note" short:"m" value:"NOTE" help:"a note to keep with it"`
	WaitRequest
	UnsavedRequest
}

// CaptureResult describes the new checkpoint.
type CaptureResult struct {
	engine.CaptureResult
}

var captureVerb = NewVerb(Verb{
	Name: "capture", Group: GroupCheckpoints, Worktree: true, Near: []string{"save", "commit", "snapshot", "checkpoint"},
	Short: "Save the source files and the database together",
	Long: `Saves the selected source files, uncommitted and untracked ones included, and
the whole database of this worktree as one checkpoint: both halves, of the
same moment. The database is stopped for a fraction of a second and started
again if it was running.

A name has 1 to 128 of the characters letters, digits, ".", "_" and "-". A
name that this worktree has already is refused.`,
	Examples: []Example{
		{"forklift capture before-migration", "save what is there now"},
		{`forklift capture -m "tests pass"`, "with a made-up name and a note"},
		{"forklift capture --wait 30s", "wait for running commands to end first"},
	},
}, Capture)

// Capture saves the worktree's source files and database as one checkpoint.
// It is durable when Capture returns nil; otherwise there is none.
func Capture(ctx context.Context, env Env, req CaptureRequest) (CaptureResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result CaptureResult, err error) {
		r, err := w.Capture(ctx, engine.CaptureOptions{WaitOptions: req.with(req.options()), Name: req.Name, Note: req.Note})
		if err == nil {
			result.CaptureResult = *r
		}
		return result, err
	})
}
