package postgres

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"forklift/engine"
	"forklift/engine/internal/process"
	"forklift/engine/postgres/internal/proc"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// ownerRecord says which server was started last. It is written twice: before
// the start, without a pid, so that a server whose starter is killed at once
// is still known to be ours; and when the pid is known. It stays after a stop.
type ownerRecord struct {
	Launch    string      `json:"launch"`    // random, another for each start
	PID       int         `json:"pid"`       // of the postmaster; 0 while it is not known
	Began     uint64      `json:"began"`     // its start, in the unit of package process
	BootID    string      `json:"boot_id"`   // without this boot, pid and began mean nothing
	Namespace string      `json:"namespace"` // of the pid; "" where there are none
	Slot      engine.Slot `json:"slot"`
	Bin       string      `json:"bin"`
	Version   string      `json:"version"`
	Since     time.Time   `json:"since"`
	Socket    string      `json:"socket"` // directory
}

// The record's place and format.
const (
	ownerName   = "server.json"
	ownerKind   = "postgres-server"
	ownerFormat = 1
)

// readOwner gives the record of the last start, nil when there is none. A
// damaged one counts as none: what a power cut can leave of it speaks of
// another boot anyway.
func (c *cluster) readOwner() (*ownerRecord, error) {
	var rec ownerRecord
	err := record.Read(c.opt.FS, c.runFile(ownerName), ownerKind, ownerFormat, &rec)
	switch {
	case errors.Is(err, fs.ErrNotExist), fault.KindOf(err) == fault.Corrupt:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &rec, nil
}

// pidFile is what Forklift reads of a postmaster.pid; its lines are listed in
// PostgreSQL's src/include/utils/pidfile.h.
type pidFile struct {
	PID     int
	Started int64 // seconds since 1970
	Shared  int   // id of the System V shared memory; -1 without one
	Status  string
}

// Lines of postmaster.pid, counted from 0.
const (
	pidLinePID     = 0
	pidLineStarted = 2
	pidLineShared  = 6
	pidLineStatus  = 7
)

// readPIDFile reads a slot's postmaster.pid; nil when there is none, or one
// that is being written at this moment.
func (c *cluster) readPIDFile(slot engine.Slot) (*pidFile, error) {
	data, err := durable.ReadFile(c.opt.FS, c.slotDir(slot)+"/postmaster.pid", maxPIDFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parsePIDFile(data), nil
}

func parsePIDFile(data []byte) *pidFile {
	lines := strings.Split(string(data), "\n")
	line := func(i int) string {
		if i < len(lines) {
			return strings.TrimSpace(lines[i])
		}
		return ""
	}
	pid, err := strconv.Atoi(line(pidLinePID))
	if err != nil || pid == 0 {
		return nil
	}
	f := &pidFile{PID: max(pid, -pid), Shared: -1, Status: line(pidLineStatus)} // negative: a standalone backend
	f.Started, _ = strconv.ParseInt(line(pidLineStarted), 10, 64)
	if ids := strings.Fields(line(pidLineShared)); len(ids) == 2 {
		if id, err := strconv.Atoi(ids[1]); err == nil {
			f.Shared = id
		}
	}
	return f
}

// ready reports a server of that pid that accepts connections. A stale file
// says ready too: hence the pid.
func (f *pidFile) ready(pid int) bool {
	return f != nil && f.PID == pid && (f.Status == "ready" || f.Status == "standby")
}

// owned finds the postmaster that holds the live lock, if that is provably
// one of ours: the recorded one, or one that has the lock file open.
func (c *cluster) owned(rec *ownerRecord) (info process.Info, slot engine.Slot, ok bool) {
	here := rec != nil && rec.BootID == c.boot && rec.Namespace == proc.Namespace()
	if here && rec.PID != 0 && process.Alive(rec.PID, rec.Began) {
		return process.Info{PID: rec.PID, Start: rec.Began}, rec.Slot, true
	}
	// Its starter was killed before it recorded the pid, or the record is
	// lost: only a process that inherited the lock is taken for ours.
	for _, slot := range []engine.Slot{engine.SlotA, engine.SlotB} {
		file, err := c.readPIDFile(slot)
		if err != nil || file == nil {
			continue
		}
		info, err := process.Lookup(file.PID)
		if err != nil || info.Zombie {
			continue
		}
		held, err := proc.Holds(file.PID, c.branch.Live)
		if errors.Is(err, errors.ErrUnsupported) {
			held = here && rec.PID == 0 && rec.Slot == slot && file.Started >= rec.Since.Unix()
		}
		if held {
			return info, slot, true
		}
	}
	return process.Info{}, "", false
}
