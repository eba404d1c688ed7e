package commands

import (
	"context"

	"forklift/engine"
)

// DBStartRequest asks for a running server.
type DBStartRequest struct{}

// DBServerResult is the state of the server.
type DBServerResult struct {
	engine.ServerInfo
}

var dbStartVerb = NewVerb(Verb{
	Name: "db start", Group: GroupDatabase, Worktree: true,
	Short: "Start this worktree's server and keep it running",
	Long: `Starts the server and pins it: it goes on until "forklift db stop". Without a pin
it stops when the last command of "forklift run" leaves.`,
	Examples: []Example{{"forklift db start", ""}},
}, DBStart)

// DBStart returns once the server accepts connections.
func DBStart(ctx context.Context, env Env, _ DBStartRequest) (DBServerResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (result DBServerResult, err error) {
		info, err := w.StartDatabase(ctx, true)
		if err == nil {
			result.ServerInfo = *info
		}
		return result, err
	})
}
