package commands

import "context"

// DBStopRequest asks for a stopped server.
type DBStopRequest struct {
	WaitRequest
}

// DBStopResult says that the server is at rest.
type DBStopResult struct {
	State string `json:"state"` // always "stopped"
}

var dbStopVerb = NewVerb(Verb{
	Name: "db stop", Group: GroupDatabase, Worktree: true,
	Short:    "Stop this worktree's server",
	Long:     `Stops the server cleanly and takes the pin of "forklift db start" off.`,
	Examples: []Example{{"forklift db stop", ""}},
}, DBStop)

// DBStop returns once the server is at rest.
func DBStop(ctx context.Context, env Env, req DBStopRequest) (DBStopResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (DBStopResult, error) {
		return DBStopResult{State: "stopped"}, w.StopDatabase(ctx, req.options())
	})
}
