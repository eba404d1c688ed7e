package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"forklift/engine"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

// Keeper is the part of a Worktree that looks after its checkpoints and the
// store; see engine.Worktree for what each method promises.
type Keeper interface {
	Forget(ctx context.Context, opt engine.ForgetOptions) (*engine.ForgetResult, error)
	Prune(ctx context.Context, opt engine.PruneOptions) (*engine.PruneResult, error)
	DiskUsage(ctx context.Context, refs []string) (*engine.DiskUsage, error)
	Check(ctx context.Context, opt storage.CheckOptions) (*engine.CheckResult, error)
	Repair(ctx context.Context, opt engine.RepairOptions) (*engine.RepairResult, error)
	ChangeName(ctx context.Context, ref, to string) (*engine.Checkpoint, error)
	Note(ctx context.Context, ref, text string) (*engine.Checkpoint, error)
	Protect(ctx context.Context, ref string, protect bool) (*engine.Checkpoint, error)
}

// PlanRequest is the part of a request that says whether a plan is only
// shown, or done.
type PlanRequest struct {
	Yes  bool   `json:"yes,omitempty" flag:"yes" short:"y" help:"do it without a question; without a terminal it is only described unless this is given"`
	Plan string `json:"plan,omitempty" flag:"plan" value:"ID" help:"do only the plan that was shown with this id"`
}

// planned runs a verb that shows its plan and does exactly that. run makes
// the plan, or does it; question says of a plan what to ask, and its id; an empty
// prompt means that there is nothing to do, or that it is done.
func planned[R any](ctx context.Context, env Env, req PlanRequest, run func(yes bool, id string) (*R, error),
	question func(*R) (q Question, id string)) (result *R, declined bool, err error) {
	if req.Yes {
		result, err = run(true, req.Plan)
		return result, false, err
	}
	plan, err := run(false, "")
	if err != nil {
		return nil, false, err
	}
	q, id := question(plan)
	if env.Confirm == nil || q.Prompt == "" {
		return plan, false, nil
	}
	progress.Report(ctx, progress.Event{}) // the terminal is the question's now
	agreed, err := env.Confirm(ctx, q)
	if err != nil || !agreed {
		return plan, err == nil, err
	}
	result, err = run(true, id)
	return result, false, err
}

// share reads a percentage such as "5%"; what names the flag.
func share(what, text string) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(n >= 0 && n <= 100) {
		return 0, &fault.Error{Op: "read request", Path: what, Kind: fault.Usage, Err: fmt.Errorf("--%s: %q is not a percentage", what, text),
			Hint: "Give a number from 0 to 100 with a percent sign, such as 5%."}
	}
	return n / 100, nil
}
