package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"forklift/engine"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/vfs"
)

const (
	// hookPoll is how often a hook's output is looked at.
	hookPoll = 50 * time.Millisecond
	// hookGrace is how long a hook that is given up has to end before it is
	// killed.
	hookGrace = 2 * time.Second
	// maxHookTail bounds the end of a hook's output that is kept.
	maxHookTail = 4 << 10
	// maxHookLine bounds a line that has no end yet; a longer one is shown in
	// pieces.
	maxHookLine = 64 << 10
)

// hookRunner runs hooks as processes.
//
// A hook's output goes to a file, not to a pipe: an app that the hook leaves
// running in the background may go on writing there when nobody reads any
// more. The file is followed, so that the output is shown as it comes. The
// hook has a session of its own, so that it, and all it has started, can be
// killed at its limit, and so that an app outlives the terminal.
type hookRunner struct {
	environ []string
	out     io.Writer // where the output is shown; nil is nowhere
}

// run runs a hook; see engine.HookRunner.
func (r hookRunner) run(ctx context.Context, h engine.HookRun) (engine.HookEnd, error) {
	c := child{argv: h.Argv, dir: h.Dir, environ: withVars(r.environ, h.Vars)}
	c.environ = setVar(setVar(c.environ, "FORKLIFT_HOOK", h.Hook), "FORKLIFT_VERB", h.Verb)
	path, err := c.lookPath()
	if err != nil {
		return engine.HookEnd{}, &fault.Error{Path: h.Argv[0], Err: err}
	}
	disk := vfs.OS()
	if err := durable.Remove(disk, h.Log); err != nil {
		return engine.HookEnd{}, err
	}
	log, err := disk.OpenFile(h.Log, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return engine.HookEnd{}, err
	}
	defer func() { _ = log.Close() }()
	file, ok := log.(interface{ OSFile() *os.File })
	if !ok {
		return engine.HookEnd{}, errors.New("the log of the hook is not a file of the system")
	}
	cmd := exec.Command(path)
	cmd.Args, cmd.Dir, cmd.Env = c.argv, c.dir, c.environ
	cmd.Stdout, cmd.Stderr = file.OSFile(), file.OSFile()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// The terminal is the hook's now.
	progress.Report(ctx, progress.Event{})
	if err := cmd.Start(); err != nil {
		return engine.HookEnd{}, &fault.Error{Path: h.Argv[0], Err: err}
	}
	f := &follower{log: log, out: r.out, prefix: h.Hook + " hook: "}
	end := engine.HookEnd{TimedOut: waitHook(ctx, cmd, h.Limit, f)}
	end.ExitCode, end.Signal = exitOf(cmd.ProcessState)
	end.Output = string(f.tail)
	return end, nil
}

// waitHook waits for a hook while its output is shown. At its limit, or when
// the context is done, the hook and all it has started are ended, first
// kindly. It reports whether the limit was met.
func waitHook(ctx context.Context, cmd *exec.Cmd, limit time.Duration, f *follower) (timedOut bool) {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	tick := time.NewTicker(hookPoll)
	defer tick.Stop()
	// The hook leads its process group; errors mean that nobody is in it
	// any more.
	group := func(sig syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, sig) }
	canceled, given := ctx.Done(), false
	giveUp := func() {
		group(syscall.SIGTERM)
		timer.Reset(hookGrace)
		canceled, given = nil, true
	}
	for {
		select {
		case <-done: // how it ended is in cmd.ProcessState
			if given {
				group(syscall.SIGKILL) // what it has started
			}
			f.look()
			f.flush()
			return timedOut
		case <-tick.C:
			f.look()
		case <-canceled:
			giveUp()
		case <-timer.C:
			if given {
				group(syscall.SIGKILL)
				continue
			}
			timedOut = true
			giveUp()
		}
	}
}

// follower shows what is written to a hook's log, line by line.
type follower struct {
	log    io.ReaderAt
	out    io.Writer
	prefix string
	offset int64
	line   []byte // its last line, which has no end yet
	tail   []byte // the end of all
}

// look shows what is new. Output that cannot be read is not shown; what the
// hook has done is told by its exit code.
func (f *follower) look() {
	buf := make([]byte, 16<<10)
	for {
		n, err := f.log.ReadAt(buf, f.offset)
		f.offset += int64(n)
		f.take(buf[:n])
		if err != nil || n == 0 {
			return
		}
	}
}

func (f *follower) take(text []byte) {
	f.tail = append(f.tail, text...)
	if over := len(f.tail) - maxHookTail; over > 0 {
		f.tail = append([]byte(nil), f.tail[over:]...)
	}
	f.line = append(f.line, text...)
	for {
		line, rest, found := bytes.Cut(f.line, []byte("\n"))
		if !found {
			break
		}
		f.show(line)
		f.line = rest
	}
	if len(f.line) > maxHookLine {
		f.flush()
	}
}

// flush shows a last line without an end.
func (f *follower) flush() {
	if len(f.line) > 0 {
		f.show(f.line)
		f.line = nil
	}
}

func (f *follower) show(line []byte) {
	if f.out != nil {
		fmt.Fprintf(f.out, "%s%s\n", f.prefix, line)
	}
}
