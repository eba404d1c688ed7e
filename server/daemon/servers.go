package daemon

import (
	"context"
	"time"
)

const (
	// DefaultServerIdle is how long a database server that nobody uses runs.
	DefaultServerIdle = 5 * time.Minute
	// maxServers bounds the worktrees whose servers are looked after.
	maxServers = 1024
	// lookTimeout bounds one look at a server, and a stop.
	lookTimeout = time.Minute
)

// stopIdleServers looks, from time to time, at the database servers of the
// worktrees that a session had open, and stops those that were found unused
// at each look for the idle time. When the daemon ends it stops those that
// are unused then: nobody would later.
func (d *Daemon) stopIdleServers(ctx context.Context) {
	if d.opt.StopServer == nil {
		return
	}
	idle := d.opt.ServerIdle
	if idle <= 0 {
		idle = DefaultServerIdle
	}
	known := map[string]Worktree{}
	unused := map[string]time.Time{} // since when
	tick := time.NewTicker(max(idle/5, time.Millisecond))
	defer tick.Stop()
	for {
		for _, w := range d.hub.Worktrees() {
			if w.Tracked && len(known) < maxServers {
				known[w.Path] = w
			}
		}
		select {
		case <-ctx.Done():
			for _, w := range known {
				d.stopServer(context.WithoutCancel(ctx), w, false)
			}
			return
		case <-tick.C:
		}
		for path, w := range known {
			now := d.opt.Clock.Now()
			if !d.stopServer(ctx, w, true) {
				delete(unused, path)
				continue
			}
			since, seen := unused[path]
			if !seen {
				unused[path] = now
			} else if now.Sub(since) >= idle && d.stopServer(ctx, w, false) {
				delete(unused, path)
				d.log.Info("stopped an idle database server", "worktree", path)
			}
		}
	}
}

// stopServer asks for one server; an error is logged and means that it is in
// use.
func (d *Daemon) stopServer(ctx context.Context, w Worktree, look bool) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	unused, err := d.opt.StopServer(ctx, w, look)
	if err != nil {
		d.log.Debug("look at a database server", "worktree", w.Path, "error", err)
		return false
	}
	return unused
}
