package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"forklift/engine/internal/process"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// wantKind fails unless err is of a kind and has a hint.
func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Fatalf("error %v (%v), want one of kind %v", err, fault.KindOf(err), kind)
	}
	if fault.HintOf(err) == "" {
		t.Fatalf("error %q has no hint", err)
	}
}

func TestUndoTwiceEndsWhereOneBegan(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	_, err := wt.Undo(ctx, WaitOptions{})
	wantKind(t, err, fault.NotFound)
	_, err = wt.Redo(ctx, WaitOptions{})
	wantKind(t, err, fault.NotFound)

	edited := w.state(wt)
	must(t, restoreOne(wt))
	one := w.state(wt)
	if strings.Contains(one, "/new") || !strings.Contains(one, "rows: one;") {
		t.Fatalf("after the restore the state is\n%s", one)
	}
	for i, want := range []string{edited, one, edited} {
		if _, err := wt.Undo(ctx, WaitOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := w.state(wt); got != want {
			t.Fatalf("after undo %d the state is\n%s\nwant\n%s", i+1, got, want)
		}
	}
	res, err := wt.Redo(ctx, WaitOptions{})
	must(t, err)
	if got := w.state(wt); got != one || res.Verb != "redo" {
		t.Fatalf("after %s the state is\n%s\nwant\n%s", res.Verb, got, one)
	}
	_, err = wt.Redo(ctx, WaitOptions{})
	wantKind(t, err, fault.NotFound)
}

func TestUndoOfWhatIsNotTheLastAnyMore(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	must(t, restoreOne(wt))
	last, err := wt.lastMove()
	must(t, err)
	// Another process undoes it first.
	_, err = wt.Undo(ctx, WaitOptions{})
	must(t, err)
	before := w.state(wt)
	_, err = wt.moveBack(ctx, verbUndo, last, WaitOptions{})
	wantKind(t, err, fault.Busy)
	if got := w.state(wt); got != before {
		t.Fatalf("the state is\n%s\nwant\n%s", got, before)
	}
}

func TestUndoBringsBackWhatWasNeverCaptured(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	// The checkpoint has src/removed later; now something else is in its
	// place that no checkpoint knows and no rule selects.
	w.write("src/removed later", "mine")
	w.write(".forklift.json", `{"format": 1, "source": ["src/kept"]}`)
	must(t, restoreOne(wt))
	if text, err := w.get(testRepo + "/src/removed later"); err != nil || text != "one" {
		t.Fatalf("restored %q, %v, want the captured text", text, err)
	}
	_, err := wt.Undo(ctx, WaitOptions{})
	must(t, err)
	if text, err := w.get(testRepo + "/src/removed later"); err != nil || text != "mine" {
		t.Fatalf("after undo the file is %q, %v, want what was there", text, err)
	}
}

func TestManagedCommandsHoldTheWorktree(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	hold, err := wt.Enter(ctx, []string{"npm", "run", "dev"})
	must(t, err)
	if _, err := wt.Capture(ctx, CaptureOptions{Name: "own"}); err != nil {
		t.Fatalf("a command may capture its own worktree: %v", err)
	}
	hold.rec.Runner, hold.rec.Child = process.Info{PID: 1 << 30, Start: 7}, process.Info{}
	must(t, hold.write())
	_, err = wt.Capture(ctx, CaptureOptions{Name: "two"})
	wantKind(t, err, fault.Busy)
	if items := fault.ItemsOf(err); len(items) != 1 || !strings.Contains(items[0], "npm run dev") || !strings.Contains(items[0], "1073741824") {
		t.Fatalf("the error names %q, want pid and command", items)
	}
	_, err = wt.Capture(ctx, CaptureOptions{Name: "two", WaitOptions: WaitOptions{Wait: 30 * time.Millisecond}})
	wantKind(t, err, fault.Busy)
	must(t, hold.Leave(ctx))
	_, err = wt.Capture(ctx, CaptureOptions{Name: "two"})
	must(t, err)
	if st, err := wt.Status(ctx); err != nil || len(st.Holders) != 0 {
		t.Fatalf("status shows holders %v, %v after the last left", st.Holders, err)
	}
}

func TestOpenTransactionsAreWaitedFor(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	patient := WaitOptions{Wait: time.Minute}
	for name, verb := range map[string]func(WaitOptions) error{
		"capture": func(o WaitOptions) error {
			_, err := wt.Capture(ctx, CaptureOptions{WaitOptions: o})
			return err
		},
		"restore": func(o WaitOptions) error {
			_, err := wt.Restore(ctx, RestoreOptions{Ref: "one", WaitOptions: o})
			return err
		},
		"db stop": func(o WaitOptions) error { return wt.StopDatabase(ctx, o) },
	} {
		for _, wait := range []time.Duration{0, 60 * time.Millisecond} {
			w.busy = 1 << 30
			err := verb(WaitOptions{Wait: wait})
			wantKind(t, err, fault.Busy)
			if items := fault.ItemsOf(err); len(items) != 1 || !strings.Contains(items[0], "psql") || !strings.Contains(fault.HintOf(err), "--wait") {
				t.Errorf("%s: the error names %q, hint %q", name, items, fault.HintOf(err))
			}
		}
		w.busy = 3
		if err := verb(patient); err != nil || w.busy != 0 {
			t.Errorf("%s: %v, still busy %d", name, err, w.busy)
		}
		_, err := wt.StartDatabase(ctx, true)
		must(t, err)
	}
	must(t, restoreOne(wt))
	w.busy = 2
	_, err := wt.Undo(ctx, patient)
	must(t, err)
	w.busy = 1 << 30
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := wt.Capture(ended, CaptureOptions{WaitOptions: patient}); fault.KindOf(err) != fault.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

func TestTheLastCommandStopsAnIdleServer(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	for _, pinned := range []bool{true, false} {
		if !pinned {
			must(t, wt.StopDatabase(ctx, WaitOptions{}))
		}
		first, err := wt.Enter(ctx, []string{"one"})
		must(t, err)
		second, err := wt.Enter(ctx, []string{"two"})
		must(t, err)
		must(t, first.Leave(ctx))
		if w.servers[wt.branch.ID] == nil {
			t.Fatal("the server stopped while a command ran")
		}
		must(t, second.Leave(ctx))
		if running := w.servers[wt.branch.ID] != nil; running != pinned {
			t.Fatalf("after the last command the server runs: %v, want %v", running, pinned)
		}
	}
}

// TestTheCommandsOwnSessionEndsLater has a client that the server still sees when
// the last command leaves: a younger one is the command's own, and goes; an older
// one is somebody else's.
func TestTheCommandsOwnSessionEndsLater(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	must(t, wt.StopDatabase(ctx, WaitOptions{}))
	for _, younger := range []bool{false, true} {
		hold, err := wt.Enter(ctx, []string{"one"})
		must(t, err)
		w.joined = hold.rec.Since.Add(-time.Minute)
		if younger {
			w.joined = hold.rec.Since.Add(time.Minute)
		}
		w.busy = 3
		must(t, hold.Leave(ctx))
		if runs := w.servers[wt.branch.ID] != nil; runs == younger {
			t.Errorf("with a client that is younger: %v, the server runs: %v", younger, runs)
		}
		w.busy = 0
	}
}

// TestServerLeftBehind has a `run` that was killed: the next operation stops
// its server and does not start it again, unless somebody uses it.
func TestServerLeftBehind(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	must(t, wt.StopDatabase(ctx, WaitOptions{}))
	for _, alive := range []bool{true, false} {
		hold, err := wt.Enter(ctx, []string{"one"})
		must(t, err)
		if !alive {
			must(t, hold.lock.Unlock()) // as the kernel does
		}
		_, err = wt.Capture(ctx, CaptureOptions{})
		must(t, err)
		if running := w.servers[wt.branch.ID] != nil; running != alive {
			t.Fatalf("with its command alive: %v, the server runs: %v", alive, running)
		}
		if alive {
			must(t, hold.Leave(ctx))
		}
	}
}

func TestAServerThatNobodyUsesIsStopped(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	expect := func(look, want, runs bool) {
		t.Helper()
		if got, err := wt.StopUnused(ctx, look); err != nil || got != want {
			t.Fatalf("unused: %v, %v, want %v", got, err, want)
		}
		if running := w.servers[wt.branch.ID] != nil; running != runs {
			t.Fatalf("the server runs: %v, want %v", running, runs)
		}
	}
	expect(true, false, true) // pinned
	expect(false, false, true)
	must(t, wt.StopDatabase(ctx, WaitOptions{}))
	expect(false, false, false)
	hold, err := wt.Enter(ctx, []string{"one"})
	must(t, err)
	expect(true, false, true) // a command lives
	expect(false, false, true)
	hold.release()
	expect(true, true, true)
	w.mute = true // it may have clients
	expect(false, false, true)
	w.mute = false
	// Whoever has a lock needs the server, and is not waited for.
	for _, name := range []string{operationLock, serverLock} {
		lock, err := w.fs.Lock(wt.file(name), true)
		must(t, err)
		expect(false, false, true)
		must(t, lock.Unlock())
	}
	expect(false, true, false)
	expect(false, false, false)
}

// TestServerThatCannotBeAsked has a server that accepts no session of ours
// (all are taken, our role was renamed): --disconnect stops it all the same,
// nothing else does, and no state is out of reach.
func TestServerThatCannotBeAsked(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	rows := w.state(wt)
	w.mute = true
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	wantKind(t, err, fault.Failed)
	if !strings.Contains(fault.HintOf(err), "--disconnect") {
		t.Fatalf("the hint is %q, want it to name --disconnect", fault.HintOf(err))
	}
	wantKind(t, wt.StopDatabase(ctx, WaitOptions{}), fault.Failed)
	if st, err := wt.Status(ctx); err != nil || !st.Server.Pinned {
		t.Fatalf("after a refused stop the server is %+v, %v, want it pinned as before", st.Server, err)
	}
	disconnect := WaitOptions{Disconnect: true}
	res, err := wt.Capture(ctx, CaptureOptions{Name: "two", WaitOptions: disconnect})
	must(t, err)
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "too many clients") {
		t.Fatalf("warnings are %q, want one that says why there are no row counts", res.Warnings)
	}
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "one", WaitOptions: disconnect})
	must(t, err)
	_, err = wt.Restore(ctx, RestoreOptions{Ref: "two", WaitOptions: disconnect})
	must(t, err)
	if got := w.state(wt); got != rows {
		t.Fatalf("restored\n%s\nwant\n%s", got, rows)
	}
	must(t, wt.StopDatabase(ctx, disconnect))
	hold, err := wt.Enter(ctx, []string{"one"})
	must(t, err)
	must(t, hold.Leave(ctx))
	if w.servers[wt.branch.ID] == nil {
		t.Fatal("a server that may have clients was stopped behind the last command")
	}
}

// TestServerThatDoesNotStartAgain has a server that stops and does not start
// any more (ALTER SYSTEM named a library that is not there): the capture that
// stopped it is over, not interrupted, and a restore goes back to a state
// whose server starts. The same after a kill.
func TestServerThatDoesNotStartAgain(t *testing.T) {
	ctx := context.Background()
	for _, killed := range []bool{false, true} {
		w := newWorld(t)
		wt := history(w)
		edited := w.state(wt)
		w.broken = true
		var err error
		if killed {
			w.fs.CutAt(40)
			if restoreOne(wt) == nil {
				t.Fatal("the cut was not noticed")
			}
			w = w.afterPowerCut(vfs.CrashOptions{KeepUnsynced: 1})
			w.broken, wt = true, w.open()
			_, err = wt.Recover(ctx, RecoverOptions{})
		} else {
			_, err = wt.Capture(ctx, CaptureOptions{Name: "two"})
		}
		wantKind(t, err, fault.Failed)
		if !strings.Contains(fault.HintOf(err), "db start") || strings.Count(err.Error(), "does not start") != 1 {
			t.Fatalf("error %q with hint %q, want the server's once, and what to do", err, fault.HintOf(err))
		}
		if st, err := wt.Status(ctx); err != nil || st.Interrupted != nil || st.Server.State != AtRest.String() {
			t.Fatalf("status says %+v, %+v, %v, want a stopped server and nothing interrupted", st.Interrupted, st.Server, err)
		}
		if got := w.state(wt); got != edited {
			t.Fatalf("the state is\n%s\nwant\n%s", got, edited)
		}
		must(t, restoreOne(wt))
		w.broken = false
		_, err = wt.StartDatabase(ctx, true)
		must(t, err)
	}
}

// TestUnderWayIsNotInterrupted asks while another process restores: its journal
// is there, and nothing was interrupted.
func TestUnderWayIsNotInterrupted(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	must(t, restoreOne(wt))
	before, err := wt.readSelection()
	must(t, err)
	unlock, err := wt.lockOperation(ctx, verbRestore, 0)
	must(t, err)
	must(t, wt.writeJournal(wt.newJournal(verbRestore, before)))
	interrupted := func() string {
		rows, err := WorktreeList(ctx, w.host(), testRepo, WorktreeListOptions{})
		must(t, err)
		x := Examine(ctx, w.host(), testRepo)
		if x.Interrupted != rows[0].Interrupted {
			t.Fatalf("one says %q is interrupted, the other %q", x.Interrupted, rows[0].Interrupted)
		}
		return x.Interrupted
	}
	_, err = wt.Undo(ctx, WaitOptions{})
	wantKind(t, err, fault.Busy)
	if got := interrupted(); got != "" {
		t.Fatalf("an interrupted %s, want none", got)
	}
	unlock()
	_, err = wt.Undo(ctx, WaitOptions{})
	wantKind(t, err, fault.Interrupted)
	if got := interrupted(); got != verbRestore {
		t.Fatalf("interrupted %q, want the restore", got)
	}
}

func TestWhileAJournalIsPresentOthersAreRefused(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	w.fs.CutAt(40)
	if restoreOne(wt) == nil {
		t.Fatal("the cut was not noticed")
	}
	w = w.afterPowerCut(vfs.CrashOptions{KeepUnsynced: 1})
	wt = w.open()
	if st, err := wt.Status(ctx); err != nil || st.Interrupted == nil || st.Interrupted.Verb != "restore" {
		t.Fatalf("status says %+v, %v, want an interrupted restore", st.Interrupted, err)
	}
	_, err := wt.Enter(ctx, []string{"true"})
	wantKind(t, err, fault.Interrupted)
	_, err = wt.Capture(ctx, CaptureOptions{})
	wantKind(t, err, fault.Interrupted)
	_, err = wt.StartDatabase(ctx, false)
	wantKind(t, err, fault.Interrupted)
	wantKind(t, restoreOne(wt), fault.Interrupted)
	_, err = wt.Teardown(ctx, TeardownOptions{Yes: true})
	wantKind(t, err, fault.Interrupted)
	if _, err := wt.Recover(ctx, RecoverOptions{}); err != nil {
		t.Fatal(err)
	}
	must(t, restoreOne(wt))
}

// TestEditedWhileRestoringIsRescued edits a file between the save and the
// install: its text is in the rescue checkpoint, and can be restored alone.
func TestEditedWhileRestoringIsRescued(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	rows := w.state(wt)
	edited := false
	w.disk = vfs.Hook(w.fs, func(c vfs.Call) error {
		if !edited && c.Op == vfs.OpRename && strings.Contains(c.String(), "current.json") {
			edited = true
			w.write("src/changed", "edited meanwhile")
		}
		return nil
	})
	wt = w.open()
	res, err := wt.Restore(ctx, RestoreOptions{Ref: "one"})
	must(t, err)
	if !slices.Equal(res.Rescued, []string{"src/changed"}) || res.RescueName == "" {
		t.Fatalf("rescued %q as %q, want src/changed", res.Rescued, res.RescueName)
	}
	w.disk = nil
	wt = w.open()
	back, err := wt.Restore(ctx, RestoreOptions{Ref: res.RescueName})
	must(t, err)
	if text, err := w.get(testRepo + "/src/changed"); err != nil || text != "edited meanwhile" || back.Removed != 0 {
		t.Fatalf("the rescued file is %q, %v (%d removed), want the edit alone", text, err, back.Removed)
	}
	if got := w.state(wt); !strings.Contains(got, "rows: one;") || got == rows {
		t.Fatalf("restoring files only changed the database:\n%s", got)
	}
}

// TestStagingLeftBehindIsSweptIfItIsSaved kills a restore behind its end,
// before it has removed what it staged.
func TestStagingLeftBehindIsSweptIfItIsSaved(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	killed := errors.New("killed")
	ended := false
	w.disk = vfs.Hook(w.fs, func(c vfs.Call) error {
		if c.Op == vfs.OpRemove && strings.Contains(c.String(), "journal.json") {
			ended = true
			return nil
		}
		if ended && c.Op.Changes() && strings.Contains(c.String(), ".forklift-staging-") {
			return killed
		}
		return nil
	})
	must(t, restoreOne(w.open()))
	w.disk = nil
	left, err := worktree.Leftovers(ctx, w.fs, testRepo)
	must(t, err)
	if len(left) != 1 {
		t.Fatalf("left behind: %v, want one staging directory", left)
	}
	w.write(left[0]+"/mine", "in no checkpoint")
	res, err := wt.Capture(ctx, CaptureOptions{})
	must(t, err)
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "mine") {
		t.Fatalf("warnings are %q, want one that names the file", res.Warnings)
	}
	must(t, w.fs.Remove(testRepo+"/"+left[0]+"/mine"))
	res, err = wt.Capture(ctx, CaptureOptions{})
	must(t, err)
	if left, err = worktree.Leftovers(ctx, w.fs, testRepo); err != nil || len(left) != 0 || len(res.Warnings) != 0 {
		t.Fatalf("left behind: %v, %v, warnings %q, want nothing", left, err, res.Warnings)
	}
}

func TestDiscardCurrentSetsTheDatabaseAside(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	old := w.servers[wt.branch.ID].slot
	// The power goes, and the cluster cannot be recovered.
	w = w.afterPowerCut(vfs.CrashOptions{})
	w.broken = true
	wt = w.open()
	err := restoreOne(wt)
	wantKind(t, err, fault.Failed)
	if !strings.Contains(fault.HintOf(err), "--discard-current") {
		t.Fatalf("the hint is %q, want it to name --discard-current", fault.HintOf(err))
	}
	res, err := wt.Restore(ctx, RestoreOptions{Ref: "one", DiscardCurrent: true})
	must(t, err)
	kept := wt.branch.Dir + "/kept/" + string(res.SafetyID)
	if rows, err := w.get(kept + "/rows"); err != nil || rows != "one;two;" {
		t.Fatalf("what was set aside holds %q, %v, want the discarded rows", rows, err)
	}
	if slot, err := wt.selectedSlot(); err != nil || slot == old {
		t.Fatalf("selected is slot %s, %v, want the other one", slot, err)
	}
}

func TestNamesThatAreNotThere(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	_, err := wt.Capture(ctx, CaptureOptions{Name: "before_migration"})
	must(t, err)
	for ref, hint := range map[string]string{"before_migratoin": "before_migration", "before": "before_migration", "rpo:one": "repo", "zzz": "forklift list"} {
		_, err := wt.Restore(ctx, RestoreOptions{Ref: ref})
		wantKind(t, err, fault.NotFound)
		if !strings.Contains(fault.HintOf(err), hint) {
			t.Errorf("the hint for %q is %q, want it to name %s", ref, fault.HintOf(err), hint)
		}
	}
	for _, name := range []string{"one", "a/b", "-x", "..", strings.Repeat("n", 129)} {
		_, err := wt.Capture(ctx, CaptureOptions{Name: name})
		wantKind(t, err, fault.Usage)
	}
}

func TestSeedsInUseAreKept(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	_, err := SeedCreate(ctx, w.host(), testRepo, SeedOptions{Name: "base"})
	must(t, err)
	_, err = SeedCreate(ctx, w.host(), testRepo, SeedOptions{Name: "base"})
	wantKind(t, err, fault.Usage)
	_, err = Setup(ctx, w.host(), testRepo, SetupOptions{Seed: "bse"})
	wantKind(t, err, fault.NotFound)
	_, err = Setup(ctx, w.host(), testRepo, SetupOptions{Seed: "base"})
	must(t, err)
	_, err = SeedRemove(ctx, w.host(), testRepo, SeedRemoveOptions{Name: "base", Yes: true})
	wantKind(t, err, fault.Busy)
	wt := w.open()
	_, err = wt.Capture(ctx, CaptureOptions{Name: "one"})
	must(t, err)
	list, err := SeedList(ctx, w.host(), testRepo)
	must(t, err)
	if len(list) != 1 || list[0].Name != "base" || !slices.Equal(list[0].UsedBy, []string{"repo"}) {
		t.Fatalf("seeds are %+v, want base, used by repo", list)
	}
	shown, err := SeedRemove(ctx, w.host(), testRepo, SeedRemoveOptions{Name: "base"})
	if err != nil || shown.Done || shown.Seed.Name != "base" {
		t.Fatalf("the plan: %+v %v", shown, err)
	}
	_, err = SeedRemove(ctx, w.host(), testRepo, SeedRemoveOptions{Name: "base", Yes: true, Plan: "000000000000"})
	wantKind(t, err, fault.Usage)
	must(t, second(SeedRemove(ctx, w.host(), testRepo, SeedRemoveOptions{Name: "base", Yes: true, Plan: shown.Plan})))
	must(t, restoreOne(wt))
}

func TestTooLittleSpaceIsFoundAhead(t *testing.T) {
	w := newWorld(t)
	wt := history(w)
	before := w.state(wt)
	w.fs.SetSpace(vfs.Space{FreeBytes: 1 << 20, TotalBytes: 1 << 30})
	wantKind(t, restoreOne(wt), fault.NoSpace)
	_, err := wt.Capture(context.Background(), CaptureOptions{})
	wantKind(t, err, fault.NoSpace)
	if got := w.state(wt); got != before {
		t.Fatalf("the state changed to\n%s", got)
	}
	if pairs, err := wt.store.Pairs(context.Background(), wt.rec.Project); err != nil || len(pairs) != 1 || pairs[0].Kind != storage.Capture {
		t.Fatalf("pairs are %v, %v, want the one checkpoint", pairs, err)
	}
}
