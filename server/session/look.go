package session

import (
	"context"
	"path"
	"slices"
	"strings"

	"forklift/commands"
	"forklift/engine"
	"forklift/engine/config"
	"forklift/server/watch"
)

// look finds out what an event tells to look at, and publishes it. It reports
// that an operation is under way, so that there is to be another look soon.
func (t *tree) look(event watch.Event) (again bool) {
	ctx, cancel := context.WithTimeout(t.ctx, lookTimeout)
	defer cancel()
	event.Add(t.owed)
	t.owed = watch.Event{}
	t.mu.Lock()
	wanted := t.wanted
	if t.scan {
		// What is asked for from now on is answered by the next look.
		event.Files, event.Paths, t.scan = true, nil, false
	}
	t.mu.Unlock()
	if last := t.last(); last != nil && !last.Tracked {
		event.Link = true // nothing is known of what to watch either
	}
	// A folder in no worktree is asked for again whenever somebody looks: a
	// worktree may have been made around it.
	if event.Link || t.findErr != nil {
		_, t.gitDir, t.findErr = t.hub.opt.Find(ctx, t.root)
	}
	if t.findErr != nil {
		t.untracked(ctx, t.findErr, wanted)
		return false
	}
	if err := t.wire(); err != nil {
		t.publish(commands.Untracked(t.root, err), wanted)
		return false
	}
	if event.Records || event.Link {
		t.forgetRecent()
	}
	if event.Records || event.Link || t.last() == nil {
		quick, err := commands.Status(ctx, t.env, commands.StatusRequest{Quick: true})
		if err != nil {
			t.untracked(ctx, err, wanted)
			return false
		}
		if quick.Operation != nil || t.last() == nil || !t.last().Tracked {
			t.keepFiles(&quick)
			t.publish(quick, 0)
		}
		if quick.Operation != nil {
			// The files and directories are looked at when it has ended.
			t.owed = event
			t.owed.Records = false
			t.arrive(wanted)
			return true
		}
		t.tellMoves(ctx)
	}
	watching := event.Dirs || event.Link
	t.watchFirst(ctx, event)
	full, err := commands.StatusTracked(ctx, t.env, &t.tracker, touched(event))
	if err != nil {
		t.untracked(ctx, err, wanted)
		return false
	}
	switch {
	case watching && t.tracker.Followed():
		t.watcher.End()
	case watching: // there was nothing to compare the files with
		t.watcher.Set(t.target(ctx, true))
	}
	if !full.FilesKnown {
		// Nobody has looked at the files that were named.
		t.owed = watch.Event{Files: event.Files || event.Dirs || event.Link, Paths: touched(event)}
	}
	t.publish(full, wanted)
	if mayLeadElsewhere(event) {
		t.lookElsewhere(ctx)
	}
	t.each((*session).refreshLenses)
	return full.Operation != nil
}

// watchFirst watches what an event may have changed, before it is looked at.
func (t *tree) watchFirst(ctx context.Context, event watch.Event) {
	switch {
	case event.Dirs || event.Link:
		t.watcher.Begin(t.target(ctx, false))
	case event.Settings:
		// Those who say what git ignores may be others.
		t.watcher.Extend(t.target(ctx, false))
	}
	if event.Index || event.Settings {
		t.tracker.Doubt()
	}
}

// touched are the files that an event names; nil when anything may have
// changed.
func touched(event watch.Event) []string {
	switch {
	case event.Dirs || event.Link:
		return nil
	case event.Files:
		return event.Paths
	}
	return []string{}
}

// mayLeadElsewhere reports an event that may have changed a file of variables,
// or which variable counts.
func mayLeadElsewhere(event watch.Event) bool {
	return !event.Files || event.Paths == nil || event.Records || event.Dirs || event.Link ||
		slices.ContainsFunc(event.Paths, func(p string) bool { return strings.HasPrefix(p, ".env") || p == config.Name })
}

// lookElsewhere looks for lines that lead to another database.
func (t *tree) lookElsewhere(ctx context.Context) {
	lines, err := commands.Elsewhere(ctx, t.env, nil)
	if err != nil {
		lines = nil // a .forklift.json that cannot be read has its own diagnostics
	}
	t.mu.Lock()
	t.elsewhere = lines
	t.mu.Unlock()
}

// wire makes the Env once.
func (t *tree) wire() error {
	if t.wired {
		return nil
	}
	env, err := t.hub.opt.Wire(t.root, t.peer)
	if err != nil {
		return err
	}
	env.Dir, env.Environ = t.root, t.peer.Environ
	t.env, t.wired = env, true
	return nil
}

// arrive lets those who asked have what there is.
func (t *tree) arrive(upTo int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if upTo > t.done {
		t.done = upTo
		close(t.advanced)
		t.advanced = make(chan struct{})
	}
}

// keepFiles lets a quick status tell the files that the last one did.
func (t *tree) keepFiles(quick *commands.StatusResult) {
	if last := t.last(); last != nil && last.Tracked {
		quick.Files, quick.FileCount, quick.FilesKnown = last.Files, last.FileCount, last.FilesKnown
	}
}

// untracked publishes that there is nothing to see, and watches only for what
// would change that.
func (t *tree) untracked(ctx context.Context, err error, wanted int64) {
	if ctx.Err() != nil && t.ctx.Err() != nil {
		return // the last session has left
	}
	t.watcher.Set(watch.Target{Root: t.root, GitDir: t.gitDir})
	t.publish(commands.Untracked(t.root, err), wanted)
}

// target is what to watch: with walk all of it, without it what is known before
// the files are looked at.
func (t *tree) target(ctx context.Context, walk bool) watch.Target {
	target := watch.Target{Root: t.root, GitDir: t.gitDir, Dirs: []string{"."}}
	err := t.open(ctx, func(w commands.Worktree) error {
		places, err := w.Places(ctx, walk)
		if err != nil {
			return err
		}
		target = targetOf(places)
		return nil
	})
	if err != nil {
		t.hub.opt.Log.Warn("find out what to watch", "worktree", t.root, "error", err)
	}
	return target
}

// follow watches what a scan is about to read.
func (t *tree) follow(dir string, repository bool) {
	if repository {
		t.watcher.Follow(path.Join(dir, ".git"), true)
		return
	}
	t.watcher.Follow(dir, false)
}

func targetOf(p *engine.Places) watch.Target {
	return watch.Target{Root: p.Root, GitDir: p.GitDir, Records: p.Records, Holders: p.Holders, Trust: p.Trust, Dirs: p.Dirs, Rules: p.Rules, Settings: p.Settings}
}

// open runs f on the worktree.
func (t *tree) open(ctx context.Context, f func(commands.Worktree) error) error {
	return inWorktree(ctx, t.env, t.root, f)
}
