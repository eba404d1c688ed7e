package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/progress"
)

// awaitClients waits until no client has a transaction open, unless they may
// be cut off, and fails with their names when the patience is at its end. It
// counts the sessions that a stop ends. A server that cannot be
// asked (every connection is taken, our role was renamed) may have such
// clients too; with disconnect that does not matter.
func (w *Worktree) awaitClients(ctx context.Context, verb string, p *patience, disconnect bool) (sessions int, err error) {
	for {
		sessions, busy, err := w.clients(ctx, verb, disconnect)
		if err != nil || busy == nil {
			return sessions, err
		}
		progress.Report(ctx, progress.Event{Phase: "wait for open transactions"})
		if again, err := p.rest(ctx); err != nil || !again {
			return 0, cmp.Or(err, error(busy))
		}
	}
}

// clients counts the sessions of a running server. busy names those that have
// a transaction open, if any has and they may not be cut off.
func (w *Worktree) clients(ctx context.Context, verb string, disconnect bool) (sessions int, busy *fault.Error, err error) {
	clients, err := w.db.Clients(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, nil, canceled(ctx)
	case err != nil && disconnect:
		return 0, nil, nil
	case err != nil:
		return 0, nil, &fault.Error{Op: verb, Path: w.rec.Path, Kind: fault.KindOf(err),
			Err:  fmt.Errorf("the server does not tell which clients have transactions open: %w", err),
			Hint: "Give --disconnect to stop it whoever is connected; what is not committed is rolled back."}
	}
	e := &fault.Error{Op: verb, Path: w.rec.Path, Kind: fault.Busy,
		Err:  errors.New("clients have transactions open"),
		Hint: "Let them finish (--wait DURATION waits for that), or give --disconnect to roll them back."}
	for _, c := range clients {
		if !c.Busy {
			continue
		}
		e.Items = append(e.Items, fmt.Sprintf("server process %d: %s (user %s, database %s): %s, %s",
			c.PID, c.Application, c.User, c.Database, c.State, clock.Since(w.host.Clock.Now(), c.Since)))
	}
	if len(e.Items) > 0 && !disconnect {
		return 0, e, nil
	}
	return len(clients), nil, nil
}
