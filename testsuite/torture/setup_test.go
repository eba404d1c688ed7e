package torture

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestSetupKilledAtEveryStep: setup has no journal. Its switch is the link in
// the git directory; killed before or after it, the next setup ends with
// exactly one worktree and one database.
func TestSetupKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The store and its template of an empty cluster are there already.
	w.must(t, "setup", "--yes")
	w.must(t, "teardown", "--yes")
	// Without the record of what was torn down, setup is a first one.
	records := filepath.Join(w.root, "w/home/data/forklift/worktrees")
	if err := errors.Join(os.RemoveAll(records), os.Mkdir(records, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.repo, ".forklift.json")); err != nil {
		t.Fatal(err)
	}
	w.alone(t)
	p := prepared{w, save(t, filepath.Join(w.root, "w"), filepath.Join(w.root, "copy"))}
	argv := []string{"setup", "--yes"}
	p.must(t, argv...)
	after := p.describe(t)
	worktrees, branches := p.entries(t, "worktrees"), p.entries(t, "branches")
	p.rest(t)
	good, bad, n := 0, 0, 0
	for n = 1; n <= maxSteps && bad < maxFailures; n++ {
		killed := false
		ok := t.Run(strconv.Itoa(n), func(t *testing.T) {
			p.reset(t)
			var step string
			killed, step = p.kill(t, n, argv...)
			t.Log(step)
			if r := p.forklift(t, nil, "status"); r.code != 0 && r.code != 4 {
				t.Fatalf("status: %v", r)
			}
			p.must(t, argv...)
			if d := p.describe(t).difference(after); d != "" {
				t.Fatal(d)
			}
			if w, b := p.entries(t, "worktrees"), p.entries(t, "branches"); w != worktrees || b != branches {
				t.Fatalf("%d worktrees and %d branches, want %d and %d", w, b, worktrees, branches)
			}
			p.rest(t)
		})
		if !ok {
			bad++
			continue
		}
		if !killed {
			break
		}
		good++
	}
	t.Logf("setup: %d of %d", good, n-1)
}

// entries counts what is in a directory of the store.
func (w *world) entries(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.root, "w/home/data/forklift", dir))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
