package commands

import "context"

// TrustRequest asks to approve what the repository's file would run.
type TrustRequest struct {
	Show bool `json:"show,omitempty" flag:"show" help:"only show it, approve nothing"`
}

// TrustResult says what was shown or approved.
type TrustResult struct {
	Text    string `json:"text"`    // what would run, for people
	Trusted bool   `json:"trusted"` // it is approved now
	Changed bool   `json:"changed"` // by this request
}

var trustVerb = NewVerb(Verb{
	Name: "trust", Group: GroupStart, Worktree: true, Near: []string{"allow", "approve"},
	Short: "Approve what the repository's file would run",
	Long: `Nothing that .forklift.json names is run until you approved the file in this
worktree. The approval holds for this worktree, this place and exactly this
content: change the file and you are asked again. "forklift run -- COMMAND"
needs no approval, because you gave the command yourself.`,
	Examples: []Example{
		{"forklift trust --show", "read it first"},
		{"forklift trust", "approve it"},
	},
}, Trust)

// Trust approves the present content of .forklift.json in this worktree. The
// approval is durable when it returns nil.
func Trust(ctx context.Context, env Env, req TrustRequest) (TrustResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result TrustResult, err error) {
		if result.Text, err = w.TrustText(ctx); err != nil {
			return result, err
		}
		if result.Trusted, err = w.Trusted(ctx); err != nil || result.Trusted || req.Show {
			return result, err
		}
		if err := w.Trust(ctx, result.Text); err != nil {
			return result, err
		}
		result.Trusted, result.Changed = true, true
		return result, nil
	})
}
