package commands

import (
	"context"

	"forklift/engine"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

// OperationRequest is the part of a request that the operations have in
// common: what to do about those who are in the way.
type OperationRequest struct {
	WaitRequest
	NoHooks bool `json:"no_hooks,omitempty" flag:"no-hooks" help:"do not run the hooks of .forklift.json: you stop and start the app yourself"`
}

func (r OperationRequest) options() engine.WaitOptions {
	opt := r.WaitRequest.options()
	opt.NoHooks = r.NoHooks
	return opt
}

// askForHooks asks a user who can be asked to approve hooks that he has not
// approved yet. Without one the operation itself refuses.
func askForHooks(ctx context.Context, env Env, w Worktree, req OperationRequest) error {
	if env.Confirm == nil || req.NoHooks {
		return nil
	}
	settings, err := w.Settings(ctx)
	if err != nil || !settings.Hooks {
		return nil // the operation says what is wrong with the file
	}
	_, err = askForTrust(ctx, env, w)
	return err
}

// askForTrust shows what .forklift.json would run to a user who can be asked,
// and approves exactly that when he agrees. It reports whether it is approved.
func askForTrust(ctx context.Context, env Env, w Worktree) (trusted bool, err error) {
	if trusted, err = w.Trusted(ctx); err != nil || trusted || env.Confirm == nil {
		return trusted, err
	}
	text, err := w.TrustText(ctx)
	if err != nil {
		return false, err
	}
	progress.Report(ctx, progress.Event{}) // the terminal is the question's now
	ok, err := env.Confirm(ctx, Question{
		Text:   "The commands and hooks of .forklift.json are not approved in this worktree:\n\n" + text,
		Prompt: "Approve them?",
	})
	if err != nil || !ok {
		return false, err
	}
	return true, w.Trust(ctx, text)
}

// untrusted is the error of what needs an approval that is not there.
func untrusted(op, path string, cause error) error {
	return &fault.Error{
		Op: op, Path: path, Kind: fault.Untrusted, Err: cause,
		Hint: "Read them with `forklift trust --show`, then approve them with `forklift trust`.",
	}
}
