package commands

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"forklift/commands/internal/sqlshell"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

// maxLineBytes is the longest line that the prompt reads from a pipe.
const maxLineBytes = sqlshell.MaxStatementBytes

// DBShellRequest asks for an SQL prompt.
type DBShellRequest struct {
	Command string `json:"command,omitempty" flag:"command" short:"c" value:"SQL" help:"run this and leave"`
}

// DBShellResult says how the prompt ended.
type DBShellResult struct {
	Program  string `json:"program"` // the psql that was used, or "forklift"
	ExitCode int    `json:"exit_code"`

	Warnings []string `json:"warnings,omitempty"` // about what is not the shell's
}

// ExitStatus is the code that the command line passes through.
func (r *DBShellResult) ExitStatus() int { return r.ExitCode }

var dbShellVerb = NewVerb(Verb{
	Name: "db shell", Group: GroupDatabase, Worktree: true,
	Short: "Open an SQL prompt on the database",
	Long: `Starts the server if it does not run and opens psql, or a small prompt of
forklift's own where there is no psql. SQL can also be piped in; then the
first error ends it with exit code 1 (3 from psql).`,
	Examples: []Example{
		{"forklift db shell", "a prompt"},
		{`forklift db shell -c "SELECT count(*) FROM invoices"`, "one statement"},
		{"forklift db shell < migration.sql", "from a file"},
	},
}, DBShell)

// DBShell runs the prompt as a managed command of the worktree.
func DBShell(ctx context.Context, env Env, req DBShellRequest) (DBShellResult, error) {
	return inWorktree(ctx, env, func(w Worktree) (DBShellResult, error) {
		url, vars, err := databaseURL(ctx, w)
		if err != nil {
			return DBShellResult{}, err
		}
		psql := findPsql(ctx, env)
		if psql == "" {
			return ownShell(ctx, env, w, url, req.Command)
		}
		c := child{argv: []string{psql}, dir: env.Dir, environ: withVars(env.Environ, vars)}
		switch {
		case req.Command != "":
			c.argv = append(c.argv, "-c", req.Command)
		case env.Lines == nil:
			c.argv = append(c.argv, "-v", "ON_ERROR_STOP=1")
		}
		r, err := c.run(ctx, env, w)
		return DBShellResult{Program: psql, ExitCode: r.ExitCode, Warnings: r.Warnings}, err
	})
}

// findPsql looks beside the servers first, because a client fits its server
// best, then in PATH.
func findPsql(ctx context.Context, env Env) string {
	// Without a list there is still PATH, and our own prompt after that.
	found, _ := env.Postgres.Find(ctx)
	for _, in := range found {
		if path := filepath.Join(in.Bin, "psql"); in.Usable && executable(path) == nil {
			return path
		}
	}
	path, err := child{argv: []string{"psql"}, dir: env.Dir, environ: env.Environ}.lookPath()
	if err != nil {
		return ""
	}
	return path
}

// ownShell runs our prompt in this process, registered like a command.
func ownShell(ctx context.Context, env Env, w Worktree, url, command string) (result DBShellResult, err error) {
	hold, err := w.Enter(ctx, []string{"forklift", "db", "shell"})
	if err != nil {
		return result, err
	}
	defer func() {
		if leaveErr := hold.Leave(context.WithoutCancel(ctx)); leaveErr != nil {
			result.Warnings = append(result.Warnings, "after the shell: "+leaveErr.Error())
		}
	}()
	if err := hold.Started(os.Getpid()); err != nil {
		return result, err
	}
	shell := sqlshell.Shell{Out: env.Stdout, Err: env.Stderr, Cleared: ErrCleared, Interactive: env.Lines != nil && command == ""}
	if env.Signals != nil {
		shell.Interrupt = interruptible(env)
	}
	switch {
	case command != "":
		shell.ReadLine = readLines(strings.NewReader(command))
	case env.Lines != nil:
		shell.ReadLine = env.Lines().ReadLine
	case env.Stdin == nil:
		return result, &fault.Error{Op: "db shell", Kind: fault.Usage, Err: errors.New("nothing to read statements from"), Hint: "Give one with --command."}
	default:
		shell.ReadLine = readLines(env.Stdin)
	}
	progress.Report(ctx, progress.Event{}) // the terminal is the prompt's now
	if err := shell.Connect(ctx, url); err != nil {
		return result, err
	}
	defer shell.Close(context.WithoutCancel(ctx))
	failed, err := shell.Run(ctx)
	result.Program = "forklift"
	if failed && !shell.Interactive {
		result.ExitCode = 1
	}
	return result, err
}

// readLines reads lines without prompting.
func readLines(r io.Reader) func(string) (string, error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLineBytes)
	return func(string) (string, error) {
		if scan.Scan() {
			return scan.Text(), nil
		}
		if err := scan.Err(); err != nil {
			return "", err
		}
		return "", io.EOF
	}
}

// interruptible makes contexts that a signal ends, so that Ctrl-C stops a
// statement and not the prompt.
func interruptible(env Env) func(context.Context) (context.Context, func()) {
	return func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancel(ctx)
		signals := make(chan os.Signal, 4)
		release := env.Signals(signals)
		go func() {
			select {
			case <-signals:
				cancel()
			case <-ctx.Done():
			}
		}()
		return ctx, func() { release(); cancel() }
	}
}
