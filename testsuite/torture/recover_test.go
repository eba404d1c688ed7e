package torture

import (
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
	name string
	step func(steps []string, atSwitch int) int
}

// behind is the first step behind the switch.
func behind(_ []string, atSwitch int) int { return atSwitch + 1 }

// situations are the two sides of the switch, and with everything others.
func situations() []situation {
	found := []situation{
		{"before", func(_ []string, atSwitch int) int { return atSwitch }},
		{"behind", behind},
	}
	for i := range spread {
		if everything {
			found = append(found, situation{fmt.Sprintf("part%d", i+1), func(steps []string, _ int) int {
				return 1 + (i+1)*len(steps)/(spread+1)
			}})
		}
	}
	return found
}

// TestRecoverKilledAtEveryStep kills restore on both sides of its switch, and
// then recover at each of its own steps.
func TestRecoverKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	s := sweeps["restore"]
	c := newTally("recover")
	t.Cleanup(func() { c.report(t) })
	for _, at := range situations() {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
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
	atSwitch := 1 + slices.IndexFunc(steps, isSwitch)
	if atSwitch == 0 {
		t.Fatalf("no step of %v is the switch: %q", s.argv, steps)
	}
	_, step := w.kill(t, at.step(steps, atSwitch), s.argv...)
	forward, there := w.interrupted(t)
	t.Logf("%s (journal: %v, forward: %v)", step, there, forward)
	if at.name == "before" && forward || at.name == "behind" && !forward {
		t.Fatalf("killed %s the switch, but status says forward: %v", at.name, forward)
	}
	w.alone(t)
	return forward
}

// isSwitch tells the one switch of a restore.
func isSwitch(step string) bool {
	return strings.HasPrefix(step, "rename ") && strings.HasSuffix(step, "/current.json")
}

// nested kills recover at one of its steps and recovers again. Killed, plain
// recover goes the way it would have gone; --back does once that is written
// down, and status tells whether it is.
func (w *world) nested(t *testing.T, argv []string, n int, forward bool, before, after state) bool {
	killed, step := w.kill(t, n, argv...)
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
