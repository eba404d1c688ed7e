package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"forklift/engine/internal/process"
	"forklift/storage"
	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// maxArgvBytes bounds the command that a holder records.
const maxArgvBytes = 16 << 10

// holderRecord describes a managed command. The file's flock, which the
// command inherits, says whether it lives; the record only says who it is.
type holderRecord struct {
	Runner process.Info `json:"runner"` // the `forklift run`
	Child  process.Info `json:"child"`  // the command; zero until it was started
	Argv   []string     `json:"argv"`
	Since  time.Time    `json:"since"`

	id string // of its file
}

// Hold is the registration of a managed command.
type Hold struct {
	w    *Worktree
	id   string
	lock vfs.Lock
	rec  holderRecord
}

// The two files of a holder: the flocked one and its description.
func (w *Worktree) holderLockFile(id string) string {
	return path.Join(w.dir, holdersDir, id+".lock")
}
func (w *Worktree) holderFile(id string) string { return path.Join(w.dir, holdersDir, id+".json") }

// Enter registers a managed command and makes sure that the server runs. It
// is refused while an operation is under way or was interrupted. Once it
// returns nil no capture or restore begins until Leave was called and the
// command, which must inherit File, has ended.
func (w *Worktree) Enter(ctx context.Context, argv []string) (*Hold, error) {
	unlock, err := w.shareOperation(ctx, "run", enterWait)
	if err != nil {
		return nil, err
	}
	hold, err := w.register(argv)
	unlock()
	if err != nil {
		return nil, err
	}
	if _, err := w.startServer(ctx, w.selectedSlot); err != nil {
		hold.release()
		return nil, err
	}
	return hold, nil
}

// registerWait is how long a new command waits for those who look whether it
// is there.
const registerWait = 5 * time.Second

func (w *Worktree) register(argv []string) (*Hold, error) {
	now := w.host.Clock.Now()
	h := &Hold{w: w, id: string(storage.NewPairID(now))}
	self, err := process.Lookup(os.Getpid())
	if err != nil {
		return nil, err
	}
	h.rec = holderRecord{Runner: self, Argv: boundArgv(argv), Since: now}
	// The file is new, but a status looks at all of them, and tries this one
	// for a moment, too.
	if h.lock, err = lockWithin(context.Background(), w.fs, w.holderLockFile(h.id), true, registerWait); err != nil {
		return nil, fault.Wrap("register command", w.holderLockFile(h.id), err)
	}
	if err := h.write(); err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

// boundArgv cuts a command line that is too long to record.
func boundArgv(argv []string) []string {
	size := 0
	for i, a := range argv {
		if size += len(a); size > maxArgvBytes {
			return append(append([]string(nil), argv[:i]...), "...")
		}
	}
	return argv
}

func (h *Hold) write() error {
	return record.Write(h.w.fs, h.w.holderFile(h.id), "holder", recordFormat, h.rec)
}

// File is the lock file that the command must inherit, so that its hold
// lasts for as long as it lives, whatever becomes of this process.
func (h *Hold) File() *os.File { return h.lock.File() }

// Started records the command's process.
func (h *Hold) Started(pid int) error {
	info, err := process.Lookup(pid)
	if err != nil {
		// It has ended already; its hold ended with it.
		return nil
	}
	h.rec.Child = info
	return h.write()
}

// Leave ends the registration, and stops the server when this was the last
// command, nothing pinned it, and no client is connected but its own, whose end the
// server may see a little later.
func (h *Hold) Leave(ctx context.Context) error {
	h.release()
	return h.w.stopIdle(ctx, h.rec.Since)
}

func (h *Hold) release() {
	_ = h.lock.Unlock()
	h.w.sweepHolder(h.id)
}

// sweepHolder removes the files of a holder whose lock is free.
func (w *Worktree) sweepHolder(id string) {
	lock, err := w.fs.Lock(w.holderLockFile(id), true)
	if err != nil {
		return // its command lives on
	}
	_ = durable.Remove(w.fs, w.holderFile(id))
	_ = durable.Remove(w.fs, w.holderLockFile(id))
	_ = lock.Unlock()
}

// holders lists the managed commands that live, and removes what dead ones left.
func (w *Worktree) holders() ([]holderRecord, error) {
	entries, err := w.fs.ReadDir(path.Join(w.dir, holdersDir))
	if err != nil {
		return nil, fault.Wrap("list commands", path.Join(w.dir, holdersDir), err)
	}
	var live []holderRecord
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name, ".lock")
		if !ok {
			continue
		}
		// Shared, so that two who look at once do not take each other for the command.
		lock, err := w.fs.Lock(w.holderLockFile(id), false)
		if err == nil {
			_ = lock.Unlock()
			w.sweepHolder(id)
			continue
		}
		if !errors.Is(err, vfs.ErrLocked) {
			return nil, fault.Wrap("look at command", w.holderLockFile(id), err)
		}
		var r holderRecord
		if err := record.Read(w.fs, w.holderFile(id), "holder", recordFormat, &r); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Wrap("look at command", w.holderFile(id), err)
		}
		r.id = id
		live = append(live, r)
	}
	return live, nil
}

// strangers leaves out the holders that the caller is a descendant of: an
// agent or an editor under `run` may capture and restore its own worktree.
func (w *Worktree) strangers(holders []holderRecord) []holderRecord {
	caller := w.host.Caller
	if caller == 0 {
		caller = os.Getpid()
	}
	line := process.Ancestors(caller)
	ours := func(p process.Info) bool {
		for _, a := range line {
			if p.PID == a.PID && p.Start == a.Start {
				return true
			}
		}
		return false
	}
	var others []holderRecord
	for _, h := range holders {
		if !ours(h.Runner) && !ours(h.Child) {
			others = append(others, h)
		}
	}
	return others
}

// awaitHolders waits until no managed command but our own ancestors runs,
// and fails with their names when the patience is at its end.
func (w *Worktree) awaitHolders(ctx context.Context, verb string, p *patience) error {
	for {
		all, err := w.holders()
		if err != nil {
			return err
		}
		others := w.strangers(all)
		if len(others) == 0 {
			return nil
		}
		if again, err := p.rest(ctx); err != nil || !again {
			return cmp.Or(err, w.busyHolders(verb, others))
		}
	}
}

func (w *Worktree) busyHolders(verb string, holders []holderRecord) error {
	e := &fault.Error{Op: verb, Path: w.rec.Path, Kind: fault.Busy,
		Err:  errors.New("managed commands of this worktree are running"),
		Hint: "Stop them, or give --wait DURATION."}
	if verb == verbTeardown {
		e.Hint = "Stop them, then try again."
	}
	for _, h := range holders {
		i := h.info()
		item := fmt.Sprintf("pid %d: %s, %s", i.PID, strings.Join(i.Argv, " "), clock.Since(w.host.Clock.Now(), i.Since))
		if h.Child.PID != 0 && !process.Alive(h.Child.PID, h.Child.Start) {
			item += " (it has ended, but a process that it started has not)"
		}
		e.Items = append(e.Items, item)
	}
	return e
}

// info is the holder for status: the command's pid, before it was recorded the runner's.
func (h holderRecord) info() HolderInfo {
	pid := h.Child.PID
	if pid == 0 {
		pid = h.Runner.PID
	}
	return HolderInfo{PID: pid, Argv: h.Argv, Since: h.Since}
}
