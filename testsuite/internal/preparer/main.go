// Command preparer prepares the next restore of the worktree that it is started
// in, once, as the daemon does behind an editor, and prints whether there was
// something to do. No verb does that; the torture tests build it with
// failpoints and kill it at each step.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"forklift/commands"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done, err := prepare(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "preparer:", err)
		os.Exit(1)
	}
	fmt.Println(done)
}

// prepare wires the engine like the daemon.
func prepare(ctx context.Context) (bool, error) {
	dir, err := os.Getwd()
	if err != nil {
		return false, err
	}
	env, err := commands.Wire(commands.Env{Dir: dir, Environ: os.Environ()}, "lsp")
	if err != nil {
		return false, err
	}
	return commands.PrepareIdle(ctx, env)
}
