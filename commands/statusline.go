package commands

import (
	"errors"
	"fmt"
	"strings"

	"forklift/engine"
	"forklift/storage/fault"
)

// Icon hints what a status bar shows in front of the text. An editor maps it
// to an icon of its own.
type Icon string

// The icons, the most urgent first.
const (
	IconInterrupted Icon = "interrupted" // an operation was cut off: recover
	IconRunning     Icon = "running"     // an operation is under way
	IconProblem     Icon = "problem"     // something cannot be found out
	IconUntracked   Icon = "untracked"   // not a worktree with a database of its own
	IconChanged     Icon = "changed"     // files or rows differ from the checkpoint
	IconClean       Icon = "clean"       // nothing differs
	IconNone        Icon = "none"        // there is no checkpoint of this worktree yet
	IconUnknown     Icon = "unknown"     // what changed is not known yet
)

// statusResult completes what the engine tells with what a status bar shows.
func statusResult(s *engine.StatusResult) StatusResult {
	r := StatusResult{StatusResult: *s, Tracked: true}
	r.Files, r.Tables = list(s.Files), list(s.Tables)
	r.Holders, r.Source = list(s.Holders), list(s.Source)
	r.Icon, r.Text = statusIcon(s), statusText(s)
	return r
}

func statusIcon(s *engine.StatusResult) Icon {
	switch {
	case s.Interrupted != nil:
		return IconInterrupted
	case s.Operation != nil:
		return IconRunning
	case len(s.Problems) > 0:
		return IconProblem
	case s.Checkpoint == nil:
		return IconNone
	case s.FileCount > 0 || s.RowCount > 0:
		return IconChanged
	case !s.FilesKnown:
		return IconUnknown
	}
	return IconClean
}

// statusText is what fits into a status bar: where the worktree is, and how
// far it is from there.
func statusText(s *engine.StatusResult) string {
	if i := s.Interrupted; i != nil {
		return i.Verb + " interrupted"
	}
	if op := s.Operation; op != nil {
		if op.Phase != "" {
			return op.Verb + ": " + op.Phase
		}
		return op.Verb
	}
	if s.Checkpoint == nil {
		return "no checkpoint"
	}
	parts := []string{s.Checkpoint.Name}
	if s.FileCount > 0 {
		parts = append(parts, count(int64(s.FileCount), "file"))
	}
	if s.RowCount > 0 {
		parts = append(parts, count(s.RowCount, "row"))
	}
	return strings.Join(parts, " ")
}

// count is "1 file" or "2 files".
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Untracked is the status of a directory that is not in a worktree with a
// database of its own; err says why.
func Untracked(dir string, err error) StatusResult {
	r := statusResult(&engine.StatusResult{Worktree: engine.WorktreeInfo{Path: dir}})
	r.Tracked, r.Icon, r.Text = false, IconUntracked, "not tracked"
	if err == nil {
		err = errors.New("it is not a directory of files")
	}
	r.Problems = []string{fault.Sentence(err)}
	return r
}
