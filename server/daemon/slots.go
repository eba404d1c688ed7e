package daemon

import (
	"context"
	"time"

	"forklift/storage/clock"
)

const (
	// DefaultPrepareEvery is how often the daemon looks for idle slots to
	// prepare.
	DefaultPrepareEvery = 2 * time.Second
	// prepareAgain is how many of those looks a worktree is left alone whose
	// status says the same as before.
	prepareAgain = 30
)

// prepareSlots has restores prepared in the worktrees that a session has open,
// one after another: soon after their status says something else, as it does
// behind a capture, and now and then in any case. What takes long gives way to
// whoever wants to do something in the worktree.
func (d *Daemon) prepareSlots(ctx context.Context) {
	if d.opt.Prepare == nil {
		return
	}
	every := d.opt.PrepareEvery
	if every <= 0 {
		every = DefaultPrepareEvery
	}
	type seen struct {
		text string
		left int // looks until the next try in any case
	}
	known := map[string]seen{}
	for range clock.Every(ctx, every) {
		open := map[string]seen{}
		for _, w := range d.hub.Worktrees() {
			if !w.Tracked || len(open) >= maxServers || ctx.Err() != nil {
				continue
			}
			s, met := known[w.Path]
			if s.left--; !met || s.text != w.Text || s.left <= 0 {
				s = seen{w.Text, prepareAgain}
				d.prepare(ctx, w)
			}
			open[w.Path] = s
		}
		known = open
	}
}

// prepare prepares one worktree. It has no deadline: what it does is bounded, and
// ends when the daemon does.
func (d *Daemon) prepare(ctx context.Context, w Worktree) {
	done, err := d.opt.Prepare(ctx, w)
	switch {
	case err != nil:
		d.log.Debug("prepare a restore", "worktree", w.Path, "error", err)
	case done:
		d.log.Info("prepared the idle database slot", "worktree", w.Path)
	}
}
