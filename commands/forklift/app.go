package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"forklift/commands"
	"forklift/storage/clock"
	"forklift/storage/fault"
)

// app is one run of the program. Its fields are everything that it touches of
// the world, so that tests can give their own.
type app struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	getwd    func() (string, error)
	clock    clock.Clock
	term     terminal
	signals  *signals
	// wire completes an Env with the engine and PostgreSQL of this machine.
	wire func(env commands.Env) (commands.Env, error)

	args []string // as they were typed
	json bool     // --json
	dir  string   // --directory
	code int      // exit code of a verb that passes one through
}

// newApp is the program as it stands on this machine.
func newApp() *app {
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(),
		getwd: os.Getwd, clock: clock.System{}, signals: newSignals(), wire: func(env commands.Env) (commands.Env, error) { return commands.Wire(env, "cli") },
	}
	a.term = newTerminal(os.Stdin, os.Stdout, os.Stderr, a.environ)
	return a
}

// main runs the program with arguments and gives its exit code.
func (a *app) main(args []string) int {
	ctx, stop := a.signals.context(context.Background(), a.stopping)
	defer stop()
	a.args = args
	root := a.tree()
	root.SetArgs(append([]string{}, joinPlan(args)...)) // nil would mean the arguments of the process
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return a.code
	}
	if !a.json {
		a.json = wantsJSON(args)
	}
	a.printError(err)
	if v := a.verb(cmd); v != nil {
		return v.ExitCode(err)
	}
	return fault.KindOf(err).ExitCode()
}

// stopping answers a first Ctrl-C; on a terminal that stands in the line.
func (a *app) stopping() {
	if a.term.err {
		fmt.Fprintln(a.err)
	}
	fmt.Fprintln(a.err, "forklift: stopping; once more stops at once")
}

// wantsJSON finds --json in arguments that could not be parsed.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		if arg == "--json" {
			return true
		}
		if arg == "--" {
			break
		}
	}
	return false
}

// run runs a verb and prints its result.
func (a *app) run(ctx context.Context, v *commands.Verb, request any) error {
	env, err := a.env()
	if err == nil && !v.Alone {
		env, err = a.wire(env)
	}
	if err != nil {
		return err
	}
	meter := newMeter(a.err, a.term.err, a.term.width, v.Name)
	defer meter.stop()
	if meter != nil {
		env.Progress = meter
	}
	result, err := v.Run(ctx, env, request)
	meter.stop()
	if err != nil {
		return err
	}
	if r, ok := result.(interface{ ExitStatus() int }); ok {
		a.code = r.ExitStatus()
	}
	return a.print(v, result)
}

// env is what a verb gets, without what wire adds.
func (a *app) env() (commands.Env, error) {
	dir, err := a.workingDir()
	if err != nil {
		return commands.Env{}, err
	}
	env := commands.Env{
		Clock: a.clock, Dir: dir, Environ: a.environ,
		Stdin: a.in, Stdout: a.out, Stderr: a.err,
		Signals: a.signals.divert, Foreground: a.term.foreground,
	}
	if a.json {
		env.Stdout = a.err // stdout is for the result
	} else {
		env.Raw = a.out
	}
	if a.term.in && a.term.err && !a.json {
		env.Confirm = a.confirm
	}
	if a.term.in && a.term.out && !a.json {
		env.Lines = func() commands.LineReader { return newLineEditor(a.in, a.out) }
	}
	return env, nil
}

// workingDir is the absolute directory that the verb is asked for in.
func (a *app) workingDir() (string, error) {
	dir, err := a.getwd()
	if err != nil {
		return "", &fault.Error{Op: "find working directory", Err: err, Hint: "Change to a directory that exists."}
	}
	if a.dir == "" {
		return dir, nil
	}
	here := dir
	if !filepath.IsAbs(a.dir) {
		dir = filepath.Join(dir, a.dir)
	} else {
		dir = filepath.Clean(a.dir)
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return "", &fault.Error{Op: "change directory", Path: dir, Kind: fault.NotFound, Err: err,
			Hint: "Give -C a directory that exists; paths in it start where you are, " + plain(here) + "."}
	}
	return dir, nil
}
