package torture

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// spread: with everything, recover is also swept after kills at so many steps
// all over a restore.
const spread = 10

// situation is where a restore is killed before recover is swept.
type situation struct {
	name  string
	place func(steps int) place
	of    string // the sweep whose verb is killed; "": restore
}

// behind is the first step behind the switch.
var behind = situation{name: "behind", place: func(int) place { return place{1, restoreSwitch} }}

// atSwitch is the switch itself.
var atSwitch = situation{name: "before", place: func(int) place { return place{0, restoreSwitch} }}

// situations are the two sides of the switch, and with everything others.
func situations() []situation {
	found := []situation{atSwitch, behind}
	if everything {
		found = append(found, situation{atSwitch.name, atSwitch.place, "undoDiscarded"}, situation{behind.name, behind.place, "undoDiscarded"})
	}
	for i := range spread {
		if everything {
			found = append(found, situation{name: fmt.Sprintf("part%d", i+1), place: func(steps int) place {
				return place{n: 1 + (i+1)*steps/(spread+1)}
			}})
		}
	}
	return found
}

// TestRecoverKilledAtEveryStep kills restore on both sides of its switch, and
// then recover at each of its own steps.
func TestRecoverKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	c := newTally("recover")
	t.Cleanup(func() { c.report(t) })
	for _, at := range situations() {
		t.Run(at.name+at.of, func(t *testing.T) {
			t.Parallel()
			s := sweeps[cmp.Or(at.of, "restore")]
			p := s.world(t)
			before, after := p.outcome(t, s)
			steps := p.trace(t, s)
			p.reset(t)
			forward := p.killed(t, s, at, steps)
			inner := prepared{p.world, save(t, filepath.Join(p.Root, "w"), filepath.Join(p.Root, "inner"))}
			c.sweep(t, func(int) bool { return true }, func(t *testing.T, n int) bool {
				inner.reset(t)
				return inner.nested(t, []string{"recover"}, n, forward, before, after)
			})
		})
	}
}

// killed kills a restore at a situation and tells which way recover will go.
func (w *world) killed(t *testing.T, s sweep, at situation, steps []string) (forward bool) {
	t.Helper()
	theSwitch(t, steps, restoreSwitch)
	_, step := w.kill(t, at.place(len(steps)), s.argv...)
	forward, there := w.interrupted(t)
	t.Logf("%s (journal: %v, forward: %v)", step, there, forward)
	if at.name == "before" && forward || at.name == "behind" && !forward {
		t.Fatalf("killed %s the switch, but status says forward: %v", at.name, forward)
	}
	w.alone(t)
	return forward
}

// What the paths of the switches end in: no other step has that in its path.
const (
	restoreSwitch = "/current.json"
	captureSwitch = "/two"
)

// theSwitch gives the number of the step that is the switch.
func theSwitch(t *testing.T, steps []string, text string) int {
	t.Helper()
	at := slices.IndexFunc(steps, func(step string) bool { return strings.Contains(step, text) })
	if at < 0 {
		t.Fatalf("no step is the switch: %q", steps)
	}
	if op, _, _ := strings.Cut(steps[at], " "); op != "rename" && op != "link" || !strings.HasSuffix(steps[at], text) {
		t.Fatalf("this should be the switch: %q", steps[at])
	}
	return at + 1
}

// nested kills recover at one of its steps and recovers again. Killed, plain
// recover goes the way it would have gone; --back does once that is written
// down, and status tells whether it is.
func (w *world) nested(t *testing.T, argv []string, n int, forward bool, before, after state) bool {
	killed, step := w.kill(t, place{n: n}, argv...)
	t.Log(step)
	back := len(argv) > 1
	if back && !killed {
		forward = false
	}
	direction := map[bool]string{true: "forward", false: "back"}
	if killed {
		now, there := w.interrupted(t)
		if there && now != forward && !back {
			t.Fatalf("status says forward: %v, before recover it was %v", now, forward)
		}
		forward = there && now || !there && forward && !back
		if again := w.recovered(t); again != "" && again != direction[forward] {
			t.Fatalf("the first recover went %s, the second %s", direction[forward], again)
		}
	}
	w.settled(t, before, after, direction[forward])
	return killed
}
