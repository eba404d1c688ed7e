package daemon

import (
	"context"
	"encoding/json"
	"time"

	"forklift/server/lsp"
)

// Hub is what all sessions of a daemon share.
type Hub interface {
	// NewSession is what stands behind a new connection.
	NewSession(peer Peer) lsp.Handler
	// Busy counts the sessions and the running operations.
	Busy() (sessions, operations int)
	// Drain takes no new operations and waits for the running ones.
	Drain(ctx context.Context) error
	// Worktrees lists what the sessions have open.
	Worktrees() []Worktree
	// Close releases everything; no session lives any more.
	Close() error
}

// Peer is who opened a connection.
type Peer struct {
	PID     int
	Cwd     string
	Environ []string // NAME=value
	Version string   // of its forklift
}

// Worktree is a worktree that a session has open.
type Worktree struct {
	Path     string `json:"path"` // its top
	Name     string `json:"name,omitempty"`
	Tracked  bool   `json:"tracked"` // set up for Forklift
	Sessions int    `json:"sessions"`
	Text     string `json:"text"` // of its status
}

// Status is what the daemon tells about itself.
type Status struct {
	PID        int             `json:"pid"`
	Version    string          `json:"version"`
	Started    time.Time       `json:"started"`
	Leaving    bool            `json:"leaving"` // it ends when its operations have
	Operations int             `json:"operations"`
	Sessions   []SessionStatus `json:"sessions"`
	Worktrees  []Worktree      `json:"worktrees"`
	Resident   int64           `json:"resident,omitempty"` // bytes of memory, where the system tells
}

// SessionStatus describes one attached editor.
type SessionStatus struct {
	PID     int       `json:"pid"` // of its `forklift lsp`
	Cwd     string    `json:"cwd"`
	Version string    `json:"version"`
	Editor  string    `json:"editor,omitempty"` // as it called itself
	Since   time.Time `json:"since"`
}

// EndingMethod is the notification that tells a front that the daemon ends on
// purpose. Fronts keep it for themselves.
const EndingMethod = "$/forklift/ending"

// Ending is its params.
type Ending struct {
	Reason string `json:"reason"` // "stop", "newer" or "idle"
}

// rawEnding is the notification's params for a reason.
func rawEnding(reason string) json.RawMessage {
	data, _ := json.Marshal(Ending{Reason: reason}) // a struct of strings
	return data
}
