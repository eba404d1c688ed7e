package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"forklift/commands"
	"forklift/server/daemon"
	"forklift/server/front"
	"forklift/server/lsp"
	"forklift/server/session"
	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// idleVariable sets how long an unused daemon stays; the fronts pass it on.
const idleVariable = "FORKLIFT_DAEMON_IDLE"

// daemonGarbage is by how many percent the daemon's memory may grow between two
// collections. With the usual 100 the look at a repository of 100,000 files leaves it
// with 67 MiB instead of 57, and takes no less time.
const daemonGarbage = 50

// LSPRequest asks for a connection of an editor.
type LSPRequest struct {
	Stdio bool `json:"stdio,omitempty" flag:"stdio" help:"speak on stdin and stdout; there is no other way, but some editors say so"`
}

// LSPResult is the end of an editor's connection.
type LSPResult struct {
	Code int `json:"code"`
}

// ExitStatus is the exit code that the protocol asks for.
func (r *LSPResult) ExitStatus() int { return r.Code }

// DaemonRequest asks for a daemon.
type DaemonRequest struct {
	Idle       commands.Duration `json:"idle,omitempty" flag:"idle" value:"DURATION" help:"end after so long without editors and work; also FORKLIFT_DAEMON_IDLE (usually 10m)"`
	Background bool              `json:"background,omitempty" flag:"background" help:"for forklift lsp: write to the log only, and give way to a daemon that runs"`
}

// DaemonResult is the end of a daemon.
type DaemonResult struct {
	Ended bool `json:"ended"` // false: another one runs
}

func (a *app) lspVerb() *commands.Verb {
	return commands.NewVerb(commands.Verb{
		Name: "lsp", Group: commands.GroupEditors, Alone: true,
		Short: "Speak with an editor (Language Server Protocol)",
		Long: `What an editor starts, for any worktree: it speaks the Language Server Protocol
on stdin and stdout. It connects to the daemon of this user, and starts it when
it does not run. When the daemon dies it is started again and told what it must
know; the editor does not notice but for one message.`,
		Examples: []commands.Example{{Line: "forklift lsp", What: "the command of a language server in an editor's settings"}},
		Exits: []commands.Exit{{Code: 0, What: "the editor said shutdown and exit"}, {Code: 1, What: "it ended otherwise, or failed"},
			{Code: 2, What: "wrong arguments"}, {Code: 5, What: "others could reach the daemon's directory"}, {Code: 9, What: "the daemon is newer than this program can speak with"}},
	}, a.lsp)
}

// lsp is an editor's connection.
func (a *app) lsp(ctx context.Context, env commands.Env, _ LSPRequest) (LSPResult, error) {
	if a.json {
		return LSPResult{}, &fault.Error{Kind: fault.Usage, Err: errors.New("lsp writes messages to stdout, not a result"), Hint: "Leave --json out."}
	}
	dialer, err := a.dialer(env)
	if err != nil {
		return LSPResult{}, err
	}
	dialer.Start = func() (*daemon.Child, error) { return daemon.Start(env.Environ) }
	dialer.Waiting = func() { a.say("warning", "another daemon ends first; it finishes what it does") }
	code, err := front.Run(ctx, front.Options{
		In: a.in, Out: nopCloser{a.out}, Clock: clock.System{},
		Connect: func(ctx context.Context) (net.Conn, error) {
			conn, _, err := dialer.Connect(ctx)
			return conn, err
		},
		Log: func(text string) { a.say("warning", text) },
	})
	return LSPResult{Code: code}, err
}

// nopCloser leaves stdout open: the process ends next.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }

// place is where the daemon of this environment is.
func (a *app) place(env commands.Env) (daemon.Place, error) {
	places, err := commands.PlacesOf(env.Environ, runtime.GOOS)
	if err != nil {
		return daemon.Place{}, err
	}
	return daemon.PlaceOf(env.Environ, os.Geteuid(), places.State)
}

// dialer reaches that daemon.
func (a *app) dialer(env commands.Env) (*daemon.Dialer, error) {
	place, err := a.place(env)
	if err != nil {
		return nil, err
	}
	return &daemon.Dialer{Place: place, FS: vfs.OS(), UID: os.Geteuid(), Version: commands.Version, PID: os.Getpid(), Cwd: env.Dir, Environ: env.Environ}, nil
}

func (a *app) daemonVerb() *commands.Verb {
	return commands.NewVerb(commands.Verb{
		Name: "daemon", Group: commands.GroupEditors, Alone: true,
		Short: "Run the daemon behind the editors",
		Long: `There is no need to run it: "forklift lsp" starts it in the background when it
finds none, and it ends by itself when nobody used it for a while. Here it runs
in the foreground until Ctrl-C, and finishes running operations first.
"forklift daemon status", "stop" and "logs" tell about it and end it. The
command line needs no daemon.`,
		Examples: []commands.Example{{Line: "forklift daemon", What: "to see why it does not start"}},
	}, a.daemon)
}

// daemon is the daemon's life.
func (a *app) daemon(ctx context.Context, env commands.Env, req DaemonRequest) (DaemonResult, error) {
	place, err := a.place(env)
	if err != nil {
		return DaemonResult{}, err
	}
	idle, err := idleTime(req.Idle, env.Environ)
	if err != nil {
		return DaemonResult{}, err
	}
	wire := func(dir string, peer session.Peer) (commands.Env, error) {
		return commands.Wire(commands.Env{Clock: clock.System{}, Dir: dir, Environ: peer.Environ, Caller: peer.PID}, "lsp")
	}
	debug.SetGCPercent(daemonGarbage)
	err = daemon.Run(ctx, daemon.Options{
		Place: place, FS: vfs.OS(), Clock: clock.System{}, UID: os.Geteuid(), Version: commands.Version,
		Idle: idle, Background: req.Background,
		NewHub: func(log *slog.Logger) (daemon.Hub, error) {
			return hub{session.NewHub(session.HubOptions{Wire: wire, Log: log, Clock: clock.System{}})}, nil
		},
		StopServer: func(ctx context.Context, w daemon.Worktree, look bool) (bool, error) {
			env, err := wire(w.Path, session.Peer{Environ: env.Environ})
			if err != nil {
				return false, err
			}
			return commands.StopUnused(ctx, env, look)
		},
		Prepare: func(ctx context.Context, w daemon.Worktree) (bool, error) {
			env, err := wire(w.Path, session.Peer{Environ: env.Environ})
			if err != nil {
				return false, err
			}
			return commands.PrepareIdle(ctx, env)
		},
	})
	if errors.Is(err, daemon.ErrRunning) {
		if req.Background {
			return DaemonResult{}, nil
		}
		return DaemonResult{}, &fault.Error{Op: "start the daemon", Path: place.Lock, Kind: fault.Busy, Err: err, Hint: "`forklift daemon status` tells about it."}
	}
	return DaemonResult{Ended: true}, err
}

// idleTime is the idle time that was asked for; 0 is the usual one.
func idleTime(flag commands.Duration, environ []string) (time.Duration, error) {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, idleVariable+"="); ok && flag == 0 && value != "" {
			if err := flag.UnmarshalText([]byte(value)); err != nil {
				return 0, &fault.Error{Kind: fault.Usage, Err: fmt.Errorf("%s: %w", idleVariable, err)}
			}
		}
	}
	return flag.Std(), nil
}

// hub is the sessions' hub as the daemon sees it.
type hub struct{ *session.Hub }

// NewSession is what stands behind a new connection.
func (h hub) NewSession(p daemon.Peer) lsp.Handler {
	return h.Hub.NewSession(session.Peer{PID: p.PID, Cwd: p.Cwd, Environ: p.Environ, Version: p.Version})
}

// Worktrees lists what the sessions have open.
func (h hub) Worktrees() []daemon.Worktree {
	var out []daemon.Worktree
	for _, w := range h.Hub.Worktrees() {
		out = append(out, daemon.Worktree{Path: w.Path, Name: w.Name, Tracked: w.Tracked, Sessions: w.Sessions, Text: w.Text})
	}
	return out
}
