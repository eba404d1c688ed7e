package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"forklift/storage/fault"
)

// The exit codes of `run` for its own failures, as env(1) and container
// engines have them.
const (
	ExitRunFailed     = 125 // forklift itself failed
	ExitCannotExecute = 126 // the command was found and cannot be executed
	ExitNotFound      = 127 // the command, or the name, was not found
)

// RunRequest asks to run a command with the worktree's database. Either Name
// or Command is given.
type RunRequest struct {
	Name    string   `json:"name,omitempty" arg:"[NAME]" complete:"command" help:"a command of .forklift.json, which needs to be trusted"`
	Command []string `json:"command,omitempty" arg:"[ARG...]" help:"after --: the program and its arguments; after NAME: further arguments for it"`
}

// RunResult says how the command ended.
type RunResult struct {
	Argv     []string `json:"argv"`
	Dir      string   `json:"dir"` // where it ran
	PID      int      `json:"pid"`
	ExitCode int      `json:"exit_code"`        // its own; 128 + number for a signal
	Signal   string   `json:"signal,omitempty"` // that ended it

	Warnings []string `json:"warnings,omitempty"` // about what is not the command's
}

// ExitStatus is the code that the command line passes through.
func (r *RunResult) ExitStatus() int { return r.ExitCode }

var runVerb = func() *Verb {
	v := NewVerb(Verb{
		Name: "run", Group: GroupStart, Worktree: true, Near: []string{"exec", "with"},
		Short: "Run a command with this worktree's database",
		Long: `Starts the worktree's server if it does not run, and runs a command in the
top directory of the worktree with the database's URL in DATABASE_URL (or the variable
that connection_env in .forklift.json names), and PGHOST, PGPORT, PGUSER and
PGDATABASE. The terminal, signals and the exit code are passed through.

NAME is a command of .forklift.json and needs "forklift trust" first. A command
of your own, after --, needs no trust.

While it runs no other process can capture or restore this worktree; the command itself
can. With --json its output goes to stderr, so that stdout has the result only.`,
		Examples: []Example{
			{"forklift run -- npm test", "any command"},
			{"forklift run verify", "a command of .forklift.json"},
			{"forklift run verify --fast", "with a further argument"},
		},
		Exits: []Exit{
			{0, "and every other code not below: the command's own; 128 + number when a signal ended it"},
			{5, "NAME is not approved: see forklift trust"},
			{6, "an operation was interrupted: run forklift recover"},
			{ExitRunFailed, "forklift itself failed"},
			{ExitCannotExecute, "the command cannot be executed"},
			{ExitNotFound, "the command or the name was not found"},
			{130, "interrupted before the command began"},
		},
	}, Run)
	v.exitCode = runExitCode
	return v
}()

// runExitCode keeps the codes of failures that a user must tell from the
// command's own, and folds the rest.
func runExitCode(err error) int {
	var e *startError
	if errors.As(err, &e) {
		return e.code
	}
	switch kind := fault.KindOf(err); kind {
	case fault.Untrusted, fault.Interrupted, fault.Canceled:
		return kind.ExitCode()
	}
	return ExitRunFailed
}

// Run runs a command as a holder of the worktree and waits for it. The error
// is about everything but the command's own end.
func Run(ctx context.Context, env Env, req RunRequest) (RunResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (RunResult, error) {
		argv, err := runArgv(ctx, env, w, req)
		if err != nil {
			return RunResult{}, err
		}
		c := child{argv: argv, dir: w.Info().Path, environ: env.Environ, database: true}
		return c.run(ctx, env, w)
	})
}

// runArgv is what to execute. The repository's commands need trust.
func runArgv(ctx context.Context, env Env, w Worktree, req RunRequest) ([]string, error) {
	if req.Name == "" {
		if len(req.Command) == 0 || req.Command[0] == "" {
			return nil, &fault.Error{
				Op: "run", Kind: fault.Usage, Err: errors.New("nothing to run"),
				Hint: "Give a command after --, as in `forklift run -- npm test`.",
			}
		}
		return req.Command, nil
	}
	settings, err := w.Settings(ctx)
	if err != nil {
		return nil, err
	}
	argv, ok := settings.Commands[req.Name]
	if !ok {
		hint := fmt.Sprintf("A program of that name is run with `forklift run -- %s`.", req.Name)
		if names := sortedKeys(settings.Commands); len(names) > 0 {
			hint = "Its commands are " + strings.Join(names, ", ") + ". " + hint
		}
		cause := &fault.Error{
			Op: "run", Path: req.Name, Kind: fault.NotFound,
			Err: fmt.Errorf(".forklift.json has no command %q", req.Name), Hint: hint,
		}
		return nil, &startError{ExitNotFound, cause}
	}
	trusted, err := askForTrust(ctx, env, w)
	if err != nil {
		return nil, err
	}
	if !trusted {
		return nil, untrusted("run", req.Name, errors.New("the commands of .forklift.json are not approved in this worktree"))
	}
	return append(slices.Clone(argv), req.Command...), nil
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// startError is a command that could not be started, with its exit code.
type startError struct {
	code int
	err  error
}

func (e *startError) Error() string { return e.err.Error() }

func (e *startError) Unwrap() error { return e.err }

// startFailure tells a command that is not there from one that is not fit.
func startFailure(name string, err error) error {
	code, kind, hint := ExitCannotExecute, fault.Failed, "Check that it is a program and may be executed."
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENOTDIR) {
		code, kind, hint = ExitNotFound, fault.NotFound, "Commands run in the top directory of the worktree; a name without / is looked up in PATH."
	}
	return &startError{code, &fault.Error{Op: "run", Path: name, Kind: kind, Err: err, Hint: hint}}
}
