package session

import (
	"strings"
	"testing"

	"forklift/commands"
	"forklift/engine"
)

// Files that change while an operation runs are looked at when it has ended,
// although no event tells of them again.
func TestWhatChangesDuringAnOperationIsLookedAtAfterIt(t *testing.T) {
	s := newStage(t)
	e := connect(t, s.Hub)
	e.open(s.root)
	e.status("files", func(r commands.StatusResult) bool { return r.FilesKnown })
	s.engine.SetStatus(func(r *engine.StatusResult) { r.Operation = &engine.RunningOp{Verb: "restore"} })
	s.write(t, ".records/journal.json", "x")
	s.write(t, "src/restored", "x")
	e.status("the operation", func(r commands.StatusResult) bool { return r.Operation != nil })
	s.engine.SetStatus(func(r *engine.StatusResult) { r.Operation, r.FileCount = nil, 17 })
	e.status("its end", func(r commands.StatusResult) bool { return r.Operation == nil && r.FileCount == 17 })
	s.await(t, "look at the file", func() bool {
		for _, c := range s.engine.Calls() {
			if strings.HasPrefix(c, "tracked") && strings.Contains(c, "src/restored") {
				return true
			}
		}
		return false
	})
}
