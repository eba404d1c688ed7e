package torture

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tally counts the steps of one sweep over all its worlds.
type tally struct {
	what string

	mu          sync.Mutex
	good, taken int // rounds that ended well, and all
	steps       int // that the verb has, as far as was seen
}

func newTally(what string) *tally { return &tally{what: what} }

// sweep runs one round for each wanted step n = 1, 2, 3, …, until a round
// reports that its step was not reached. That round is run in any case: it
// shows what the verb does undisturbed, and is the only one that ends a sweep.
func (c *tally) sweep(t *testing.T, wanted func(n int) bool, round func(t *testing.T, n int) (reached bool)) {
	t.Helper()
	bad := 0
	for n := 1; ; n++ {
		if n > maxSteps {
			t.Fatalf("%s: still going after %d steps", c.what, maxSteps)
		}
		if !wanted(n) {
			continue
		}
		reached := false
		ok := t.Run(strconv.Itoa(n), func(t *testing.T) { reached = round(t, n) })
		if ok && !reached {
			return
		}
		if !ok {
			bad++
		}
		c.add(n, ok)
		if bad == maxFailures {
			t.Fatalf("%s: given up after %d bad rounds", c.what, bad)
		}
	}
}

// add counts a round at step n.
func (c *tally) add(n int, good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken++
	c.steps = max(c.steps, n)
	if good {
		c.good++
	}
}

// report prints the figures of the sweep.
func (c *tally) report(t *testing.T) {
	t.Helper()
	if c.taken == 0 {
		t.Errorf("%s: no step was taken", c.what)
	}
	t.Logf("%s: %d of %d; the last was step %d", c.what, c.good, c.taken, c.steps)
}

// wanted says which steps a sweep takes: all, or of one that is like others
// one in stride, those that the others have not, and everything behind its last
// step, so that the sweep sees its end.
func (p prepared) wanted(t *testing.T, s sweep) func(n int) bool {
	t.Helper()
	if everything || len(s.like) == 0 {
		return func(int) bool { return true }
	}
	others := map[string]bool{}
	for _, name := range s.like {
		for _, step := range p.trace(t, sweeps[name]) {
			others[step] = true
		}
	}
	own := p.trace(t, s)
	only := 0
	for _, step := range own {
		if !others[step] {
			only++
			t.Logf("only here: %s", step)
		}
	}
	t.Logf("%d steps, %d of them only here", len(own), only)
	return func(n int) bool { return n > len(own) || n%stride == 0 || !others[own[n-1]] }
}

// trace runs a verb to its end and gives the kinds of its steps, in order.
func (p prepared) trace(t *testing.T, s sweep) []string {
	t.Helper()
	p.reset(t)
	return p.traceHere(t, s)
}

// traceHere is trace from the present state.
func (w *world) traceHere(t *testing.T, s sweep) []string {
	t.Helper()
	w.begin(t, s)
	r := w.forklift(t, []string{"FORKLIFT_FAILPOINT_TRACE=1"}, s.argv...)
	if r.Code != 0 {
		t.Fatalf("trace %v: %v", s.argv, r)
	}
	w.rest(t)
	var steps []string
	for line := range strings.Lines(r.Stderr) {
		if _, step, found := strings.Cut(line, ": "); found && strings.HasPrefix(line, "failpoint ") {
			steps = append(steps, kindOf(strings.ReplaceAll(strings.TrimSpace(step), w.Root, "")))
		}
	}
	return steps
}

// replaced is what makes two steps of one kind differ: ids and numbers,
// which of the two slots it is, and which of the source files.
var replaced = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(` src/.*`), " SOURCE"},
	{regexp.MustCompile(`/packs/[0-9a-f]{2}`), "/packs/HASH"},
	{regexp.MustCompile(`@before-[a-z]+-.*`), "@SAFETY"},
	{regexp.MustCompile(`\b[0-9a-hjkmnp-tv-z]{26}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-fA-F]{8,}\b`), "HASH"},
	{regexp.MustCompile(`[0-9]+`), "N"},
	{regexp.MustCompile(`([/-])[ab]([/.-]|$)`), "${1}SLOT$2"},
}

// kindOf names the kind of a step.
func kindOf(step string) string {
	for _, r := range replaced {
		step = r.pattern.ReplaceAllString(step, r.by)
	}
	return step
}
