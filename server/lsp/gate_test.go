package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTheGateTakesTurns: beyond the limit the connections are let in by turns, and
// in one connection by the order of their coming.
func TestTheGateTakesTurns(t *testing.T) {
	g := NewGate(6)
	a, b, c, d := g.share(8), g.share(8), g.share(8), g.share(8)
	in := make(chan string) // who was let in
	come := func(ctx context.Context, s *share, name string) {
		go func() {
			if err := s.enter(ctx); err != nil {
				name = name + ": " + err.Error()
			}
			in <- name
		}()
	}
	waits := func(s *share, n int) { // until so many wait
		t.Helper()
		for {
			g.mu.Lock()
			now := len(s.waiting)
			g.mu.Unlock()
			if now == n {
				return
			}
			select {
			case name := <-in:
				t.Fatalf("%s was let in", name)
			default:
			}
		}
	}
	let := func(want string) {
		t.Helper()
		if got := <-in; got != want {
			t.Fatalf("%s was let in, not %s", got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, one := range []struct {
		*share
		runs int
		name string
	}{{a, 3, "a"}, {b, 2, "b"}, {c, 1, "c"}} {
		for i := range one.runs {
			come(t.Context(), one.share, fmt.Sprint(one.name, i))
			let(fmt.Sprint(one.name, i))
		}
	}
	for i := range 3 {
		come(t.Context(), a, fmt.Sprint("a", 3+i))
		waits(a, 1+i)
	}
	come(t.Context(), b, "b2")
	waits(b, 1)
	come(ctx, b, "cancelled")
	waits(b, 2)
	come(t.Context(), b, "b3")
	waits(b, 3)
	come(t.Context(), c, "c1")
	waits(c, 1)
	come(t.Context(), d, "d0") // it has none running, and waits for nobody
	let("d0")
	cancel()
	let("cancelled: context canceled")
	d.leave() // the place beyond the limit goes to nobody
	for _, next := range []struct {
		leaves *share
		let    string
	}{{a, "a3"}, {a, "b2"}, {a, "c1"}, {b, "a4"}, {b, "b3"}, {c, "a5"}} {
		next.leaves.leave()
		let(next.let)
	}
	for _, s := range []*share{a, b, c} {
		for s.running > 0 {
			s.leave()
		}
	}
	if g.running != 0 || len(g.queue) != 0 {
		t.Errorf("in the end %d run, %d wait", g.running, len(g.queue))
	}
}

// TestTheGateAndACancelledTurn: whoever was let in when his request was cancelled
// either runs or gives the place back.
func TestTheGateAndACancelledTurn(t *testing.T) {
	g := NewGate(1)
	s := g.share(1)
	for range 2000 {
		if err := s.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			err := s.enter(ctx)
			if err == nil {
				s.leave()
			}
			left <- err
		}()
		go cancel()
		s.leave()
		if err := <-left; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if s.running != 0 || g.running != 0 || len(g.queue) != 0 {
		t.Errorf("%d run, %d wait", g.running, len(g.queue))
	}
}

// TestAFloodOfManyConnections: together they run no more than the gate lets in, one
// that has nothing running goes on, and in the end all are answered.
func TestAFloodOfManyConnections(t *testing.T) {
	const limit, flood = 10, 50
	gate := NewGate(limit)
	var floods []*wire
	running := 0
	for _, run := range []int{8, 2, 1} { // the last has none of the limit, and one of its own
		w := ready(t, Options{Gate: gate})
		var all strings.Builder
		for i := range flood {
			all.Write(AppendFrame(nil, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"hold"}`, i+10)))
		}
		w.raw(all.String())
		w.send(`{"jsonrpc":"2.0","id":"laned","method":"lane","params":{}}`)
		w.want(`{"jsonrpc":"2.0","id":"laned","result":{}}`) // all before it were taken
		for range run {
			for <-w.h.began != "hold" {
			}
		}
		floods, running = append(floods, w), running+run
	}
	ready(t, Options{Gate: gate}).goesOn()
	held := 0
	for _, w := range floods {
		held += len(slices.DeleteFunc(w.h.log(), func(seen string) bool { return seen != "hold" }))
	}
	if held != running {
		t.Errorf("%d requests run at once, want %d", held, running)
	}
	for _, w := range floods {
		close(w.h.holds)
	}
	for _, w := range floods {
		for range flood {
			if got := w.read(); !strings.HasSuffix(got, `"result":"held"}`) {
				t.Fatalf("answer %s", got)
			}
		}
		w.goesOn()
	}
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if gate.running != 0 || len(gate.queue) != 0 {
		t.Errorf("in the end %d run, %d wait", gate.running, len(gate.queue))
	}
}
