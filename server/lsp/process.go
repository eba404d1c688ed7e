package lsp

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// processEvery is how often the client's process is looked for.
const processEvery = 5 * time.Second

// watch closes gone when a process ends. One that is not there now is not
// watched: the client lives where its ids mean nothing here, in a container or
// on another machine.
func (s *server) watch(pid int) {
	if pid <= 1 || !alive(pid) {
		return
	}
	every := s.opt.processEvery
	if every <= 0 {
		every = processEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-s.conn.done:
			return
		case <-tick.C:
			if !alive(pid) {
				close(s.gone)
				return
			}
		}
	}
}

// alive reports that a process exists, be it someone else's.
func alive(pid int) bool {
	return !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
