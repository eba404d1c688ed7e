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

// situations are the two sides of the switch, and with everything others.
func situations() []situation {
	found := []situation{
		{"before", func(_ []string, atSwitch int) int { return atSwitch }},
		{"behind", func(_ []string, atSwitch int) int { return atSwitch + 1 }},
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
			atSwitch := 1 + slices.IndexFunc(steps, isSwitch)
			if atSwitch == 0 {
				t.Fatalf("no step of %v is the switch: %q", s.argv, steps)
			}
			p.reset(t)
			_, step := p.kill(t, at.step(steps, atSwitch), s.argv...)
			forward, there := p.interrupted(t)
			t.Logf("%s (journal: %v, forward: %v)", step, there, forward)
			if at.name == "before" && forward || at.name == "behind" && !forward {
				t.Fatalf("killed %s the switch, but status says forward: %v", at.name, forward)
			}
			p.alone(t)
			inner := prepared{p.world, save(t, filepath.Join(p.root, "w"), filepath.Join(p.root, "inner"))}
			c.sweep(t, func(int) bool { return true },
				func(t *testing.T, n int) bool { return inner.nested(t, n, forward, before, after) })
		})
	}
}

// isSwitch tells the one switch of a restore.
func isSwitch(step string) bool {
	return strings.HasPrefix(step, "rename ") && strings.HasSuffix(step, "/current.json")
}

// nested kills recover at one of its steps and recovers again.
func (p prepared) nested(t *testing.T, n int, forward bool, before, after state) bool {
	p.reset(t)
	killed, step := p.kill(t, n, "recover")
	t.Log(step)
	direction := map[bool]string{true: "forward", false: "back"}[forward]
	if killed {
		p.interrupted(t)
		if again := p.recovered(t); again != "" && again != direction {
			t.Fatalf("the first recover went %s, the second %s", direction, again)
		}
	}
	p.settled(t, before, after, direction)
	return killed
}
