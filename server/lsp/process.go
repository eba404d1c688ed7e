package lsp

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessEvery is how often the client's process is looked for, unless the
// caller says otherwise.
const ProcessEvery = 5 * time.Second

// WatchProcess waits until a process is gone (true) or done is closed
// (false). A process that is not there now is not watched, and the answer is
// false: the client lives where its ids mean nothing here, in a container or on
// another machine.
func WatchProcess(done <-chan struct{}, pid int, every time.Duration) bool {
	if pid <= 1 || !alive(pid) {
		return false
	}
	if every <= 0 {
		every = ProcessEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return false
		case <-tick.C:
			if !alive(pid) {
				return true
			}
		}
	}
}

// alive reports that a process exists, be it someone else's.
func alive(pid int) bool {
	return !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
