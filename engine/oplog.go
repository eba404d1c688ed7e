package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// The verbs of the operation log.
const (
	verbSetup   = "setup"
	verbCapture = "capture"
	verbRestore = "restore"
	verbUndo    = "undo"
	verbRedo    = "redo"
)

// The outcomes of an operation.
const (
	outcomeDone   = "done"   // it has happened, whole
	outcomeBack   = "back"   // it was interrupted and is as if it had never begun
	outcomeFailed = "failed" // it refused or failed, and nothing changed
)

// maxLogBytes bounds the operation log that is read: a row is below 1 KiB,
// so this is more than a hundred thousand operations of one worktree.
const maxLogBytes = 128 << 20

// logRow is a line of operations.log. An operation has a started row and one
// outcome row; undo and redo believe outcome rows only.
type logRow struct {
	Operation string           `json:"operation"`
	Verb      string           `json:"verb"`
	At        time.Time        `json:"at"`
	Outcome   string           `json:"outcome,omitempty"` // "" in a started row
	Actor     string           `json:"actor,omitempty"`
	Reason    string           `json:"reason,omitempty"`
	Before    storage.PairID   `json:"before,omitempty"` // where the worktree was: for a restore the safety pair
	After     storage.PairID   `json:"after,omitempty"`
	AfterKind storage.PairKind `json:"after_kind,omitempty"`
	Name      string           `json:"name,omitempty"`
	Error     string           `json:"error,omitempty"`
	Part      Part             `json:"part,omitempty"`  // of a restore
	Paths     []string         `json:"paths,omitempty"` // of it, quoted
}

// appendLog adds a row; it is durable when it returns nil.
func (w *Worktree) appendLog(row logRow) error {
	row.At = w.host.Clock.Now()
	return record.AppendLine(w.fs, w.file(logFile), "operation", recordFormat, row)
}

func (w *Worktree) readLog(each func(logRow)) error {
	err := record.ReadLines(w.fs, w.file(logFile), "operation", recordFormat, maxLogBytes, func(raw json.RawMessage) error {
		var row logRow
		if err := json.Unmarshal(raw, &row); err != nil {
			return err
		}
		each(row)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fault.Wrap("read operation log", w.file(logFile), err)
}

// Log lists the operations of the worktree, newest first; limit 0 is all.
func (w *Worktree) Log(_ context.Context, limit int) ([]Operation, error) {
	var list []*Operation
	byID := make(map[string]*Operation)
	err := w.readLog(func(row logRow) {
		op := byID[row.Operation]
		if op == nil {
			op = &Operation{ID: row.Operation, Verb: row.Verb, Actor: row.Actor, Reason: row.Reason, Started: row.At}
			byID[row.Operation] = op
			list = append(list, op)
		}
		if row.Outcome != "" {
			op.Ended, op.Outcome = row.At, row.Outcome
		}
		op.Before, op.After = row.Before, row.After
		if row.Name != "" {
			op.Name = row.Name
		}
		op.Error = row.Error
		op.Part, op.Paths = row.Part, row.Paths
	})
	if err != nil {
		return nil, err
	}
	newest := make([]Operation, 0, len(list))
	for i := len(list) - 1; i >= 0 && (limit <= 0 || len(newest) < limit); i-- {
		newest = append(newest, *list[i])
	}
	return newest, nil
}

// outcome tells how an operation ended; "" when that was not written.
func (w *Worktree) outcome(operation string) (string, error) {
	var outcome string
	err := w.readLog(func(row logRow) {
		if row.Operation == operation && row.Outcome != "" {
			outcome = row.Outcome
		}
	})
	return outcome, err
}

// lastMove is the outcome row of the last restore, undo or redo that was
// done; nil when there is none. What was before the last setup is not undone:
// that database is gone.
func (w *Worktree) lastMove() (*logRow, error) {
	var last *logRow
	err := w.readLog(func(row logRow) {
		if row.Outcome == outcomeDone && (row.Verb == verbRestore || row.Verb == verbUndo || row.Verb == verbRedo) {
			last = &row
		}
		if row.Outcome == outcomeDone && row.Verb == verbSetup {
			last = nil
		}
	})
	return last, err
}
