package commands

import (
	"context"
	"fmt"
	"strings"

	"forklift/engine"
	"forklift/storage"
	"forklift/storage/fault"
)

// CheckRequest asks to look for damage.
type CheckRequest struct {
	ReadData bool   `json:"read_data,omitempty" flag:"read-data" help:"read every byte of the store"`
	Subset   string `json:"read_data_subset,omitempty" flag:"read-data-subset" value:"PERCENT" help:"read about so much of it, chosen by chance, such as 5%"`
}

// CheckResult says what was looked at. Damage is an error of kind corrupt.
type CheckResult struct {
	engine.CheckResult
}

var checkVerb = NewVerb(Verb{
	Name: "check", Group: GroupMachine, Worktree: true, ReadOnly: true, Near: []string{"fsck", "verify"},
	Short: "Look for damage in the store",
	Long: `Looks whether all that the checkpoints of all projects need is stored, and
whether indexes, manifests and records are what was written. --read-data also
reads every stored byte and verifies it. Damage is exit code 7, and each
problem is named with the checkpoints that it hurts. Nothing is changed. It can be
run anywhere: outside of a repository it is the user's store that is looked at.`,
	Examples: []Example{
		{"forklift check", "the structure: seconds"},
		{"forklift check --read-data-subset 5%", "and a part of the data, another one each time"},
		{"forklift check --read-data", "and all of it"},
	},
}, Check)

// Check looks for damage; what it finds is an error of kind Corrupt whose
// Items are the problems.
func Check(ctx context.Context, env Env, req CheckRequest) (CheckResult, error) {
	opt := storage.CheckOptions{ReadData: req.ReadData}
	if req.Subset != "" {
		var err error
		if opt.Subset, err = share("read-data-subset", req.Subset); err != nil {
			return CheckResult{}, err
		}
		if opt.Subset == 0 {
			return CheckResult{}, &fault.Error{Op: "check", Path: "read-data-subset", Kind: fault.Usage, Err: fmt.Errorf("--read-data-subset: nothing would be read"),
				Hint: "Give more than 0%, or leave it out to check the structure."}
		}
	}
	return inWorktreeOr(ctx, env,
		func() (CheckResult, error) { return checked(env.Engine.CheckStore(ctx, env.Dir, opt)) },
		func(w Worktree) (CheckResult, error) { return checked(w.Check(ctx, opt)) })
}

// checked makes an error of what a check has found.
func checked(r *engine.CheckResult, err error) (result CheckResult, _ error) {
	if err != nil {
		return result, err
	}
	result.CheckResult = *r
	if len(r.Problems) == 0 {
		return result, nil
	}
	e := &fault.Error{Op: "check", Path: r.Store, Kind: fault.Corrupt, Err: fmt.Errorf("the store is damaged: %d problems", len(r.Problems)),
		Hint: "Run forklift repair. Look at the disk first: what damaged it may do so again."}
	for _, p := range r.Problems {
		e.Items = append(e.Items, p.Error)
	}
	if len(r.Checkpoints) > 0 {
		e.Items = append(e.Items, "hurt: "+strings.Join(r.Checkpoints, ", "))
	}
	return result, e
}
