package torture

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// setupShards is how many worlds share the steps of setup.
const setupShards = 2

// TestSetupKilledAtEveryStep: setup has no journal. Its switch is the link in
// the git directory; killed before or after it, the next setup ends with
// exactly one worktree and one database.
func TestSetupKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	c := newTally("setup")
	t.Cleanup(func() { c.report(t) })
	for shard := range setupShards {
		t.Run("world"+strconv.Itoa(shard+1), func(t *testing.T) {
			t.Parallel()
			p := prepareSetup(t)
			p.must(t, setupArgv...)
			want := setUp{p.describe(t), p.entries(t, "worktrees"), p.entries(t, "branches")}
			p.rest(t)
			c.sweep(t, func(n int) bool { return n%setupShards == shard },
				func(t *testing.T, n int) bool { return p.setupRound(t, n, want) })
		})
	}
}

// setupArgv is the verb of this sweep.
var setupArgv = []string{"setup", "--yes"}

// setUp is what a finished setup leaves.
type setUp struct {
	state               state
	worktrees, branches int // records in the store
}

// prepareSetup makes a world that no setup has seen, but whose store and
// template of an empty cluster are there already.
func prepareSetup(t *testing.T) prepared {
	t.Helper()
	w := newWorld(t)
	w.must(t, setupArgv...)
	w.must(t, "teardown", "--yes")
	// Without the record of what was torn down, setup is a first one.
	records := filepath.Join(w.Root, "w/home/data/forklift/worktrees")
	if err := errors.Join(os.RemoveAll(records), os.Mkdir(records, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.Repo, ".forklift.json")); err != nil {
		t.Fatal(err)
	}
	w.alone(t)
	return prepared{w, save(t, filepath.Join(w.Root, "w"), filepath.Join(w.Root, "copy"))}
}

// setupRound is one kill, and a second setup.
func (p prepared) setupRound(t *testing.T, n int, want setUp) bool {
	p.reset(t)
	killed, step := p.kill(t, place{n: n}, setupArgv...)
	t.Log(step)
	if r := p.forklift(t, nil, "status"); r.Code != 0 && r.Code != 4 {
		t.Fatalf("status: %v", r)
	}
	p.must(t, setupArgv...)
	if d := p.describe(t).difference(want.state); d != "" {
		t.Fatal(d)
	}
	if w, b := p.entries(t, "worktrees"), p.entries(t, "branches"); w != want.worktrees || b != want.branches {
		t.Fatalf("%d worktrees and %d branches, want %d and %d", w, b, want.worktrees, want.branches)
	}
	p.rest(t)
	return killed
}

// entries counts what is in a directory of the store.
func (w *world) entries(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.Root, "w/home/data/forklift", dir))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
