package commands

import (
	"context"
	"time"

	"forklift/engine"
)

// completeWithin is how long a completion may take: a shell waits for it.
const completeWithin = 2 * time.Second

// Complete lists what can stand in a field whose tag complete says what:
// "checkpoint", "worktree", "seed" or "command". Whatever goes wrong, there
// is just nothing to offer. "file" and "path" are for the front.
func Complete(ctx context.Context, env Env, what string) []string {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	var names []string
	switch what {
	case "seed":
		seeds, err := env.Engine.SeedList(ctx, env.Dir)
		if err == nil {
			for _, s := range seeds {
				names = append(names, s.Name)
			}
		}
	case "checkpoint", "command", "worktree":
		names, _ = inWorktree(ctx, env, func(w Worktree) ([]string, error) {
			return completeIn(ctx, w, what)
		})
	}
	return names
}

func completeIn(ctx context.Context, w Worktree, what string) ([]string, error) {
	switch what {
	case "checkpoint":
		return w.Names(ctx)
	case "command":
		settings, err := w.Settings(ctx)
		return sortedKeys(settings.Commands), err
	}
	rows, err := w.List(ctx, engine.ListOptions{Project: true})
	names := map[string]bool{w.Info().Name: true}
	for _, row := range rows {
		names[row.Worktree] = true
	}
	return sortedKeys(names), err
}
