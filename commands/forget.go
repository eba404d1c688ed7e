package commands

import (
	"context"
	"fmt"
	"strings"

	"forklift/engine"
)

// ForgetRequest asks to forget checkpoints: those that are named, or those
// that no rule keeps.
type ForgetRequest struct {
	Refs         []string `json:"refs,omitempty" arg:"[NAME...]" complete:"checkpoint" help:"checkpoints of this worktree, or WORKTREE:NAME"`
	KeepLast     int      `json:"keep_last,omitempty" flag:"keep-last" value:"N" help:"forget all captures but the last N"`
	KeepHourly   int      `json:"keep_hourly,omitempty" flag:"keep-hourly" value:"N" help:"keep the last of each of the last N hours that have any"`
	KeepDaily    int      `json:"keep_daily,omitempty" flag:"keep-daily" value:"N" help:"the same for days"`
	KeepWeekly   int      `json:"keep_weekly,omitempty" flag:"keep-weekly" value:"N" help:"the same for weeks"`
	KeepMonthly  int      `json:"keep_monthly,omitempty" flag:"keep-monthly" value:"N" help:"the same for months"`
	KeepWithin   Duration `json:"keep_within,omitempty" flag:"keep-within" value:"DURATION" help:"keep those that are not older than so much before the newest, such as 12h, 7d or 4w"`
	AllWorktrees bool     `json:"all_worktrees,omitempty" flag:"all-worktrees" help:"apply the rules to each worktree of the project"`
	PlanRequest
}

// ForgetResult says which checkpoints were forgotten, or would be.
type ForgetResult struct {
	engine.ForgetResult
	Declined bool `json:"declined,omitempty"` // the user was asked and said no
}

var forgetVerb = NewVerb(Verb{
	Name: "forget", Group: GroupCheckpoints, Worktree: true, Near: []string{"delete", "remove", "drop", "rm"},
	Short: "Forget checkpoints",
	Long: `Forgets the named checkpoints, or those of this worktree that no --keep rule
keeps; a checkpoint stays if any of the rules keeps it. The rules know the
checkpoints that you captured, not those that restores made before they
changed anything: prune forgets these when they have had their time.

It refuses a checkpoint that a worktree rests on, that undo goes back to, that
an interrupted operation needs, or that is protected. It says what it is going
to forget and asks first. What the checkpoints held stays in the store until
"forklift prune".`,
	Examples: []Example{
		{"forklift forget try-1 try-2", "say what would go, and ask"},
		{"forklift forget --keep-last 5 --keep-daily 7", "forget what neither rule keeps"},
		{"forklift forget --keep-within 7d --yes", "do it"},
	},
}, Forget)

// Forget removes checkpoints if the request or the user says so; otherwise
// the result is only the plan, with Done false.
func Forget(ctx context.Context, env Env, req ForgetRequest) (ForgetResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result ForgetResult, err error) {
		opt := engine.ForgetOptions{Refs: req.Refs, Project: req.AllWorktrees, Policy: engine.KeepPolicy{Last: req.KeepLast, Hourly: req.KeepHourly,
			Daily: req.KeepDaily, Weekly: req.KeepWeekly, Monthly: req.KeepMonthly, Within: req.KeepWithin.Std()}}
		r, declined, err := planned(ctx, env, req.PlanRequest, func(yes bool, id string) (*engine.ForgetResult, error) {
			opt.Yes, opt.Plan = yes, id
			return w.Forget(ctx, opt)
		}, func(r *engine.ForgetResult) (Question, string) {
			if len(r.Forget) == 0 {
				return Question{}, r.Plan
			}
			var names []string
			for _, row := range r.Forget {
				names = append(names, row.Worktree+":"+row.Name)
			}
			return Question{Text: fmt.Sprintf("These checkpoints are forgotten, and cannot be restored any more:\n\n  %s\n", strings.Join(names, "\n  ")),
				Prompt: "Forget them?"}, r.Plan
		})
		if err != nil {
			return result, err
		}
		return ForgetResult{*r, declined}, nil
	})
}
