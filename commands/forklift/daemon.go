package main

import (
	"context"
	"errors"
	"fmt"

	"forklift/commands"
	"forklift/server/daemon"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// maxLogLines bounds what is asked of the log.
const maxLogLines = 100_000

// DaemonStatusRequest asks whether the daemon runs.
type DaemonStatusRequest struct{}

// DaemonStatusResult tells whether it runs and what it does.
type DaemonStatusResult struct {
	Running bool           `json:"running"`
	Socket  string         `json:"socket"`
	Log     string         `json:"log"`
	Daemon  *daemon.Status `json:"daemon,omitempty"`
}

// DaemonStopRequest asks for the end of the daemon.
type DaemonStopRequest struct {
	Wait commands.Duration `json:"wait,omitempty" flag:"wait" value:"DURATION" default:"2m" help:"how long to wait for its running operations"`
}

// DaemonStopResult says that there is none.
type DaemonStopResult struct {
	Stopped  bool `json:"stopped"` // false: none ran
	PID      int  `json:"pid,omitempty"`
	Sessions int  `json:"sessions"` // editors that were attached
}

// DaemonLogsRequest asks for the daemon's log.
type DaemonLogsRequest struct {
	Lines  int  `json:"lines,omitempty" flag:"lines" short:"n" value:"N" default:"50" help:"how many lines"`
	Follow bool `json:"follow,omitempty" flag:"follow" short:"f" help:"go on until Ctrl-C"`
}

// DaemonLogsResult is the end of the log.
type DaemonLogsResult struct {
	Log   string   `json:"log"`
	Lines []string `json:"lines"`
	Empty bool     `json:"empty"` // nothing was ever written to it
}

// editorVerbs are the verbs that only a command line can have.
func (a *app) editorVerbs() []*commands.Verb {
	return []*commands.Verb{
		a.lspVerb(), a.daemonVerb(),
		commands.NewVerb(commands.Verb{
			Name: "daemon status", Group: commands.GroupEditors, ReadOnly: true, Alone: true,
			Short:    "Tell whether the daemon runs, and for whom",
			Examples: []commands.Example{{Line: "forklift daemon status", What: ""}},
		}, a.daemonStatus),
		commands.NewVerb(commands.Verb{
			Name: "daemon stop", Group: commands.GroupEditors, Alone: true,
			Short: "End the daemon when its operations are done",
			Long: `Ends the daemon: it takes no new work, finishes what runs, and exits. Editors that
are attached start a new one at once. Without a daemon there is nothing to do.`,
			Examples: []commands.Example{{Line: "forklift daemon stop", What: "after an update of forklift"}},
		}, a.daemonStop),
		commands.NewVerb(commands.Verb{
			Name: "daemon logs", Group: commands.GroupEditors, ReadOnly: true, Alone: true,
			Short:    "Print the daemon's log",
			Examples: []commands.Example{{Line: "forklift daemon logs --follow", What: "watch it"}},
		}, a.daemonLogs),
	}
}

// daemonStatus asks the daemon.
func (a *app) daemonStatus(ctx context.Context, env commands.Env, _ DaemonStatusRequest) (DaemonStatusResult, error) {
	dialer, err := a.dialer(env)
	if err != nil {
		return DaemonStatusResult{}, err
	}
	status, running, err := dialer.Ask(ctx, "status")
	result := DaemonStatusResult{Running: running, Socket: dialer.Place.Socket, Log: dialer.Place.Log}
	if running {
		result.Daemon = &status
	}
	return result, err
}

// daemonStop returns when the daemon has ended.
func (a *app) daemonStop(ctx context.Context, env commands.Env, req DaemonStopRequest) (DaemonStopResult, error) {
	dialer, err := a.dialer(env)
	if err != nil {
		return DaemonStopResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, req.Wait.Std())
	defer cancel()
	status, stopped, err := dialer.Stop(ctx)
	return DaemonStopResult{Stopped: stopped, PID: status.PID, Sessions: len(status.Sessions)}, err
}

// daemonLogs reads the log, and with Follow writes what comes to stdout.
func (a *app) daemonLogs(ctx context.Context, env commands.Env, req DaemonLogsRequest) (DaemonLogsResult, error) {
	if req.Lines < 0 || req.Lines > maxLogLines {
		return DaemonLogsResult{}, &fault.Error{Kind: fault.Usage, Err: fmt.Errorf("--lines takes a number from 0 to %d", maxLogLines)}
	}
	if req.Follow && a.json {
		return DaemonLogsResult{}, &fault.Error{Kind: fault.Usage, Err: errors.New("--follow prints lines as they come, not a result"), Hint: "Leave --json or --follow out."}
	}
	place, err := a.place(env)
	if err != nil {
		return DaemonLogsResult{}, err
	}
	lines, end, err := daemon.LastLines(vfs.OS(), place.Log, req.Lines)
	if err != nil || !req.Follow {
		return DaemonLogsResult{Log: place.Log, Lines: append([]string{}, lines...), Empty: len(lines) == 0 && req.Lines > 0}, err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(env.Stdout, plain(line)); err != nil {
			return DaemonLogsResult{}, err
		}
	}
	return DaemonLogsResult{Log: place.Log}, daemon.FollowLog(ctx, vfs.OS(), place.Log, end, env.Stdout)
}
