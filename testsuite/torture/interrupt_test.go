package torture

import (
	"strconv"
	"strings"
	"testing"
)

// TestInterruptedAtEveryStep presses Ctrl-C at every step: the verb either
// ends with exit code 130 and has changed nothing, or with 0 and is done. It
// needs no recover. Without everything it takes every seventh step, of the
// verbs on a running server.
func TestInterruptedAtEveryStep(t *testing.T) {
	stride := 1
	if !everything {
		stride = 7
	}
	for _, name := range []string{"capture", "captureRunning", "restore", "restoreRunning"} {
		s := sweeps[name]
		if s.covered && !everything {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			before, after := p.outcome(t, s)
			good, bad, n := 0, 0, 0
			for n = 1; n <= maxSteps && bad < maxFailures; n += stride {
				reached := false
				ok := t.Run(strconv.Itoa(n), func(t *testing.T) { reached = p.interrupt(t, s, n, before, after) })
				if !ok {
					bad++
					continue
				}
				if !reached {
					break
				}
				good++
			}
			t.Logf("%s: Ctrl-C at %d of %d steps tried ended before or after", strings.Join(s.argv, " "), good, good+bad)
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
	if r.code == 130 {
		direction = "back"
	} else if r.code != 0 {
		t.Fatalf("want exit code 0 or 130: %v", r)
	}
	p.settled(t, before, after, direction)
	return strings.Contains(r.stderr, step)
}
