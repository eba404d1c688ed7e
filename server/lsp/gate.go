package lsp

import (
	"context"
	"slices"
	"sync"
)

const (
	// DefaultParallel is how many requests of a connection run at once, unless
	// Options say otherwise: a client that floods gets the same share as one that
	// does not. Requests of a lane are not counted, since each runs alone.
	DefaultParallel = 8
	// DefaultTogether is how many requests of all connections of a process run at
	// once: what four do that flood.
	DefaultTogether = 4 * DefaultParallel
)

// A Gate bounds the requests that the connections of one process run at once.
// Those that wait are let in by turns, one of each connection after the other. A
// connection that has none running is let in at once, however many of others
// run: nobody is held up by what others do, and there are never more than the
// limit and one for each connection.
type Gate struct {
	limit   int
	mu      sync.Mutex
	running int
	queue   []*share // those with requests that wait; the first one's turn is next
}

// share is what one connection has of a gate.
type share struct {
	gate    *Gate
	limit   int
	running int
	waiting []chan struct{} // closed when the request is let in
}

// NewGate makes a gate for so many requests at once.
func NewGate(limit int) *Gate { return &Gate{limit: limit} }

// share is for one more connection, which runs at most limit requests.
func (g *Gate) share(limit int) *share { return &share{gate: g, limit: limit} }

// enter waits until one more request may run, which then has to leave. It fails
// when ctx ends first.
func (s *share) enter(ctx context.Context) error {
	g, turn := s.gate, make(chan struct{})
	g.mu.Lock()
	if len(s.waiting) == 0 {
		g.queue = append(g.queue, s)
	}
	s.waiting = append(s.waiting, turn)
	g.admit()
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(s.waiting, turn); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		if len(s.waiting) == 0 {
			g.queue = slices.DeleteFunc(g.queue, func(one *share) bool { return one == s })
		}
	} else { // it was let in meanwhile
		s.leaveLocked()
	}
	return ctx.Err()
}

// leave gives the place of a request back.
func (s *share) leave() {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.leaveLocked()
}

func (s *share) leaveLocked() {
	s.running--
	s.gate.running--
	s.gate.admit()
}

// admit lets in whoever may. The caller holds mu.
func (g *Gate) admit() {
	for i := 0; i < len(g.queue); {
		s := g.queue[i]
		if s.running >= s.limit || s.running > 0 && g.running >= g.limit {
			i++
			continue
		}
		s.running++
		g.running++
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
		g.queue = slices.Delete(g.queue, i, i+1)
		if len(s.waiting) > 0 {
			g.queue = append(g.queue, s) // behind the others
		}
	}
}
