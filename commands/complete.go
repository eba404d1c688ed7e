package commands

import (
	"context"
	"time"

	"forklift/engine"
)

// completeWithin is how long a completion may take: a shell waits for it.
const completeWithin = 2 * time.Second

// Complete lists what can stand in a field whose tag complete says what:
// "checkpoint" (those of other worktrees as WORKTREE:NAME), "seed", "orphan"
// (a worktree that is gone) or "command". Whatever goes wrong, there is just nothing to offer. "file" and
// "path" are for the front.
func Complete(ctx context.Context, env Env, what string) []string {
	return CompleteWord(ctx, env, what, "")
}

// CompleteWord is Complete for a word that was begun; what does not begin
// with it may be listed, too. Only "checkpoint-path" needs the word: NAME:PATH,
// one directory at a time.
func CompleteWord(ctx context.Context, env Env, what, word string) []string {
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
	case "orphan":
		rows, err := env.Engine.WorktreeList(ctx, env.Dir, engine.WorktreeListOptions{Orphans: true})
		if err == nil {
			for _, w := range rows {
				names = append(names, w.Name)
			}
		}
	case "checkpoint":
		names, _ = inWorktree(ctx, env, func(w Worktree) ([]string, error) {
			return w.Names(ctx)
		})
	case "checkpoint-path":
		names, _ = inWorktree(ctx, env, func(w Worktree) ([]string, error) {
			known, err := w.Names(ctx)
			for i := range known {
				known[i] += ":"
			}
			return append(known, w.PathsBelow(ctx, word)...), err
		})
	case "command":
		names, _ = inWorktree(ctx, env, func(w Worktree) ([]string, error) {
			settings, err := w.Settings(ctx)
			return sortedKeys(settings.Commands), err
		})
	}
	return names
}
