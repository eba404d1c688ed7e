package commands

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"forklift/engine"
)

// porcelainHead is the first line of `status --porcelain`. Its number changes
// when a field changes its meaning; new fields do not change it.
const porcelainHead = "# forklift status 1"

// Porcelain writes a status for scripts: a line for each field, its name, a
// space and its value. Control characters and backslashes of a value are
// escaped as in Go. A field that does not apply is not there.
func Porcelain(s *engine.StatusResult) string {
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "%s %s\n", name, escaped(value)) }
	b.WriteString(porcelainHead + "\n")
	field("worktree", s.Worktree.Name)
	switch {
	case s.Interrupted != nil:
		field("state", "interrupted")
		field("operation", s.Interrupted.Verb)
	case s.Operation != nil:
		field("state", "busy")
		field("operation", s.Operation.Verb)
	default:
		field("state", "ok")
	}
	if s.Checkpoint != nil {
		field("checkpoint", s.Checkpoint.Name)
		if s.Checkpoint.Worktree != s.Worktree.Name {
			field("from", s.Checkpoint.Worktree)
		}
		field("age", strconv.FormatInt(s.AgeSeconds, 10))
	}
	if s.Server.State != "" {
		field("server", s.Server.State)
	}
	field("commands", strconv.Itoa(len(s.Holders)))
	if s.App != nil {
		field("app", "stopped")
	}
	field("trusted", map[bool]string{true: "yes", false: "no"}[s.Trusted])
	return b.String()
}

// escaped keeps a value on its line.
func escaped(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == '\\' || r == unicode.ReplacementChar || !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
