package torture

import (
	"path/filepath"
	"strings"
	"testing"
)

// prepareWorlds are where preparations are killed. The steps are shared by the
// first two; with everything all are taken in each.
var prepareWorlds = []struct {
	name    string
	make    func(*testing.T) prepared
	running bool // the server runs meanwhile
}{{"running", prepareStale, true}, {"stopped", prepareStale, false}, {"empty", prepareEmpty, false}}

// prepareShards is how many worlds share the steps.
const prepareShards = 2

// TestPrepareKilledAtEveryStep kills what the daemon does ahead of a restore.
// It has no journal, and nobody has to recover: the slot that it wrote to may
// hold anything, but its record must not claim what is not so. A restore
// into it, which believes that record, and its undo are exact.
func TestPrepareKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	c := newTally("prepare")
	t.Cleanup(func() { c.report(t) })
	for i, w := range prepareWorlds {
		if i >= prepareShards && !everything {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			p := w.make(t)
			want := p.preparedOutcome(t)
			c.sweep(t, func(n int) bool { return everything || n%prepareShards == i },
				func(t *testing.T, n int) bool { return p.prepareRound(t, sweep{running: w.running}, n, want) })
		})
	}
}

// prepareStale makes a world whose idle slot holds an older state than the
// checkpoint that the worktree rests on, and is not what undo goes back to.
func prepareStale(t *testing.T) prepared {
	t.Helper()
	w := newWorld(t)
	w.live(t)
	return w.goneOn(t)
}

// prepareEmpty makes a world whose idle slot was never used.
func prepareEmpty(t *testing.T) prepared {
	t.Helper()
	w := newWorld(t)
	w.must(t, "setup", "--yes")
	w.sql(t, first)
	w.must(t, "capture", "one")
	w.sql(t, second)
	return w.goneOn(t)
}

// goneOn captures the checkpoint that preparations are of, and goes on.
func (w *world) goneOn(t *testing.T) prepared {
	t.Helper()
	w.must(t, "capture", "two")
	w.sql(t, "DELETE FROM t WHERE id < 20; CREATE TABLE third (y int); INSERT INTO third SELECT generate_series(1, 3000)")
	w.Write(t, "src/app.txt", "version 3\n")
	w.rest(t)
	return prepared{w, save(t, filepath.Join(w.Root, "w"), filepath.Join(w.Root, "copy"))}
}

// outcomes are the states that every round goes through.
type outcomes struct {
	present  state
	restored map[string]state
}

// preparedOutcome is what restores give without any preparation.
func (p prepared) preparedOutcome(t *testing.T) outcomes {
	t.Helper()
	o := outcomes{p.describe(t), map[string]state{}}
	p.rest(t)
	p.reset(t)
	if r := p.Exec(t, verbDeadline, nil, shared.preparer); r.Code != 0 || strings.TrimSpace(r.Stdout) != "true" {
		t.Fatalf("there should be something to prepare: %v", r)
	}
	for _, name := range []string{"one", "two"} {
		p.reset(t)
		p.must(t, "restore", name)
		o.restored[name] = p.describe(t)
		p.rest(t)
		if o.present.difference(o.restored[name]) == "" {
			t.Fatal("the restore changes nothing")
		}
	}
	return o
}

// againStride: without everything, a killed preparation is done again at one of
// so many steps.
const againStride = 5

// prepareRound is a kill, and then a restore of something else than what was
// prepared: what of that is there already would not be missed in it, but is
// wrong in the other. A second kill at the same step is followed by another
// preparation and a restore of just that.
func (p prepared) prepareRound(t *testing.T, s sweep, n int, want outcomes) bool {
	killed := p.prepareKilled(t, s, n)
	p.throughSlot(t, "one", want)
	if !killed || !everything && n%againStride != 0 {
		return killed
	}
	p.prepareKilled(t, s, n)
	r := p.Exec(t, verbDeadline, nil, shared.preparer)
	if r.Code != 0 {
		t.Fatalf("prepare again: %v", r)
	}
	t.Logf("prepared again: %s", strings.TrimSpace(r.Stdout))
	p.throughSlot(t, "two", want)
	return true
}

// prepareKilled is one kill.
func (p prepared) prepareKilled(t *testing.T, s sweep, n int) bool {
	t.Helper()
	p.reset(t)
	p.begin(t, s)
	killed, step := p.killProgram(t, place{n: n}, shared.preparer)
	t.Log(step)
	if _, there := p.interrupted(t); there {
		t.Fatal("a preparation left a journal")
	}
	return killed
}

// throughSlot restores into the slot, and takes that back.
func (p prepared) throughSlot(t *testing.T, name string, want outcomes) {
	t.Helper()
	p.must(t, "restore", name)
	if d := p.describe(t).difference(want.restored[name]); d != "" {
		t.Fatalf("%s restored into the slot: %s", name, d)
	}
	p.must(t, "undo")
	if d := p.describe(t).difference(want.present); d != "" {
		t.Fatalf("undone: %s", d)
	}
	p.rest(t)
}
