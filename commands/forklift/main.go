// Command forklift gives every git worktree a PostgreSQL of its own and saves
// source files and database together as checkpoints.
//
// The verbs are in package commands; this program is their command line. It
// makes the flags and arguments of each verb from the fields of its Request
// struct, asks questions and shows progress on a terminal, prints the Result
// for people or, with --json, for programs, and turns errors into exit codes.
//
// The rules of its output: results go to stdout; everything else goes to
// stderr. An error is one line "forklift: error: ...", the things it is
// about, indented, and a line "hint: ..." that says what to do. Colours and
// progress are only for terminals. Text that came from files, names or
// servers is printed without its control characters. With --json exactly one
// JSON document goes to stdout: the result, or {"error": {...}}.
package main

import (
	"os"

	"forklift/storage/failpoint"
)

func main() {
	code := newApp().main(os.Args[1:])
	failpoint.Report()
	os.Exit(code)
}
