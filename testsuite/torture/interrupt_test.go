package torture

import (
	"strconv"
	"strings"
	"testing"
)

// interruptStride: without everything, Ctrl-C is pressed at one of so many steps.
const interruptStride = 7

// TestInterruptedAtEveryStep presses Ctrl-C at every step: the verb either
// ends with exit code 130 and has changed nothing, or with 0 and is done. It
// needs no recover. Without everything it takes every seventh step, of the
// verbs on a running server and of undo.
func TestInterruptedAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"capture", "captureRunning", "restore", "restoreRunning", "undo"} {
		s := sweeps[name]
		if len(s.like) > 0 && !everything {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			before, after := p.outcome(t, s)
			c := newTally("Ctrl-C during " + strings.Join(s.argv, " "))
			c.sweep(t, func(n int) bool { return everything || n%interruptStride == 1 },
				func(t *testing.T, n int) bool { return p.interrupt(t, s, n, before, after) })
			c.report(t)
		})
	}
}

// interrupt is one Ctrl-C. It reports whether step n was reached at all.
func (p prepared) interrupt(t *testing.T, s sweep, n int, before, after state) bool {
	p.reset(t)
	p.begin(t, s)
	r := p.forklift(t, []string{"FORKLIFT_FAILPOINT_INTERRUPT=" + strconv.Itoa(n), "FORKLIFT_FAILPOINT_TRACE=1"}, s.argv...)
	step := "failpoint " + strconv.Itoa(n) + ":"
	direction := "forward"
	if r.Code == 130 {
		direction = "back"
	} else if r.Code != 0 {
		t.Fatalf("want exit code 0 or 130: %v", r)
	}
	p.settled(t, before, after, direction)
	return strings.Contains(r.Stderr, step)
}
