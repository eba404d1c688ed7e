package session

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"forklift/commands"
	"forklift/engine"
	"forklift/server/watch"
)

const (
	// operationEvery is how often the lock of an operation of another process
	// is tried.
	operationEvery = 100 * time.Millisecond
	// maxRest bounds the pause after a status that took long: a storm of
	// changes must not keep a processor busy.
	maxRest = 2 * time.Second
	// lookTimeout bounds one look at a worktree.
	lookTimeout = 5 * time.Minute
)

// tree is one worktree, or one directory that is none, with all sessions that
// have it open.
type tree struct {
	hub    *Hub
	root   string // top of the worktree
	gitDir string
	peer   Peer // whose environment it is looked at with
	apart  bool // nobody looks at it: only the unsaved buffers of its files are recorded
	ctx    context.Context
	cancel context.CancelFunc
	ask    chan struct{} // holds one: somebody wants a new status
	ended  chan struct{}

	mu       sync.Mutex
	sessions map[*session]int
	status   *commands.StatusResult // the last one; nil before
	raw      json.RawMessage        // it, encoded
	scan     bool                   // whoever asked wants everything looked at
	wanted   int64                  // number of the last status that was asked for
	done     int64                  // the status is at least as new as this request
	advanced chan struct{}          // closed when done grows
	started  bool
	move     *engine.Move // the last restore, undo or redo
	recent   []engine.Recent
	recentOK bool // recent is what there is
	// elsewhere are lines of files of variables that lead to another database.
	elsewhere []commands.VariableLine

	// Owned by run.
	watcher  *watch.Watcher
	env      commands.Env
	wired    bool
	findErr  error  // why root is in no git worktree; nil when it is
	lastMove string // the last restore, undo or redo that was told
	moveSeen bool
	tracker  engine.Tracker
	owed     watch.Event // what a look could not look at yet
}

func newTree(h *Hub, root, gitDir string, peer Peer) *tree {
	t := &tree{
		hub: h, root: root, gitDir: gitDir, peer: peer, ask: make(chan struct{}, 1), ended: make(chan struct{}),
		sessions: map[*session]int{}, advanced: make(chan struct{}),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// join counts a folder of a session; the session gets the last status at once.
func (t *tree) join(s *session) {
	t.mu.Lock()
	t.sessions[s]++
	raw := t.raw
	t.mu.Unlock()
	if raw != nil {
		s.notify("forklift/status", raw)
	}
}

// leave takes a folder of a session back, and reports that it was the last.
func (t *tree) leave(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sessions[s]--; t.sessions[s] <= 0 {
		delete(t.sessions, s)
	}
	return len(t.sessions) == 0
}

// close ends the watching and waits for it.
func (t *tree) close() {
	t.cancel()
	t.mu.Lock()
	started := t.started
	t.mu.Unlock()
	if started {
		<-t.ended
	}
}

func (t *tree) summary() WorktreeSummary {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := WorktreeSummary{Path: t.root, Sessions: len(t.sessions)}
	if t.status != nil {
		sum.Name, sum.Tracked, sum.Text = t.status.Worktree.Name, t.status.Tracked, t.status.Text
	}
	return sum
}

// last is the last status; nil before the first.
func (t *tree) last() *commands.StatusResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// refresh asks for a new status; it does not wait. With scan no file is
// believed to be as it was.
func (t *tree) refresh(scan bool) int64 {
	t.mu.Lock()
	t.scan = t.scan || scan
	t.wanted++
	n := t.wanted
	t.mu.Unlock()
	select {
	case t.ask <- struct{}{}:
	default:
	}
	return n
}

// fresh is a status that was begun after the call.
func (t *tree) fresh(ctx context.Context) (json.RawMessage, error) {
	n := t.refresh(true)
	for {
		t.mu.Lock()
		raw, done, advanced := t.raw, t.done, t.advanced
		t.mu.Unlock()
		if done >= n {
			return raw, nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.ctx.Done():
			return nil, t.ctx.Err()
		}
	}
}

// run looks at the worktree whenever something may have changed.
func (t *tree) run() {
	t.mu.Lock()
	t.started = true
	t.mu.Unlock()
	defer close(t.ended)
	t.watcher = watch.New(watch.Options{Log: t.hub.opt.Log, Clock: t.hub.opt.Clock})
	defer t.watcher.Close()
	t.tracker.Follow = t.follow
	recheck := time.NewTimer(0) // the first look
	rest := time.NewTimer(0)
	defer recheck.Stop()
	defer rest.Stop()
	first, resting := true, true
	var later watch.Event // what waits for the end of the rest
	for {
		event := watch.Event{}
		select {
		case <-t.ctx.Done():
			return
		case <-rest.C:
			resting = false
			if later.None() {
				continue
			}
			event, later = later, watch.Event{}
		case event = <-t.watcher.Events():
			// A few files cost little, and somebody waits for them.
			if resting && touched(event) == nil {
				later.Add(event)
				continue
			}
		case <-t.ask: // the look finds what for
		case <-recheck.C:
			event.Records = true
		}
		if first {
			event = watch.Event{Files: true, Dirs: true, Records: true, Link: true}
			first = false
		}
		began := t.hub.opt.Clock.Now()
		if t.look(event) {
			recheck.Reset(operationEvery)
		}
		t.each(func(s *session) { s.changed(t) })
		resting = true
		rest.Reset(min(t.hub.opt.Clock.Now().Sub(began), maxRest))
	}
}

// publish makes a status the last one and sends it to every session, if it
// says anything new. upTo is the number of the request that it answers.
func (t *tree) publish(s commands.StatusResult, upTo int64) {
	data, err := json.Marshal(s)
	if err != nil {
		t.hub.opt.Log.Error("encode a status", "error", err)
		return
	}
	raw := json.RawMessage(data)
	t.mu.Lock()
	news := t.status == nil || !sameStatus(*t.status, s)
	t.status, t.raw = &s, raw
	if upTo > t.done {
		t.done = upTo
		close(t.advanced)
		t.advanced = make(chan struct{})
	}
	var sessions []*session
	for one := range t.sessions {
		sessions = append(sessions, one)
	}
	t.mu.Unlock()
	if !news {
		return
	}
	for _, one := range sessions {
		one.notify("forklift/status", raw)
	}
}

// sameStatus compares two statuses, their age aside.
func sameStatus(a, b commands.StatusResult) bool {
	a.AgeSeconds, b.AgeSeconds = 0, 0
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// each calls f for every session.
func (t *tree) each(f func(*session)) {
	t.mu.Lock()
	var sessions []*session
	for s := range t.sessions {
		sessions = append(sessions, s)
	}
	t.mu.Unlock()
	for _, s := range sessions {
		f(s)
	}
}
