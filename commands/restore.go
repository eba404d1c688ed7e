package commands

import (
	"context"
	"errors"

	"forklift/engine"
	"forklift/storage/fault"
)

// RestoreRequest asks to go back to a checkpoint.
type RestoreRequest struct {
	Ref            string   `json:"ref" arg:"NAME" complete:"checkpoint" help:"a checkpoint of this worktree, or WORKTREE:NAME for one of another worktree"`
	Paths          []string `json:"paths,omitempty" arg:"[-- PATH...]" complete:"path" help:"put back only these files and directories, and leave the database alone"`
	CodeOnly       bool     `json:"code_only,omitempty" flag:"code-only" help:"put back the source files; the database is not touched, and its server goes on"`
	DataOnly       bool     `json:"data_only,omitempty" flag:"data-only" help:"put back the database; no source file is touched"`
	Plan           string   `json:"plan,omitempty" flag:"plan" value:"[ID]" optional:"show" help:"show what would be done and change nothing; with the ID of a plan and --yes: do it only if it would still do just that"`
	Yes            bool     `json:"yes,omitempty" flag:"yes" short:"y" help:"do it; a restore never asks, so only --plan ID needs this"`
	Verify         bool     `json:"verify,omitempty" flag:"verify" help:"read back every page of the database that was put in place"`
	DiscardCurrent bool     `json:"discard_current,omitempty" flag:"discard-current" help:"go on although the present database cannot be saved; it is set aside as it is, and undo brings it back"`
	OperationRequest
	UnsavedRequest
}

// RestoreResult describes a finished restore, undo or redo, or with Plan only
// what a restore would do.
type RestoreResult struct {
	engine.RestoreResult
	Plan *engine.RestorePlan `json:"plan,omitempty"` // nothing was done; the rest is empty
}

// ShowPlan is the value of RestoreRequest.Plan that asks for the plan.
const ShowPlan = "show"

var restoreVerb = NewVerb(Verb{
	Name: "restore", Group: GroupCheckpoints, Worktree: true, Near: []string{"checkout", "rollback", "rewind", "load"},
	Short: "Put the source files and the database of a checkpoint back",
	Long: `Puts both halves of a checkpoint back, exactly, or neither. What is there now is
saved first as a safety checkpoint, which "forklift undo" goes back to. Files
outside the selected paths, the git history, the index and the URL of the
database stay as they are. Hooks are run as for a capture.

With paths behind --, only those files and directories are put back; in a directory,
files that the checkpoint does not have are removed. With --code-only all source files
are, with --data-only the database is. The other half is not touched, and "forklift
status" tells which checkpoint each half rests on. "forklift undo" takes back just what
was put back.`,
	Examples: []Example{
		{"forklift restore before-migration", "go back"},
		{"forklift restore other:before-migration", "take over a checkpoint of the worktree named other"},
		{"forklift restore before-migration --plan", "what would be done, and the id of that plan"},
		{"forklift restore before-migration --yes --plan 1f0c6a2b9d3e", "do just that, or nothing"},
		{"forklift restore before-migration -- src/app.py", "one file"},
		{"forklift restore before-migration --data-only", "the database, under the files as they are"},
		{"forklift undo", "take the restore back"},
	},
}, Restore)

// Restore puts a checkpoint back, or a part of it, or tells what that would
// do. When it returns nil what was asked for is in place and durable; after an
// error all is as it was, or the kind is Interrupted and recover finishes the
// work.
func Restore(ctx context.Context, env Env, req RestoreRequest) (RestoreResult, error) {
	if err := req.check(); err != nil {
		return RestoreResult{}, err
	}
	opt := engine.RestoreOptions{WaitOptions: req.with(req.options()), Ref: req.Ref, Verify: req.Verify, DiscardCurrent: req.DiscardCurrent, Part: req.part()}
	return inWorktree(ctx, env, func(w Worktree) (result RestoreResult, err error) {
		if opt.Paths, err = pathsIn(env, w, req.Paths); err != nil {
			return result, err
		}
		if req.Plan == ShowPlan {
			result.Plan, err = w.PlanRestore(ctx, opt)
			return result, err
		}
		opt.Plan = req.Plan
		if err := askForHooks(ctx, env, w, req.OperationRequest); err != nil {
			return RestoreResult{}, err
		}
		return restored(w.Restore(ctx, opt))
	})
}

// part is what of the checkpoint is asked for.
func (r *RestoreRequest) part() engine.Part {
	switch {
	case len(r.Paths) > 0:
		return engine.PartPaths
	case r.CodeOnly:
		return engine.PartCode
	case r.DataOnly:
		return engine.PartData
	}
	return engine.PartAll
}

// check refuses what does not go together.
func (r *RestoreRequest) check() error {
	e := &fault.Error{Op: "restore", Path: r.Ref, Kind: fault.Usage}
	files := r.CodeOnly || len(r.Paths) > 0
	switch {
	case r.CodeOnly && r.DataOnly:
		e.Err, e.Hint = errors.New("--code-only and --data-only were both given"), "Leave both out to put both halves back."
	case r.DataOnly && len(r.Paths) > 0:
		e.Err, e.Hint = errors.New("--data-only touches no files, but paths were given"), "Leave one of them out."
	case files && (r.Verify || r.DiscardCurrent):
		e.Err, e.Hint = errors.New("--verify and --discard-current are about the database, which is not touched"), "Leave them out."
	case r.Plan == ShowPlan && r.Yes:
		e.Err, e.Hint = errors.New("--plan without an ID changes nothing, but --yes was given"), "Give --yes --plan ID to do a plan, or leave --yes out."
	case r.Plan != "" && r.Plan != ShowPlan && !r.Yes:
		e.Err, e.Hint = errors.New("--plan ID needs --yes"), "Give --yes --plan ID to do that plan, or --plan alone to look at the present one."
	default:
		return nil
	}
	return e
}

func restored(r *engine.RestoreResult, err error) (RestoreResult, error) {
	if err != nil {
		return RestoreResult{}, err
	}
	return RestoreResult{RestoreResult: *r}, nil
}
