// Package proc tells what the supervisor must know about processes before it
// believes that one is, or is not, a server of its own: which have a file
// open, which work in a directory, and what their command lines say.
//
// On Linux everything comes from /proc (proc(5)). macOS has no such place;
// there the functions say that they do not know (errors.ErrUnsupported), and
// the supervisor relies on the record of the start and on start times alone.
package proc

import "strings"

// maxCommandBytes bounds the read of a command line.
const maxCommandBytes = 4096

// IsPostgres reports a command line of a PostgreSQL process: its program is
// called postgres, or it has set its title.
func IsPostgres(command string) bool {
	return strings.Contains(command, "postgres")
}
