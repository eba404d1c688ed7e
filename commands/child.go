package commands

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"forklift/engine"
	"forklift/storage/progress"
)

// killAfter is how long a command has to end after the front gave it up; then
// it is killed.
const killAfter = 10 * time.Second

// child is a program that is run as a managed command.
type child struct {
	argv    []string
	dir     string
	environ []string
	// database adds the variables that lead to the worktree's database, as
	// they are once its server runs.
	database bool
}

// run registers the command, starts it with the front's standard streams and
// waits. The registration's file is inherited, so that it outlives this
// process if that is killed.
func (c child) run(ctx context.Context, env Env, w Worktree) (result RunResult, err error) {
	path, err := c.lookPath()
	if err != nil {
		return result, startFailure(c.argv[0], err)
	}
	hold, err := w.Enter(ctx, c.argv)
	if err != nil {
		return result, err
	}
	defer func() {
		// The command has ended, whatever became of the context, and its
		// exit code is the answer: a server that could not be stopped
		// behind it is not the command's failure.
		if leaveErr := hold.Leave(context.WithoutCancel(ctx)); leaveErr != nil {
			result.Warnings = append(result.Warnings, "after the command: "+leaveErr.Error())
		}
	}()
	if c.database {
		vars, err := w.Env(ctx)
		if err != nil {
			return result, err
		}
		c.environ = withVars(c.environ, vars)
	}
	return c.exec(ctx, env, path, hold.File(), hold.Started)
}

// exec starts the program at path and waits for it; it inherits held. started
// is told its process.
func (c child) exec(ctx context.Context, env Env, path string, held *os.File, started func(pid int) error) (result RunResult, err error) {
	cmd := exec.Command(path)
	cmd.Args, cmd.Dir, cmd.Env = c.argv, c.dir, c.environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Stdin, env.Stdout, env.Stderr
	cmd.ExtraFiles = []*os.File{held}

	// The terminal is the command's now.
	progress.Report(ctx, progress.Event{})
	signals := make(chan os.Signal, 16)
	if env.Signals != nil {
		defer env.Signals(signals)()
	}
	if err := ctx.Err(); err != nil {
		return result, err
	}
	if err := cmd.Start(); err != nil {
		return result, startFailure(c.argv[0], err)
	}
	startedErr := started(cmd.Process.Pid)
	waitErr := wait(ctx, cmd, signals, func() bool { return env.Foreground != nil && env.Foreground() })
	result = RunResult{Argv: c.argv, Dir: c.dir, PID: cmd.Process.Pid}
	var exit *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exit) {
		return result, waitErr
	}
	result.ExitCode, result.Signal = exitOf(cmd.ProcessState)
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	if startedErr != nil {
		// It only makes a message less precise: the hold itself is the
		// inherited file.
		result.Warnings = append(result.Warnings, startedErr.Error())
	}
	return result, nil
}

// wait passes signals on until the command has ended. A terminal delivers its
// own signals to the whole process group; passing those on would deliver them
// twice. A context that is done ends the command, first kindly.
func wait(ctx context.Context, cmd *exec.Cmd, signals <-chan os.Signal, foreground func() bool) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	canceled := ctx.Done()
	var kill <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case sig := <-signals:
			if fromTerminal(sig) && foreground() {
				continue
			}
			// The command may have ended meanwhile: that is no error.
			_ = cmd.Process.Signal(sig)
		case <-canceled:
			canceled = nil
			_ = cmd.Process.Signal(syscall.SIGTERM)
			timer := time.NewTimer(killAfter)
			defer timer.Stop()
			kill = timer.C
		case <-kill:
			_ = cmd.Process.Kill()
		}
	}
}

// fromTerminal reports a signal that a terminal sends to all processes in the
// foreground.
func fromTerminal(sig os.Signal) bool {
	return sig == syscall.SIGINT || sig == syscall.SIGQUIT || sig == syscall.SIGWINCH
}

// exitOf is the exit code to pass through, and the signal that ended the
// command, if one did.
func exitOf(state *os.ProcessState) (code int, signal string) {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal().String()
	}
	return state.ExitCode(), ""
}

// LookProgram says why a program that .forklift.json names could not be
// started in the worktree at dir with environ; nil when it could.
func LookProgram(dir string, environ []string, program string) error {
	_, err := child{argv: []string{program}, dir: dir, environ: environ}.lookPath()
	return err
}

// lookPath finds the program as the child itself would: relative names start
// at its directory, names without a slash are looked up in its PATH.
func (c child) lookPath() (string, error) {
	name := c.argv[0]
	if strings.ContainsRune(name, '/') {
		return name, executable(c.inDir(name))
	}
	path, _ := lookup(c.environ, "PATH")
	var first error
	for _, dir := range filepath.SplitList(path) {
		full := c.inDir(filepath.Join(dir, name))
		err := executable(full)
		if err == nil {
			return full, nil
		}
		if first == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			first = err
		}
	}
	if first != nil {
		return "", first
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

func (c child) inDir(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.dir, name)
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return &fs.PathError{Op: "execute", Path: path, Err: fs.ErrPermission}
	}
	return nil
}

// lookup finds a variable in an environment; the last one counts.
func lookup(environ []string, name string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(environ[i], "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// withVars is environ with vars in place of variables of the same names, and
// without those that must not be there.
func withVars(environ []string, vars []engine.EnvVar) []string {
	for _, v := range vars {
		if environ = unsetVar(environ, v.Name); !v.Unset {
			environ = append(environ, v.Name+"="+v.Value)
		}
	}
	return environ
}

// setVar is a copy of environ with one variable set.
func setVar(environ []string, name, value string) []string {
	return append(unsetVar(environ, name), name+"="+value)
}

// unsetVar is a copy of environ without one variable.
func unsetVar(environ []string, name string) []string {
	var out []string
	for _, entry := range environ {
		if key, _, _ := strings.Cut(entry, "="); key != name {
			out = append(out, entry)
		}
	}
	return out
}
