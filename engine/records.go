package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"time"

	"forklift/engine/internal/process"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// recordFormat is the version of every record in a worktree's directory.
const recordFormat = 1

// The names of the records in <store>/worktrees/<id>/ and of their kinds.
const (
	worktreeFile  = "worktree.json"
	selectionFile = "current.json"
	journalFile   = "journal.json"
	logFile       = "operations.log"
	pinFile       = "pinned.json"
	observedFile  = "observed.json"
	actingFile    = "operation.json"
	appFile       = "app.json"
	holdersDir    = "holders"

	operationLock = "operation.lock"
	hooksLock     = "hooks.lock"
	serverLock    = "server.lock"
	liveLock      = "live"
)

// worktreeRecord is the authority on who a worktree is.
type worktreeRecord struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Project   string    `json:"project"`
	Path      string    `json:"path"`
	GitDir    string    `json:"git_dir"`
	CommonDir string    `json:"common_dir"`
	GitDev    uint64    `json:"git_dev"`
	GitIno    uint64    `json:"git_ino"`
	Created   time.Time `json:"created"`
	Kind      string    `json:"kind"`
	Branch    string    `json:"branch"`
	Seed      string    `json:"seed,omitempty"`      // that its database began as
	TornDown  bool      `json:"torn_down,omitempty"` // only its checkpoints are left
}

// MarshalJSON writes the record with its paths quoted where they are no text
// (see worktree.QuotePath): JSON cannot hold them, and a path that comes back
// as another one is a worktree that seems to have moved.
func (r worktreeRecord) MarshalJSON() ([]byte, error) {
	type plain worktreeRecord
	p := plain(r)
	for _, s := range []*string{&p.Path, &p.GitDir, &p.CommonDir} {
		*s = worktree.QuotePath(*s)
	}
	return json.Marshal(p)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *worktreeRecord) UnmarshalJSON(data []byte) error {
	type plain worktreeRecord
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields() // as package record reads everything
	if err := d.Decode((*plain)(r)); err != nil {
		return err
	}
	for _, s := range []*string{&r.Path, &r.GitDir, &r.CommonDir} {
		name, err := worktree.UnquotePath(*s)
		if err != nil {
			return err
		}
		*s = name
	}
	return nil
}

// selection is what a worktree uses now. Replacing it is the switch of a restore.
type selection struct {
	Project   string           `json:"project"` // namespace of the pair: "" for a seed
	Pair      storage.PairID   `json:"pair"`
	Kind      storage.PairKind `json:"kind"`
	Slot      Slot             `json:"slot"`
	Operation string           `json:"operation"` // that made it
	At        time.Time        `json:"at"`
	// Source is the pair that the source files rest on where that is another
	// one than Pair, which then is only where the database comes from.
	Source *pairRef `json:"source,omitempty"`
}

// pairRef leads to a pair.
type pairRef struct {
	Project string           `json:"project"`
	Pair    storage.PairID   `json:"pair"`
	Kind    storage.PairKind `json:"kind"`
}

// data is the pair that the database rests on.
func (s selection) data() pairRef { return pairRef{s.Project, s.Pair, s.Kind} }

// source is the pair that the source files rest on.
func (s selection) source() pairRef {
	if s.Source != nil {
		return *s.Source
	}
	return s.data()
}

// rest makes a selection of the pairs that its halves rest on.
func (s selection) rest(source, data pairRef) selection {
	s.Project, s.Pair, s.Kind, s.Source = data.Project, data.Pair, data.Kind, nil
	if source.Pair != data.Pair {
		s.Source = &source
	}
	return s
}

// link is <git dir>/forklift.json: all that lives inside git's directories.
// Git deletes them with everything in them, so it only points at the record.
type link struct {
	Worktree string `json:"worktree"`
	Store    string `json:"store"`
}

// slotRecord says what a slot holds. A slot is dirty durably before the first
// write to it; it is clean only after it was flushed, and only then do Trees,
// Inexact, Boot and Signature mean anything.
type slotRecord struct {
	Clean     bool                `json:"clean"`
	Trees     []storage.TreeState `json:"trees,omitempty"`
	Inexact   []string            `json:"inexact,omitempty"` // files the manifests do not describe byte for byte
	Boot      string              `json:"boot,omitempty"`
	Signature storage.ID          `json:"signature"` // of the lstat of every file
}

// pin records that `db start` asked for the server to stay.
type pin struct {
	At time.Time `json:"at"`
}

// acting tells who holds operation.lock; a hint for the others' messages.
type acting struct {
	Verb  string    `json:"verb"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Phase string    `json:"phase,omitempty"`
}

// file is the path of one of the worktree's records.
func (w *Worktree) file(name string) string { return path.Join(w.dir, name) }

func (w *Worktree) readSelection() (selection, error) {
	var s selection
	err := record.Read(w.fs, w.file(selectionFile), "selection", recordFormat, &s)
	return s, err
}

func (w *Worktree) writeSelection(s selection) error {
	return record.Write(w.fs, w.file(selectionFile), "selection", recordFormat, s)
}

func slotFile(s Slot) string { return "slot-" + string(s) + ".json" }

// boot names the present boot of the machine: what was known of files before
// a power cut is not believed after it.
func (p *project) boot() string {
	if p.host.Boot != "" {
		return p.host.Boot
	}
	return process.BootID()
}

// readSlot gives a dirty record for a slot that has none.
func (w *Worktree) readSlot(s Slot) (slotRecord, error) {
	var r slotRecord
	err := record.Read(w.fs, w.file(slotFile(s)), "slot", recordFormat, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return slotRecord{}, nil
	}
	return r, err
}

func (w *Worktree) writeSlot(s Slot, r slotRecord) error {
	return record.Write(w.fs, w.file(slotFile(s)), "slot", recordFormat, r)
}

// soil marks a slot dirty, durably, unless it is so already.
func (w *Worktree) soil(s Slot) error {
	r, err := w.readSlot(s)
	if err != nil {
		return err
	}
	if !r.Clean {
		if _, err := w.fs.Lstat(w.file(slotFile(s))); err == nil {
			return nil
		}
	}
	return w.writeSlot(s, slotRecord{})
}

// readOptional reads a record that may be absent; it reports whether it is there.
func (w *Worktree) readOptional(name, kind string, v any) (bool, error) {
	err := record.Read(w.fs, w.file(name), kind, recordFormat, v)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// currentPair is the pair that the worktree rests on.
func (w *Worktree) currentPair(ctx context.Context) (selection, *storage.Pair, error) {
	s, err := w.readSelection()
	if err != nil {
		return selection{}, nil, fault.Wrap("read selection", w.file(selectionFile), err)
	}
	p, err := w.store.Pair(ctx, s.Project, s.Pair)
	if err != nil {
		return s, nil, err
	}
	return s, p, nil
}

// removeRecord removes one of the worktree's records, durably.
func (w *Worktree) removeRecord(name string) error {
	return durable.Remove(w.fs, w.file(name))
}
