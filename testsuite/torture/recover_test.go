package torture

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// situationsSwept is in how many different states of a killed restore recover
// is swept: the two beside the switch, and with everything others all over its course.
func situationsSwept() int {
	if everything {
		return 12
	}
	return 2
}

// situation is a state that a killed restore leaves.
type situation struct {
	step    int // that the restore was killed at
	forward bool
}

// situations kills a restore at some of its steps: evenly spread ones, and
// those on both sides of the switch.
func (p prepared) situations(t *testing.T, s sweep) []situation {
	t.Helper()
	counted := filepath.Join(p.root, "count")
	p.reset(t)
	if r := p.forklift(t, []string{"FORKLIFT_FAILPOINT_COUNT=" + counted}, s.argv...); r.code != 0 {
		t.Fatalf("count the steps: %v", r)
	}
	text, err := os.ReadFile(counted)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	p.alone(t)
	var found []situation
	look := func(n int) *situation {
		p.reset(t)
		p.kill(t, n, s.argv...)
		forward, there := p.interrupted(t)
		if !there {
			return nil
		}
		return &situation{n, forward}
	}
	// The switch is where forward turns true: found by halving.
	before, after := 1, steps
	for before+1 < after {
		middle := (before + after) / 2
		if at := look(middle); at != nil && !at.forward {
			before = middle
		} else {
			after = middle
		}
	}
	wanted := []int{before, after}
	others := situationsSwept() - len(wanted)
	for i := range others {
		wanted = append(wanted, 1+(i+1)*steps/(others+1))
	}
	slices.Sort(wanted)
	for _, n := range slices.Compact(wanted) {
		if at := look(n); at != nil {
			found = append(found, *at)
		}
	}
	return found
}

// TestRecoverKilledAtEveryStep kills restore at steps all over its course, and
// then recover at each of its own steps.
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
			t.Logf("%s (forward: %v)", step, at.forward)
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
