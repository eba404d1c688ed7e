package torture

import (
	"path/filepath"
	"strconv"
	"testing"
)

// situation is a step of restore at which what recover finds is new: another
// phase of the journal, or the other side of the switch.
type situation struct {
	step    int
	phase   string
	forward bool
}

// situations finds the first step of each phase.
func (p prepared) situations(t *testing.T, s sweep) []situation {
	t.Helper()
	var found []situation
	for n := 1; n <= maxSteps; n++ {
		p.reset(t)
		killed, _ := p.kill(t, n, s.argv...)
		if !killed {
			p.rest(t)
			return found
		}
		phase, there := p.journal(t)
		if !there {
			continue
		}
		var status struct{ Interrupted struct{ Forward bool } }
		decode(t, p.must(t, "status", "--json"), &status)
		now := situation{n, phase, status.Interrupted.Forward}
		if last := len(found) - 1; last < 0 || found[last].phase != now.phase || found[last].forward != now.forward {
			found = append(found, now)
		}
		p.recovered(t)
		p.alone(t)
	}
	t.Fatalf("more than %d steps", maxSteps)
	return nil
}

// TestRecoverKilledAtEveryStep kills restore in each of its phases, and then
// recover at each of its steps.
func TestRecoverKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	s := sweeps["restore"]
	before, after := p.outcome(t, s)
	good, all := 0, 0
	for _, at := range p.situations(t, s) {
		t.Run(strconv.Itoa(at.step), func(t *testing.T) {
			p.reset(t)
			_, step := p.kill(t, at.step, s.argv...)
			t.Logf("%s (journal: %s, forward: %v)", step, at.phase, at.forward)
			p.alone(t)
			inner := prepared{p.world, save(t, filepath.Join(p.root, "w"), filepath.Join(p.root, "copy"+strconv.Itoa(at.step)))}
			bad, n := 0, 0
			for n = 1; n <= maxSteps && bad < maxFailures; n++ {
				killed := false
				if !t.Run(strconv.Itoa(n), func(t *testing.T) { killed = inner.nested(t, n, at.forward, before, after) }) {
					bad++
					continue
				}
				if !killed {
					break
				}
				good++
			}
			all += n - 1
			// What comes next knows the files by the outer copy only.
			p.forget()
		})
	}
	t.Logf("recover: %d of %d", good, all)
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
