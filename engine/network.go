package engine

import (
	"context"
	"errors"
	"fmt"

	"forklift/storage/fault"
)

// TCPInfo says where a database listens beside its socket.
type TCPInfo struct {
	Host         string `json:"host"` // of loopback
	Port         int    `json:"port"`
	PasswordFile string `json:"password_file"` // 0600; holds the superuser's password, the same for the whole store
}

// Networker is a Database whose servers can listen on TCP. What it records
// belongs to the branch: restores do not change it.
type Networker interface {
	// TCP tells where servers listen; nil for nowhere.
	TCP(ctx context.Context) (*TCPInfo, error)
	// EnableTCP makes servers that start from now on listen on loopback, at
	// port or, for 0, at the port that they have already or one that is free.
	EnableTCP(ctx context.Context, port int) (*TCPInfo, error)
	// DisableTCP undoes that.
	DisableTCP(ctx context.Context) error
	// PortFree is an error if a server could not have its port, which names
	// those who have it. Of a running server it says nothing.
	PortFree(ctx context.Context) error
}

// network does what a setup asks for about TCP. The server must not run.
func (w *Worktree) network(ctx context.Context, opt SetupOptions) (*TCPInfo, error) {
	db, ok := w.db.(Networker)
	switch {
	case !ok && (opt.TCP || opt.NoTCP):
		return nil, &fault.Error{Op: "setup", Path: w.rec.Kind, Kind: fault.Unsupported, Err: fmt.Errorf("databases of kind %s do not listen on TCP", w.rec.Kind)}
	case !ok:
		return nil, nil
	case opt.TCP:
		return db.EnableTCP(ctx, opt.Port)
	case opt.NoTCP:
		return nil, db.DisableTCP(ctx)
	}
	return db.TCP(ctx)
}

// changeNetwork is network for a worktree that is set up already.
func (w *Worktree) changeNetwork(ctx context.Context, opt SetupOptions) (*TCPInfo, error) {
	if !opt.TCP && !opt.NoTCP {
		return w.network(ctx, opt)
	}
	unlock, err := w.lockOperation(ctx, verbSetup, enterWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	unlockServer, err := w.lockServer(ctx)
	if err != nil {
		return nil, err
	}
	defer unlockServer()
	slot, err := w.selectedSlot()
	if err != nil {
		return nil, err
	}
	st, err := w.db.State(ctx, slot)
	if err != nil {
		return nil, err
	}
	if st.State == Running {
		return nil, &fault.Error{Op: "setup", Path: w.rec.Path, Kind: fault.Busy, Err: errors.New("the server runs, and its URL would change"),
			Hint: "Stop it first: `forklift db stop`; then run setup again."}
	}
	return w.network(ctx, opt)
}

// checkNetwork refuses wishes that contradict each other.
func (o SetupOptions) checkNetwork() error {
	switch {
	case o.TCP && o.NoTCP:
		return &fault.Error{Op: "setup", Kind: fault.Usage, Err: errors.New("--tcp and --no-tcp contradict each other"), Hint: "Give one of them."}
	case o.Port != 0 && !o.TCP:
		return &fault.Error{Op: "setup", Kind: fault.Usage, Err: errors.New("--port is about --tcp"), Hint: "Give both."}
	}
	return nil
}
