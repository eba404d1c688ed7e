package session

import (
	"context"
	"errors"
	"log/slog"
	"sort"
	"sync"

	"forklift/commands"
	"forklift/engine/gitdir"
	"forklift/server/lsp"
	"forklift/storage/clock"
)

// HubOptions are what a hub gets of the process.
type HubOptions struct {
	// Wire makes the Env of a session: dir is where it stands, peer who asks.
	// Required.
	Wire  func(dir string, peer Peer) (commands.Env, error)
	Log   *slog.Logger // nil: nowhere
	Clock clock.Clock  // nil: the machine's
	// Find tells the top and the git directory of the worktree that holds
	// dir; nil asks git's files.
	Find func(ctx context.Context, dir string) (root, gitDir string, err error)
}

// Peer is who is at the other end of a connection.
type Peer struct {
	PID     int      // of the front
	Cwd     string   // of the front; verbs that need no worktree start there
	Environ []string // of the front
	Version string   // of the front
}

// Hub is what all sessions of a daemon share. It is safe for concurrent use.
type Hub struct {
	opt HubOptions

	mu         sync.Mutex
	trees      map[string]*tree // by the worktree's top
	sessions   int
	number     int // of the last session
	operations int
	idle       chan struct{} // closed when operations is 0; replaced when one begins
	closed     bool
}

// NewHub makes a hub without sessions.
func NewHub(opt HubOptions) *Hub {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Clock == nil {
		opt.Clock = clock.System{}
	}
	if opt.Find == nil {
		git := gitdir.New()
		opt.Find = func(ctx context.Context, dir string) (string, string, error) {
			repo, err := git.Find(ctx, dir)
			return repo.Worktree, repo.GitDir, err
		}
	}
	idle := make(chan struct{})
	close(idle)
	return &Hub{opt: opt, trees: map[string]*tree{}, idle: idle}
}

// NewSession makes the handler of one connection. Its Closed gives everything
// back that it holds.
func (h *Hub) NewSession(peer Peer) lsp.Handler {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions++
	h.number++
	return newSession(h, peer, h.number)
}

// Busy counts the connections and the verbs that run.
func (h *Hub) Busy() (sessions, operations int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions, h.operations
}

// begin counts a verb that runs, until the returned function is called. It
// fails when the daemon is about to end.
func (h *Hub) begin() (end func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errors.New("the daemon is about to end; try again")
	}
	if h.operations == 0 {
		h.idle = make(chan struct{})
	}
	h.operations++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.operations--; h.operations == 0 {
			close(h.idle)
		}
	}), nil
}

// Drain lets no verb begin any more and waits for those that run, until ctx
// ends.
func (h *Hub) Drain(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	idle := h.idle
	h.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WorktreeSummary is a worktree that some session has open.
type WorktreeSummary struct {
	Path     string `json:"path"` // its top
	Name     string `json:"name,omitempty"`
	Tracked  bool   `json:"tracked"`
	Sessions int    `json:"sessions"`
	Text     string `json:"text"` // of its status
}

// Worktrees lists what the sessions have open, by path.
func (h *Hub) Worktrees() []WorktreeSummary {
	h.mu.Lock()
	trees := make([]*tree, 0, len(h.trees))
	for _, t := range h.trees {
		trees = append(trees, t)
	}
	h.mu.Unlock()
	list := make([]WorktreeSummary, 0, len(trees))
	for _, t := range trees {
		list = append(list, t.summary())
	}
	sort.Slice(list, func(i, k int) bool { return list[i].Path < list[k].Path })
	return list
}

// Close ends the watching; sessions that are still there get no more status.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	trees := h.trees
	h.trees = map[string]*tree{}
	h.mu.Unlock()
	for _, t := range trees {
		t.close()
	}
	return nil
}

// attach gives a session the tree of the worktree that holds dir, and begins
// to watch it when nobody did.
func (h *Hub) attach(ctx context.Context, s *session, dir string) *tree {
	root, gitDir, err := h.opt.Find(ctx, dir)
	if err != nil {
		root, gitDir = dir, ""
	}
	h.mu.Lock()
	t := h.trees[root]
	if t == nil {
		t = newTree(h, root, gitDir, s.peer)
		t.findErr = err
		if !h.closed {
			h.trees[root] = t
			go t.run()
		}
	}
	// Under the hub's lock, so that a tree that loses its last session is not
	// taken at the same time.
	t.join(s)
	h.mu.Unlock()
	return t
}

// detach takes a session from a tree, and ends the tree with its last one.
func (h *Hub) detach(s *session, t *tree) {
	h.mu.Lock()
	last := t.leave(s)
	if last && h.trees[t.root] == t {
		delete(h.trees, t.root)
	}
	h.mu.Unlock()
	if last {
		t.close()
	}
}

// gone forgets a session.
func (h *Hub) gone() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions--
}
