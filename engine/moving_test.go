package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

const (
	testLinked = "/vm/linked"
	testHeir   = "/vm/heir"
)

// orphaned is a world with testRepo and the worktree linked, set up, with
// rows and a checkpoint; git has removed linked, and made heir.
func orphaned(t *testing.T) *world {
	t.Helper()
	ctx := context.Background()
	w := newWorld(t)
	w.link(testLinked)
	for _, dir := range []string{testRepo, testLinked} {
		_, err := Setup(ctx, w.host(), dir, SetupOptions{Yes: true})
		must(t, err)
	}
	wt := w.openAt(testLinked)
	_, err := wt.StartDatabase(ctx, true)
	must(t, err)
	w.insert(wt, "one")
	_, err = wt.Capture(ctx, CaptureOptions{Name: "one"})
	must(t, err)
	w.insert(wt, "two")
	must(t, wt.Close())
	w.unlink(testLinked)
	w.link(testHeir)
	must(t, w.put(testHeir+"/src/file", "heir"))
	must(t, w.put(testHeir+"/.forklift.json", `{"format": 1, "source": ["src"]}`))
	return w
}

func (w *world) openAt(dir string) *Worktree {
	w.t.Helper()
	wt, err := Open(context.Background(), w.host(), dir)
	must(w.t, err)
	return wt
}

// rows is the database of a worktree.
func (w *world) rows(wt *Worktree) string {
	w.t.Helper()
	slot, err := wt.selectedSlot()
	must(w.t, err)
	rows, err := w.get(path.Join(wt.branch.SlotDir(slot), "rows"))
	must(w.t, err)
	return rows
}

// states lists the project as name:state.
func (w *world) states() string {
	w.t.Helper()
	rows, err := WorktreeList(context.Background(), w.host(), testRepo, WorktreeListOptions{})
	must(w.t, err)
	var list []string
	for _, r := range rows {
		list = append(list, r.Name+":"+string(r.State))
	}
	return strings.Join(list, " ")
}

func TestOrphanIsListedAndItsServerStopped(t *testing.T) {
	ctx := context.Background()
	w := orphaned(t)
	if len(w.servers) != 1 {
		t.Fatal("the server does not run")
	}
	st, err := w.open().Status(ctx)
	if err != nil || len(st.Orphans) != 1 || st.Orphans[0] != "linked" {
		t.Errorf("status tells of %v, %v", st.Orphans, err)
	}
	rows, err := WorktreeList(ctx, w.host(), testRepo, WorktreeListOptions{Orphans: true})
	must(t, err)
	if len(rows) != 1 || rows[0].Name != "linked" || !rows[0].Stopped || rows[0].Checkpoints != 1 || rows[0].Bytes == 0 || rows[0].Path != testLinked {
		t.Errorf("orphans %+v", rows)
	}
	if len(w.servers) != 0 {
		t.Error("the orphan's server still runs")
	}
	if got := w.states(); got != "heir:none linked:orphan repo:ok" {
		t.Errorf("worktrees %s", got)
	}
}

func TestAdopt(t *testing.T) {
	ctx := context.Background()
	w := orphaned(t)
	_, err := Open(ctx, w.host(), testHeir)
	wantKind(t, err, fault.NotFound)
	res, err := Adopt(ctx, w.host(), testHeir, "linked")
	must(t, err)
	if res.Worktree.Path != testHeir || res.Worktree.Name != "linked" || res.From != testLinked || res.Checkpoints != 1 || res.Interrupted != "" || res.ConfigGone {
		t.Errorf("adopted %+v", res)
	}
	wt := w.openAt(testHeir)
	if got := w.rows(wt); got != "one;two;" {
		t.Errorf("rows %q", got)
	}
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "one"})
	must(t, err)
	if got := w.rows(wt); got != "one;" {
		t.Errorf("rows %q after the restore", got)
	}
	if got := w.states(); got != "linked:ok repo:ok" {
		t.Errorf("worktrees %s", got)
	}
	w.link("/vm/third")
	for _, c := range []struct {
		dir, ref string
		kind     fault.Kind
		text     string
	}{
		{testHeir, "linked", fault.Usage, "has a database of its own"},
		{"/vm/third", "linked", fault.Usage, "is not gone: it is at " + testHeir},
		{"/vm/third", "lnked", fault.NotFound, `no worktree is named "lnked"`},
	} {
		_, err := Adopt(ctx, w.host(), c.dir, c.ref)
		wantKind(t, err, c.kind)
		if !strings.Contains(err.Error(), c.text) {
			t.Errorf("adopt %s in %s: %v (%s)", c.ref, c.dir, err, fault.HintOf(err))
		}
	}
}

// interruptedRestore is a world in which the power was cut in a restore of
// linked, before or behind its switch.
func interruptedRestore(t *testing.T, switched bool) *world {
	t.Helper()
	ctx := context.Background()
	start := orphaned(t)
	start.link(testLinked)
	// git made the directory again; adopting its own orphan is allowed.
	_, err := Adopt(ctx, start.host(), testLinked, "linked")
	must(t, err)
	must(t, start.put(testLinked+"/src/file", "linked"))
	must(t, start.put(testLinked+"/.forklift.json", `{"format": 1, "source": ["src"]}`))
	whole := start.copy()
	wt, from := whole.openAt(testLinked), whole.fs.Calls()
	must(t, second(wt.Restore(ctx, RestoreOptions{Ref: "one"})))
	n, step := whole.fs.Calls()-from, -1
	if !switched {
		n, step = 1, 1
	}
	for ; ; n += step {
		w := start.copy()
		wt := w.openAt(testLinked)
		w.fs.CutAt(n)
		if _, err := wt.Restore(ctx, RestoreOptions{Ref: "one"}); err == nil {
			continue // the cut met a cache at the very end
		}
		w = w.afterPowerCut(vfs.CrashOptions{KeepUnsynced: 1})
		wt = w.openAt(testLinked)
		j, err := wt.readJournal()
		must(t, err)
		current, err := wt.readSelection()
		must(t, err)
		if j == nil || (current.Operation == j.Operation) != switched {
			continue
		}
		outcome, err := wt.outcome(j.Operation)
		must(t, err)
		if outcome == "" {
			return w
		}
	}
}

// TestAdoptAfterAnInterruptedRestore: the journal goes with the record, and
// recover ends it in the new place, where it rescues what it finds.
func TestAdoptAfterAnInterruptedRestore(t *testing.T) {
	ctx := context.Background()
	for _, switched := range []bool{false, true} {
		w := interruptedRestore(t, switched)
		w.unlink(testLinked)
		res, err := Adopt(ctx, w.host(), testHeir, "linked")
		must(t, err)
		if res.Interrupted != "restore" {
			t.Fatalf("switched %v: adopted %+v", switched, res)
		}
		heir := w.openAt(testHeir)
		rec, err := heir.Recover(ctx, RecoverOptions{})
		must(t, err)
		want := map[bool]string{false: "one;two;", true: "one;"}[switched]
		if got := w.rows(heir); got != want {
			t.Errorf("switched %v: recovered %s to %q, want %q", switched, rec.Direction, got, want)
		}
		// Forward removes a file that the checkpoint does not have; the
		// heir's, which was never saved, is rescued.
		text, err := w.get(testHeir + "/src/file")
		if kept := err == nil && text == "heir"; kept == switched || switched && !slices.Equal(rec.Rescued, []string{"src/file"}) {
			t.Errorf("switched %v: the heir's file is %q, %v, rescued %v", switched, text, err, rec.Rescued)
		}
	}
}

func TestPruneWorktrees(t *testing.T) {
	ctx := context.Background()
	w := orphaned(t)
	branch := w.rowOf("linked").Branch
	plan, err := PruneWorktrees(ctx, w.host(), testRepo, PruneWorktreesOptions{})
	must(t, err)
	if plan.Done || len(plan.Worktrees) != 1 || plan.Checkpoints != 1 || plan.Bytes == 0 || plan.Plan == "" {
		t.Errorf("plan %+v", plan)
	}
	_, err = PruneWorktrees(ctx, w.host(), testRepo, PruneWorktreesOptions{Yes: true, Plan: "000000000000"})
	wantKind(t, err, fault.Usage)
	_, err = PruneWorktrees(ctx, w.host(), testRepo, PruneWorktreesOptions{Ref: "repo", Yes: true})
	wantKind(t, err, fault.Usage)
	if !strings.Contains(err.Error(), "is not gone") || !strings.Contains(fault.HintOf(err), "forklift teardown") {
		t.Errorf("pruning a living one: %v (%s)", err, fault.HintOf(err))
	}
	done, err := PruneWorktrees(ctx, w.host(), testRepo, PruneWorktreesOptions{Yes: true, Plan: plan.Plan})
	must(t, err)
	if !done.Done || len(w.servers) != 0 {
		t.Errorf("pruned %+v, %d servers run", done, len(w.servers))
	}
	if _, err := w.fs.Lstat(path.Join(testStore, branchesDir, branch)); err == nil {
		t.Error("the branch is still there")
	}
	if got := w.states(); got != "heir:none linked:torn down repo:ok" {
		t.Errorf("worktrees %s", got)
	}
	_, err = Adopt(ctx, w.host(), testHeir, "linked")
	wantKind(t, err, fault.NotFound)
	// Its checkpoints can be restored in another worktree.
	wt := w.open()
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "linked:one"})
	must(t, err)
	if got := w.rows(wt); got != "one;" {
		t.Errorf("rows %q", got)
	}
}

func (w *world) rowOf(name string) WorktreeRow {
	w.t.Helper()
	rows, err := WorktreeList(context.Background(), w.host(), testRepo, WorktreeListOptions{})
	must(w.t, err)
	for _, r := range rows {
		if r.Name == name {
			return r
		}
	}
	w.t.Fatalf("no worktree is named %s", name)
	return WorktreeRow{}
}

// TestBusyOrphansStay: an operation at work, or a command that outlived its
// directory, keeps an orphan from being adopted and pruned.
func TestBusyOrphansStay(t *testing.T) {
	ctx := context.Background()
	w := orphaned(t)
	dir := path.Join(testStore, worktreesDir, w.rowOf("linked").ID)
	try := func(what, text string) {
		t.Helper()
		_, err := Adopt(ctx, w.host(), testHeir, "linked")
		wantKind(t, err, fault.Busy)
		if !strings.Contains(err.Error(), text) {
			t.Errorf("adopt while %s: %v", what, err)
		}
		_, err = PruneWorktrees(ctx, w.host(), testRepo, PruneWorktreesOptions{Yes: true})
		wantKind(t, err, fault.Busy)
	}
	lock, err := w.fs.Lock(path.Join(dir, operationLock), true)
	must(t, err)
	try("an operation works", "under way")
	must(t, lock.Unlock())
	lock, err = w.fs.Lock(path.Join(dir, holdersDir, "x.lock"), true)
	must(t, err)
	must(t, record.Write(w.fs, path.Join(dir, holdersDir, "x.json"), "holder", recordFormat, holderRecord{Argv: []string{"sleep"}}))
	try("a command runs", "managed commands")
	must(t, lock.Unlock())
	_, err = Adopt(ctx, w.host(), testHeir, "linked")
	must(t, err)
}

// TestMovedStore: a store that is not where it is recorded is never made
// again; forklift.toml may name its new place.
func TestMovedStore(t *testing.T) {
	ctx := context.Background()
	w := orphaned(t)
	must(t, w.openAt(testRepo).Close())
	must(t, durable.Rename(w.fs, testStore, "/vm/elsewhere"))
	for what, err := range map[string]error{
		"open":  second(Open(ctx, w.host(), testRepo)),
		"setup": second(Setup(ctx, w.host(), testHeir, SetupOptions{Yes: true})),
		"list":  second(WorktreeList(ctx, w.host(), testRepo, WorktreeListOptions{})),
	} {
		if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), testStore) || !strings.Contains(fault.HintOf(err), "forklift.toml") {
			t.Errorf("%s: %v (%s)", what, err, fault.HintOf(err))
		}
	}
	if _, err := w.fs.Lstat(testStore); err == nil {
		t.Fatal("an empty store was made")
	}
	name := testRepo + "/.git/forklift.toml"
	text, err := w.get(name)
	must(t, err)
	must(t, w.put(name, strings.Replace(text, testStore, "/vm/elsewhere", 1)))
	w.servers = map[string]*fakeServer{}
	wt := w.openAt(testRepo)
	if wt.store.Dir() != "/vm/elsewhere" {
		t.Errorf("the store is %s", wt.store.Dir())
	}
	if l, err := wt.readLink(testRepo + "/.git"); err != nil || l.Store != "/vm/elsewhere" {
		t.Errorf("the link says %+v, %v", l, err)
	}
	must(t, w.put(name, strings.Replace(text, testStore, "/vm/nowhere", 1)))
	must(t, durable.Rename(w.fs, "/vm/elsewhere", "/vm/again"))
	_, err = Open(ctx, w.host(), testRepo)
	wantKind(t, err, fault.NotFound)
}

func second[T any](_ T, err error) error { return err }

// TestOrphanVerbsCutAtEveryCall cuts the power at every call of adopt and of
// worktree prune: the orphan is as it was, or it is adopted or gone; and the
// verb can be run again.
func TestOrphanVerbsCutAtEveryCall(t *testing.T) {
	ctx := context.Background()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	verbs := map[string]struct {
		run    func(w *world) error
		before string
		after  string
	}{
		"adopt": {func(w *world) error { return second(Adopt(ctx, w.host(), testHeir, "linked")) },
			"heir:none linked:orphan repo:ok", "linked:ok repo:ok"},
		"prune": {func(w *world) error {
			return second(PruneWorktrees(ctx, w.host(), testRepo, PruneWorktreesOptions{Yes: true}))
		}, "heir:none linked:orphan repo:ok", "heir:none linked:torn down repo:ok"},
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			start := orphaned(t)
			n := 1
			for ; ; n++ {
				w := start.copy()
				w.t = t
				w.fs.CutAt(n)
				err := verb.run(w)
				if err == nil {
					break
				}
				if !errors.Is(err, vfs.ErrPowerCut) {
					t.Fatalf("call %d: %v, want the power cut", n, err)
				}
				w = w.afterPowerCut(vfs.CrashOptions{Seed: seed + uint64(n), KeepUnsynced: []float64{0, 0.5, 1}[n%3]})
				// Whoever comes next ends what was begun.
				_, err = PruneWorktrees(ctx, w.host(), testRepo, PruneWorktreesOptions{})
				must(t, err)
				switch got := w.states(); got {
				case verb.before:
					if rows := w.rows(w.unlinkedFor("linked")); rows != "one;two;" {
						t.Fatalf("call %d: rows %q", n, rows)
					}
					must(t, verb.run(w))
				case verb.after:
				default:
					t.Fatalf("call %d: worktrees %s, want %s or %s", n, got, verb.before, verb.after)
				}
				if got := w.states(); got != verb.after {
					t.Fatalf("call %d: in the end %s, want %s", n, got, verb.after)
				}
				if name == "adopt" {
					if rows := w.rows(w.openAt(testHeir)); rows != "one;two;" {
						t.Fatalf("call %d: rows %q", n, rows)
					}
				}
			}
			if n < 5 {
				t.Errorf("only %d calls", n)
			}
			t.Logf("%d power cuts ended before or after", n-1)
		})
	}
}

// unlinkedFor opens the record of an orphan.
func (w *world) unlinkedFor(name string) *Worktree {
	w.t.Helper()
	ctx := context.Background()
	p, err := openProject(ctx, w.host(), testRepo, false)
	must(w.t, err)
	rec, err := p.readRecord(w.rowOf(name).ID)
	must(w.t, err)
	wt, err := p.unlinked(ctx, rec)
	must(w.t, err)
	return wt
}
