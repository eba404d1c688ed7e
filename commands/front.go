package commands

import (
	"context"
	"io"
	"os"

	"forklift/storage/clock"
	"forklift/storage/progress"
)

// Env is everything that a verb gets from the front it was asked through.
// Engine, Clock and Dir are required.
type Env struct {
	Engine Engine
	Clock  clock.Clock
	// Dir is where the verb was asked for: an absolute path. Verbs find the
	// worktree that holds it, and relative paths of a request start there.
	Dir string
	// Caller is the process that asks, where that is not this one.
	Caller int
	// Environ is the environment that `run` and `db shell` pass on, as
	// NAME=value.
	Environ []string
	// Postgres finds and installs PostgreSQL.
	Postgres Postgres
	// Progress receives reports of long work; nil does without.
	Progress progress.Reporter
	// Confirm asks the user; nil means that nobody can be asked.
	Confirm func(ctx context.Context, q Question) (bool, error)
	// Stdin, Stdout and Stderr are given to the programs that `run` and
	// `db shell` start; an *os.File is passed on as it is.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Raw is where a verb that hands out the bytes of a file writes them; nil
	// puts them into the result.
	Raw io.Writer
	// Signals sends the signals that would otherwise cancel the context to
	// ch, until the returned function is called. nil: there are none.
	Signals func(ch chan<- os.Signal) (release func())
	// Foreground reports that a terminal delivers its own signals to this
	// process and its children alike now, so that they need not be passed
	// on; nil means never.
	Foreground func() bool
	// Lines opens the line editor of a terminal for the prompt of `db
	// shell`; nil reads plain lines from Stdin.
	Lines func() LineReader
}

// Question is something that only the user can decide.
type Question struct {
	Text   string // shown first, may have several lines
	Prompt string // one line that can be answered with yes or no
	Yes    bool   // what an empty answer means
}

// LineReader reads the lines that a user types.
type LineReader interface {
	// ReadLine shows the prompt and reads a line without its end. The end
	// of the input is io.EOF; ErrCleared means that the user gave the line
	// up.
	ReadLine(prompt string) (string, error)
}

// ErrCleared is what ReadLine fails with when the user gave up the line.
var ErrCleared error = clearedError{}

type clearedError struct{}

func (clearedError) Error() string { return "line given up" }
