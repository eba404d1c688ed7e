package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signals decides what a signal does: cancel the context, or go to the
// command that is being run.
type signals struct {
	in chan os.Signal

	mu   sync.Mutex
	away chan<- os.Signal // where they go instead; nil: they cancel
}

// canceling are the signals that ask this program to stop.
var canceling = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// passedOn are the signals that a command gets from us while it runs.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGWINCH, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT,
}

func newSignals() *signals { return &signals{in: make(chan os.Signal, 16)} }

// sameRequest is how soon behind the first signal others are the same wish:
// programs such as timeout and npm pass on what the terminal has sent already.
const sameRequest = 500 * time.Millisecond

// context is cancelled by the first signal that asks to stop, after a call of
// stopping. A second one, later than sameRequest, ends the program at once:
// every verb is safe against that, and recover finishes what it leaves.
func (s *signals) context(parent context.Context, stopping func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signal.Notify(s.in, canceling...)
	done := make(chan struct{})
	go func() {
		var same <-chan time.Time // nil until the first one
		for {
			select {
			case <-done:
				return
			case <-same:
				signal.Reset(canceling...)
			case sig := <-s.in:
				if s.send(sig) || same != nil {
					continue
				}
				same = time.After(sameRequest)
				stopping()
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(s.in)
		close(done)
		cancel()
	}
}

// send gives a signal to who asked for it.
func (s *signals) send(sig os.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away == nil {
		return !isCanceling(sig)
	}
	select {
	case s.away <- sig:
	default: // 16 of them wait already
	}
	return true
}

func isCanceling(sig os.Signal) bool {
	for _, c := range canceling {
		if sig == c {
			return true
		}
	}
	return false
}

// divert sends all signals to ch until the returned function is called.
func (s *signals) divert(ch chan<- os.Signal) (release func()) {
	s.mu.Lock()
	s.away = ch
	s.mu.Unlock()
	signal.Notify(s.in, passedOn...)
	return func() {
		signal.Stop(s.in)
		signal.Notify(s.in, canceling...)
		s.mu.Lock()
		s.away = nil
		s.mu.Unlock()
	}
}
