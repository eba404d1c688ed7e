package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"strings"
	"syscall"
	"testing"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

const testAdded = "/vm/added"

// parent is a world whose testRepo has the checkpoint one, with src/changed
// and a row, but without src/removed; the worktree has moved on since.
func parent(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	wt := history(w)
	must(t, wt.Close())
	return w
}

// files are the files below src of a worktree, as base name and content.
func (w *world) contents(dir string) string {
	w.t.Helper()
	entries, err := w.fs.ReadDir(dir + "/src")
	must(w.t, err)
	text := ""
	for _, e := range entries {
		content, err := w.get(path.Join(dir, "src", e.Name))
		must(w.t, err)
		text += e.Name + "=" + content + ";"
	}
	return text
}

func addFromOne(w *world) error {
	return second(AddWorktree(context.Background(), w.host(), testRepo, AddWorktreeOptions{Path: testAdded, From: "one"}))
}

// checkAdded checks that the new worktree is whole.
func checkAdded(t *testing.T, w *world) {
	t.Helper()
	wt := w.openAt(testAdded)
	if got := w.contents(testAdded); got != "changed=one;kept=kept;removed later=one;" {
		t.Fatalf("files %q", got)
	}
	if text, err := w.get(testAdded + "/outside"); err != nil || text != "committed" {
		t.Fatalf("a file outside the sources is %q, %v", text, err)
	}
	if got := w.rows(wt); got != "one;" {
		t.Fatalf("rows %q", got)
	}
	st, err := wt.Status(context.Background())
	must(t, err)
	if st.Checkpoint == nil || st.Checkpoint.Name != "one" || st.Checkpoint.Worktree != "repo" || st.FileCount != 0 || len(st.Problems) != 0 {
		t.Fatalf("status %+v", st)
	}
	must(t, wt.Close())
}

func TestAddWorktreeFromACheckpoint(t *testing.T) {
	ctx := context.Background()
	w := parent(t)
	before := w.state(w.open())
	res, err := AddWorktree(ctx, w.host(), testRepo, AddWorktreeOptions{Path: testAdded, From: "one"})
	must(t, err)
	if res.From != "repo:one" || res.Changed != 3 || res.Removed != 1 || res.Head != "c0ffee" || res.Worktree.Name != "added" || res.Config == "" || len(res.Warnings) != 0 {
		t.Errorf("added %+v", res)
	}
	checkAdded(t, w)
	if got := w.state(w.open()); got != before {
		t.Errorf("the other worktree is\n%s\nwas\n%s", got, before)
	}
	// It is a worktree like any other: its first restore saves what is there.
	wt := w.openAt(testAdded)
	_, err = wt.StartDatabase(ctx, true)
	must(t, err)
	w.insert(wt, "mine")
	_, err = wt.Capture(ctx, CaptureOptions{Name: "mine"})
	must(t, err)
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "repo:one"})
	must(t, err)
	if got := w.rows(wt); got != "one;" {
		t.Errorf("rows %q", got)
	}
	_, err = wt.Undo(ctx, WaitOptions{})
	must(t, err)
	if got := w.rows(wt); got != "one;mine;" {
		t.Errorf("rows %q", got)
	}
}

func TestAddWorktreeFromASeed(t *testing.T) {
	ctx := context.Background()
	w := parent(t)
	_, err := SeedCreate(ctx, w.host(), testRepo, SeedOptions{Name: "base"})
	must(t, err)
	for _, seed := range []string{"", "base"} {
		res, err := AddWorktree(ctx, w.host(), testRepo, AddWorktreeOptions{Path: testAdded, Seed: seed, Branch: "topic"})
		must(t, err)
		if res.Seed != seed || res.From != "" || w.contents(testAdded) != "changed=committed;removed=committed;" {
			t.Errorf("added %+v with %s", res, w.contents(testAdded))
		}
		wt := w.openAt(testAdded)
		_, err = wt.Teardown(ctx, TeardownOptions{Yes: true})
		must(t, err)
		w.unlink(testAdded)
	}
}

func TestAddWorktreeRefuses(t *testing.T) {
	ctx := context.Background()
	w := parent(t)
	for what, c := range map[string]struct {
		opt  AddWorktreeOptions
		kind fault.Kind
		text string
	}{
		"a taken path":    {AddWorktreeOptions{Path: testRepo}, fault.Usage, "exists already"},
		"a taken branch":  {AddWorktreeOptions{Path: testAdded, Branch: "taken"}, fault.Usage, "git branch taken already"},
		"an unknown name": {AddWorktreeOptions{Path: testAdded, From: "onne"}, fault.NotFound, `no checkpoint is named "onne"`},
		"an unknown seed": {AddWorktreeOptions{Path: testAdded, Seed: "bse"}, fault.NotFound, `no seed is named "bse"`},
		"a seed and from": {AddWorktreeOptions{Path: testAdded, Seed: "a", From: "one"}, fault.Usage, "--from and --seed"},
		"a full disk":     {AddWorktreeOptions{Path: testAdded, From: "one"}, fault.NoSpace, "needed"},
		"a gone worktree": {AddWorktreeOptions{Path: testAdded, From: "gone:one"}, fault.NotFound, `no worktree is named "gone"`},
		"a broken config": {AddWorktreeOptions{Path: testAdded}, fault.Usage, "source"},
	} {
		again := w.copy()
		again.t = t
		switch what {
		case "a full disk":
			again.disk = fullDisk{again.fs}
		case "a broken config":
			must(t, again.put(testRepo+"/.forklift.json", `{"format": 1, "source": 7}`))
		}
		_, err := AddWorktree(ctx, again.host(), testRepo, c.opt)
		wantKind(t, err, c.kind)
		if !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", what, err)
		}
		again.disk = nil
		if _, err := again.fs.Lstat(testAdded); err == nil {
			t.Errorf("%s: the worktree is left", what)
		}
		if got := again.records(); got != 1 {
			t.Errorf("%s: %d records", what, got)
		}
	}
}

// records counts the records and branches of the store, which must agree.
func (w *world) records() int {
	w.t.Helper()
	records, err := w.fs.ReadDir(path.Join(testStore, worktreesDir))
	must(w.t, err)
	branches, err := w.fs.ReadDir(path.Join(testStore, branchesDir))
	must(w.t, err)
	if len(records) != len(branches) {
		w.t.Fatalf("%d records, %d branches", len(records), len(branches))
	}
	return len(records)
}

// fullDisk has no room for a branch.
type fullDisk struct{ vfs.FS }

func (fullDisk) Space(string) (vfs.Space, error) {
	return vfs.Space{FreeBytes: 1, TotalBytes: 1 << 30}, nil
}

// TestAddWorktreeFailsAtEveryCall: whichever call fails, nothing is left.
func TestAddWorktreeFailsAtEveryCall(t *testing.T) {
	start := parent(t)
	failures := 0
	for n := 1; ; n += 7 {
		w := start.copy()
		w.t = t
		disk := vfs.Inject(w.fs, vfs.Rule{Nth: n, Err: syscall.EIO})
		w.disk = disk
		err := addFromOne(w)
		w.disk = nil
		if err == nil {
			checkAdded(t, w)
			if disk.Calls() < n {
				break
			}
			continue // a cache failed
		}
		failures++
		if _, err := w.fs.Lstat(testAdded); err == nil {
			t.Fatalf("call %d: the worktree is left after: %v", n, err)
		}
		// What a failed call of the taking back itself left is swept.
		must(t, second(PruneWorktrees(context.Background(), w.host(), testRepo, PruneWorktreesOptions{})))
		if got := w.records(); got != 1 {
			t.Fatalf("call %d: %d records are left", n, got)
		}
	}
	t.Logf("%d failures left nothing", failures)
	if failures < 10 {
		t.Error("too few calls")
	}
}

// TestAddWorktreeCutAtEveryCall: after a power cut the worktree is whole, or it
// has no identity, and the store has nothing of it.
func TestAddWorktreeCutAtEveryCall(t *testing.T) {
	ctx := context.Background()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	start := parent(t)
	before := start.state(start.open())
	whole, cut := 0, 0
	for n := 1; ; n += 2 {
		w := start.copy()
		w.t = t
		w.fs.CutAt(n)
		err := addFromOne(w)
		if err == nil {
			break
		}
		if !errors.Is(err, vfs.ErrPowerCut) {
			t.Fatalf("call %d: %v, want the power cut", n, err)
		}
		w = w.afterPowerCut(vfs.CrashOptions{Seed: seed + uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
		must(t, second(PruneWorktrees(ctx, w.host(), testRepo, PruneWorktreesOptions{}))) // sweeps
		wt := w.open()
		_, err = wt.Recover(ctx, RecoverOptions{}) // the server was cut off
		must(t, err)
		if got := w.state(wt); got != before {
			t.Fatalf("call %d: the other worktree is\n%s\nwas\n%s", n, got, before)
		}
		l, err := wt.readLink(linkedGitDir(testAdded))
		must(t, err)
		if l != nil {
			whole++
			checkAdded(t, w)
			continue
		}
		cut++
		if got := w.records(); got != 1 {
			t.Fatalf("call %d: %d records are left", n, got)
		}
		w.unlink(testAdded)
		must(t, addFromOne(w))
		checkAdded(t, w)
		if report, err := wt.store.Check(ctx, storage.CheckOptions{ReadData: true}); err != nil || len(report.Problems) > 0 {
			t.Fatalf("call %d: the store has problems: %v %v", n, report.Problems, err)
		}
	}
	t.Logf("%d cuts left nothing, %d the whole worktree", cut, whole)
	if cut == 0 {
		t.Error("no cut before the switch")
	}
}
