package main

import (
	"fmt"

	"forklift/storage/clock"
)

func renderDaemonStatus(p *printer, r *DaemonStatusResult) {
	d := r.Daemon
	if d == nil {
		p.line("The daemon does not run. Editors start it when they need it.")
		return
	}
	p.line("The daemon runs (pid %d), started %s.", d.PID, clock.Ago(p.now, d.Started))
	if d.Leaving {
		p.line("It ends when its operations have.")
	}
	p.row("version", "%s", plain(d.Version))
	p.row("socket", "%s", plain(r.Socket))
	p.row("log", "%s", plain(r.Log))
	if d.Resident > 0 {
		p.row("memory", "%s", formatBytes(d.Resident))
	}
	p.row("running", "%s", plural(d.Operations, "operation", "operations"))
	for _, s := range d.Sessions {
		editor := s.Editor
		if editor == "" {
			editor = "editor"
		}
		p.row("attached", "%s", plain(fmt.Sprintf("%s (pid %d, forklift %s) in %s", editor, s.PID, s.Version, s.Cwd)))
	}
	for _, w := range d.Worktrees {
		p.row("worktree", "%s  %s", plain(w.Path), plain(w.Text))
	}
}

func renderDaemonStop(p *printer, r *DaemonStopResult) {
	switch {
	case !r.Stopped:
		p.line("The daemon does not run.")
	case r.Sessions > 0:
		p.line("The daemon (pid %d) is stopped; %s start a new one.", r.PID, plural(r.Sessions, "attached editor", "attached editors"))
	default:
		p.line("The daemon (pid %d) is stopped.", r.PID)
	}
}

func renderDaemonLogs(p *printer, r *DaemonLogsResult) {
	if r.Empty {
		p.line("The log %s is empty: no daemon has written to it.", plain(r.Log))
	}
	for _, line := range r.Lines {
		p.line("%s", plain(line))
	}
}
