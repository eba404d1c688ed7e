package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// TrustRequest asks to approve what the repository's file would run.
type TrustRequest struct {
	Show bool   `json:"show,omitempty" flag:"show" help:"only show it, approve nothing"`
	Plan string `json:"plan,omitempty" flag:"plan" value:"ID" help:"approve only what was shown with this id, which --show --json gives"`
}

// TrustResult says what was shown or approved.
type TrustResult struct {
	Text    string `json:"text"`    // what would run, for people
	Plan    string `json:"plan_id"` // the same as long as the text is
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
		sum := sha256.Sum256([]byte(result.Text))
		result.Plan = hex.EncodeToString(sum[:6])
		if result.Trusted, err = w.Trusted(ctx); err != nil || result.Trusted || req.Show {
			return result, err
		}
		shown := result.Text
		if req.Plan != "" && req.Plan != result.Plan {
			shown = "" // something else: the engine refuses, and says so
		}
		if err := w.Trust(ctx, shown); err != nil {
			return result, err
		}
		result.Trusted, result.Changed = true, true
		return result, nil
	})
}
