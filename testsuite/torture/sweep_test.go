package torture

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"forklift/testsuite/internal/harness"
)

// maxSteps is more than any verb takes; a sweep that gets there is a mistake.
const maxSteps = 5000

// maxFailures is how many bad rounds a sweep reports before it gives up.
const maxFailures = 5

// everything asks for every step of every sweep (make torture).
var everything = os.Getenv("FORKLIFT_TORTURE") == "all"

// stride: without everything, a sweep that is like others takes one of so many
// steps, and each step that those others have not.
const stride = 8

// sweep is one verb, killed at each of its steps.
type sweep struct {
	argv    []string
	running bool     // the server runs (pinned) when the verb begins
	like    []string // the sweeps that take most of its steps, too
	shards  int      // worlds that share the steps, side by side; 0 = one
	// from makes the world that it starts from; nil is prepare.
	from func(*testing.T) prepared
}

// world makes the world that the sweep starts from.
func (s sweep) world(t *testing.T) prepared {
	t.Helper()
	if s.from != nil {
		return s.from(t)
	}
	return prepare(t)
}

// sweeps are the verbs. The world they start from: checkpoint "one", a
// restore of it that can be undone, and then other files and rows. A verb on
// a running server takes every step that it takes on a stopped one.
var sweeps = map[string]sweep{
	"captureRunning": {argv: []string{"capture", "two"}, running: true, shards: 2},
	"restoreRunning": {argv: []string{"restore", "one"}, running: true, shards: 3},
	"capture":        {argv: []string{"capture", "two"}, like: []string{"captureRunning"}},
	"restore":        {argv: []string{"restore", "one"}, like: []string{"restoreRunning"}},
	"undo":           {argv: []string{"undo"}, shards: 3},
	"restorePath":    {argv: []string{"restore", "one", "--", "src/app.txt"}, like: []string{"restoreRunning"}},
	"codeOnly":       {argv: []string{"restore", "one", "--code-only"}, running: true, like: []string{"restoreRunning"}},
	"undoDiscarded":  {argv: []string{"undo"}, from: prepareKept, like: []string{"restore"}},
	"dataOnly":       {argv: []string{"restore", "one", "--data-only"}, like: []string{"restoreRunning"}},
}

// first and second are the contents of the database at checkpoint "one" and
// when the verbs begin.
const (
	first = `CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 200) g;
CREATE SEQUENCE s; SELECT nextval('s'); SELECT lo_from_bytea(4242, 'large object');`
	second = `UPDATE t SET v = 'changed' WHERE id % 3 = 0; DELETE FROM t WHERE id > 150; CREATE TABLE more (x text);
INSERT INTO more VALUES ('more'); SELECT nextval('s'); SELECT lo_unlink(4242); CREATE ROLE someone;`
)

// prepared is a world at rest, with a copy of it.
type prepared struct {
	*world
	*saved
}

// prepare makes the world that all sweeps but setup's start from.
func prepare(t *testing.T) prepared {
	t.Helper()
	w := newWorld(t)
	w.live(t)
	return prepared{w, save(t, filepath.Join(w.Root, "w"), filepath.Join(w.Root, "copy"))}
}

// live is what happens in a world before the verbs begin.
func (w *world) live(t *testing.T) {
	t.Helper()
	w.must(t, "setup", "--yes")
	w.sql(t, first)
	w.must(t, "capture", "one")
	w.sql(t, "INSERT INTO t VALUES (1000, 'between')")
	w.Write(t, "src/between.txt", "between\n")
	w.must(t, "restore", "one")
	w.sql(t, second)
	w.Write(t, "src/app.txt", "version 2\n")
	w.Write(t, "src/new/never.txt", "never captured\n")
	if err := os.Chmod(filepath.Join(w.Repo, "src/lib/a.txt"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.Repo, "src/gone")); err != nil {
		t.Fatal(err)
	}
	w.rest(t)
}

// rest stops the server, if it runs, and waits until nothing of the world runs.
func (w *world) rest(t *testing.T) {
	t.Helper()
	if left, err := harness.Leftovers(w.Root); err != nil || len(left) > 0 {
		w.must(t, "db", "stop")
	}
	w.alone(t)
}

// alone fails if a process of the world is left.
func (w *world) alone(t *testing.T) {
	t.Helper()
	left, err := harness.WaitForNone(w.Root, patience)
	if err != nil || len(left) > 0 {
		harness.End(w.Root, left)
		t.Fatalf("processes are left: %v %v", left, err)
	}
}

// place is where a verb is killed: its nth step, or the nth behind the first
// that holds a text, which is itself the step 0 there. A number counted from the
// start differs from run to run by what goes on side by side.
type place struct {
	n      int
	behind string // "": from the start
}

// String is the order for the failpoints.
func (p place) String() string {
	if p.behind == "" {
		return strconv.Itoa(p.n)
	}
	return p.behind + ">" + strconv.Itoa(p.n)
}

// kill runs a verb and has it killed at a place; the last line that it traced
// tells what that step was.
func (w *world) kill(t *testing.T, at place, argv ...string) (killed bool, step string) {
	t.Helper()
	return w.killProgram(t, at, "forklift", argv...)
}

// killProgram is kill for another program with failpoints.
func (w *world) killProgram(t *testing.T, at place, program string, argv ...string) (killed bool, step string) {
	t.Helper()
	r := w.Exec(t, verbDeadline, []string{"FORKLIFT_FAILPOINT_KILL=" + at.String(), "FORKLIFT_FAILPOINT_TRACE=1"}, program, argv...)
	if !r.Killed && r.Code != 0 {
		t.Fatalf("%s %v, not killed: %v", program, argv, r)
	}
	lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
	return r.Killed, strings.ReplaceAll(lines[len(lines)-1], w.Root, "")
}

// journal reports whether an operation is recorded as being under way.
func (w *world) journal(t *testing.T) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(w.Root, "w/home/data/forklift/worktrees/*/journal.json"))
	if err != nil || len(names) > 1 {
		t.Fatalf("journals: %v %v", names, err)
	}
	return len(names) == 1
}

// refusalStride: without everything, a command is refused in one of so many
// interrupted worktrees; status is asked in all.
const refusalStride = 4

// interrupted checks what is said of a killed verb before recover: status
// and `run` know about the journal. It gives the way that recover will go.
func (w *world) interrupted(t *testing.T) (forward, there bool) {
	t.Helper()
	there = w.journal(t)
	var status struct {
		Interrupted *struct{ Forward bool }
	}
	decode(t, w.must(t, "status", "--json"), &status)
	if (status.Interrupted != nil) != there {
		t.Fatalf("status says interrupted: %v, a journal is there: %v", status.Interrupted != nil, there)
	}
	if !there {
		return false, false
	}
	if w.looks++; !everything && w.looks%refusalStride != 1 {
		return status.Interrupted.Forward, true
	}
	r := w.forklift(t, nil, "run", "--", "true")
	if r.Code != 6 || !strings.Contains(r.Stderr, "forklift recover") {
		t.Fatalf("run in an interrupted worktree, want exit code 6 and the remedy: %v", r)
	}
	return status.Interrupted.Forward, true
}

// settled checks a world after recover: exactly before or exactly after, as
// recover said, and nothing left over.
func (w *world) settled(t *testing.T, before, after state, direction string) {
	t.Helper()
	if w.journal(t) {
		t.Fatalf("the journal is still there")
	}
	got := w.describe(t)
	switch direction {
	case "forward":
		if d := got.difference(after); d != "" {
			t.Fatalf("recovered forward, but not as after: %s", d)
		}
	case "back":
		if d := got.difference(before); d != "" {
			t.Fatalf("recovered back, but not as before: %s", d)
		}
	default:
		if d, e := got.difference(before), got.difference(after); d != "" && e != "" {
			t.Fatalf("neither before (%s) nor after (%s)", d, e)
		}
	}
	w.rest(t)
}

// recovered runs recover and gives the direction that it reports.
func (w *world) recovered(t *testing.T) string {
	t.Helper()
	var r struct {
		Nothing   bool
		Direction string
	}
	decode(t, w.must(t, "recover", "--json"), &r)
	if r.Nothing {
		return ""
	}
	return r.Direction
}

// outcome runs the verb to its end and describes what there is before and after it.
func (p prepared) outcome(t *testing.T, s sweep) (before, after state) {
	t.Helper()
	before = p.describe(t)
	p.rest(t)
	p.reset(t)
	p.begin(t, s)
	p.must(t, s.argv...)
	after = p.describe(t)
	p.rest(t)
	return before, after
}

// begin brings the world to where the verb starts.
func (w *world) begin(t *testing.T, s sweep) {
	t.Helper()
	if s.running {
		w.must(t, "db", "start")
	}
}

func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for name, s := range sweeps {
		tally := newTally(strings.Join(s.argv, " "))
		t.Run(name, func(t *testing.T) {
			for shard := range max(s.shards, 1) {
				t.Run("world"+strconv.Itoa(shard+1), func(t *testing.T) {
					t.Parallel()
					p := s.world(t)
					before, after := p.outcome(t, s)
					wanted := p.wanted(t, s)
					tally.sweep(t, func(n int) bool { return n%max(s.shards, 1) == shard && wanted(n) },
						func(t *testing.T, n int) bool { return p.round(t, s, n, before, after) })
				})
			}
			t.Cleanup(func() { tally.report(t) })
		})
	}
}

// round is one kill. It reports whether the verb was killed at all.
func (p prepared) round(t *testing.T, s sweep, n int, before, after state) bool {
	p.reset(t)
	p.begin(t, s)
	killed, step := p.kill(t, place{n: n}, s.argv...)
	t.Log(step)
	if !killed {
		p.settled(t, before, after, "forward")
		return false
	}
	forward, there := p.interrupted(t)
	direction := p.recovered(t)
	t.Logf("journal: %v, forward: %v, recovered: %s", there, forward, direction)
	if there && (direction == "forward") != forward {
		t.Fatalf("status said forward: %v, recover went %s", forward, direction)
	}
	p.settled(t, before, after, direction)
	return true
}
