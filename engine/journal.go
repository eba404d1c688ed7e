package engine

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// phase is how far an operation has come. It is kept for people; recovery
// never trusts it and looks at what is on disk instead.
type phase string

// The phases, in their order.
const (
	phasePrepare phase = "prepare"
	phasePatch   phase = "patch"
	phaseSave    phase = "save"
	phaseStage   phase = "stage"
	phaseFlush   phase = "flush"
	phaseSwitch  phase = "switch"
	phaseInstall phase = "install"
)

// The directions of a journal.
const (
	directionOpen = ""     // decided by the switch: current.json or the name
	directionBack = "back" // `recover --back` was begun: it only can be finished backwards
)

// journal is the recovery record of the operation that is under way. It
// exists from before the first change until after the last.
type journal struct {
	Operation string    `json:"operation"`
	Verb      string    `json:"verb"` // capture, restore, undo or redo
	Direction string    `json:"direction,omitempty"`
	Phase     phase     `json:"phase"`
	PID       int       `json:"pid"`
	Started   time.Time `json:"started"`
	ServerRan bool      `json:"server_ran"` // it is started again at the end, either way

	// Pair is the pair that the operation makes: the capture, or the safety
	// pair of a restore. Reused says that an existing pair serves as the
	// latter, and is not deleted when the operation goes back.
	Pair     storage.PairID   `json:"pair"`
	PairKind storage.PairKind `json:"pair_kind"`
	PairName string           `json:"pair_name"`
	Reused   bool             `json:"reused,omitempty"`

	// Target is the pair that a restore goes to.
	Target        storage.PairID   `json:"target,omitempty"`
	TargetProject string           `json:"target_project,omitempty"`
	TargetKind    storage.PairKind `json:"target_kind,omitempty"`
	TargetName    string           `json:"target_name,omitempty"`
	TargetKept    bool             `json:"target_kept,omitempty"` // its database is a slot that was set aside: ToSlot becomes it by a rename

	// Part is what of the target a restore puts back, Paths (quoted) which
	// paths of it.
	Part  Part     `json:"part,omitempty"`
	Paths []string `json:"paths,omitempty"`

	Before selection `json:"before"`            // current.json at the start
	ToSlot Slot      `json:"to_slot,omitempty"` // that a restore patches
}

// restores reports whether the journal is of a restore, undo or redo.
func (j *journal) restores() bool { return j.Verb != verbCapture }

// readJournal gives nil when there is none.
func (w *Worktree) readJournal() (*journal, error) {
	var j journal
	err := record.Read(w.fs, w.file(journalFile), "journal", recordFormat, &j)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap("read journal", w.file(journalFile), err)
	}
	return &j, nil
}

// writeJournal replaces the journal; it is durable when it returns nil.
func (w *Worktree) writeJournal(j *journal) error {
	return record.Write(w.fs, w.file(journalFile), "journal", recordFormat, j)
}

// clearJournal ends an operation: after it nothing is left to recover.
func (w *Worktree) clearJournal() error { return w.removeRecord(journalFile) }

// leftJournal is the journal of an operation that was interrupted, for those
// who hold no lock; nil when there is none, or when its operation is under way.
func (w *Worktree) leftJournal() (*journal, error) {
	lock, err := w.fs.Lock(w.file(operationLock), false)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, nil
	}
	if err == nil {
		defer func() { _ = lock.Unlock() }()
	}
	return w.readJournal() // also where nothing can be locked: there nothing is under way
}

// refuseInterrupted fails while a journal is present. The caller holds
// operation.lock: without it the journal may be that of an operation under way.
func (w *Worktree) refuseInterrupted(op string) error {
	j, err := w.readJournal()
	if err != nil {
		return err
	}
	return w.refuseJournal(op, j)
}

// refuseLeft is refuseInterrupted for those who hold no lock.
func (w *Worktree) refuseLeft(op string) error {
	j, err := w.leftJournal()
	if err != nil {
		return err
	}
	return w.refuseJournal(op, j)
}

func (w *Worktree) refuseJournal(op string, j *journal) error {
	if j == nil {
		return nil
	}
	return &fault.Error{Op: op, Path: w.rec.Path, Kind: fault.Interrupted,
		Err:  errors.New("a " + j.Verb + " of this worktree was interrupted"),
		Hint: "Run `forklift recover` first; `forklift status` says which way it will go."}
}

// newJournal begins the record of an operation.
func (w *Worktree) newJournal(verb string, before selection) *journal {
	now := w.host.Clock.Now()
	return &journal{Operation: string(storage.NewPairID(now)), Verb: verb, Phase: phasePrepare,
		PID: os.Getpid(), Started: now, Before: before}
}
