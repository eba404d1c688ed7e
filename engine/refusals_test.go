package engine

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"testing"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// wantRefusal fails unless err is of a kind and says what it should.
func wantRefusal(t *testing.T, err error, kind fault.Kind, says string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v (%v), want %q of kind %v", err, fault.KindOf(err), says, kind)
	}
}

func TestSetupsKeepOutOfEachOthersWay(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	lock, err := w.fs.Lock(path.Join(testStore, setupLock), true)
	must(t, err)
	p := &project{host: w.host(), fs: w.fs, store: wt.store}
	_, err = p.lockSetupWithin(ctx, verbSetup, 0)
	wantRefusal(t, err, fault.Busy, "another setup is under way")
	must(t, lock.Unlock())
	unlock, err := p.lockSetupWithin(ctx, verbSetup, 0)
	must(t, err)
	unlock()
}

func TestNoFreeNameIsLeft(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	at := w.clock.Now()
	first, err := wt.inventName(ctx, at)
	must(t, err)
	pair, err := wt.store.Name(ctx, wt.rec.Project, wt.rec.ID, storage.Capture, "one")
	must(t, err)
	for i := 1; i <= maxNameTries; i++ {
		name, err := wt.inventName(ctx, at)
		must(t, err)
		if i == 2 && name != first+"-2" {
			t.Errorf("the second name is %s", name)
		}
		must(t, wt.store.SetName(ctx, wt.rec.Project, wt.rec.ID, storage.Capture, name, pair))
	}
	_, err = wt.inventName(ctx, at)
	wantRefusal(t, err, fault.Usage, "no free name after 100 tries")
}

func TestHooksWithoutSomebodyWhoRunsThem(t *testing.T) {
	w, wt := withHooks(t, hooksConfig, true)
	before := w.state(wt)
	wt.host.RunHook = nil
	_, err := wt.Capture(context.Background(), CaptureOptions{Name: "two"})
	wantRefusal(t, err, fault.Unsupported, "hooks cannot be run from here")
	if got := w.state(wt); got != before {
		t.Errorf("the refused capture left\n%s", got)
	}
}

// TestWhatThisKindCannotDo asks a kind of database for what it does not have.
func TestWhatThisKindCannotDo(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	_, err := Setup(ctx, w.host(), testRepo, SetupOptions{Yes: true, TCP: true})
	wantRefusal(t, err, fault.Unsupported, "databases of kind fake do not listen on TCP")
	must(t, w.put("/vm/dump", "rows"))
	_, err = SeedCreate(ctx, w.host(), testRepo, SeedOptions{Name: "base", Dump: "/vm/dump"})
	wantRefusal(t, err, fault.Unsupported, "databases of kind fake cannot load dumps")
	_, err = SeedCreate(ctx, w.host(), testRepo, SeedOptions{Name: "base", Source: SourceServer{URL: "postgres://h/d"}})
	wantRefusal(t, err, fault.Unsupported, "databases of kind fake cannot be copied from a server")
	if list, err := SeedList(ctx, w.host(), testRepo); err != nil || len(list) != 0 {
		t.Errorf("seeds %v, %v", list, err)
	}
}

// stingyDB is a database whose sources permit neither way of copying.
type stingyDB struct{ fakeDB }

func (d *stingyDB) CopyServer(context.Context, Slot, SourceServer) (*Copied, error) {
	return &Copied{Refused: "it may not replicate"}, nil
}
func (d *stingyDB) DumpServer(context.Context, SourceServer) (*Copied, error) {
	return nil, &fault.Error{Op: "dump", Kind: fault.Unsupported, Err: errors.New("no pg_dump was found")}
}
func (d *stingyDB) LoadDump(context.Context, []string, string, string) error { return nil }

func TestNoWayToCopyTellsBothReasons(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	history(w)
	host := w.host()
	host.Kinds = map[string]OpenDatabase{"fake": func(_ context.Context, b Branch, _ json.RawMessage) (Database, error) {
		return &stingyDB{fakeDB{world: w, branch: b}}, nil
	}}
	_, err := SeedCreate(ctx, host, testRepo, SeedOptions{Name: "base", Source: SourceServer{URL: "postgres://h/d"}})
	wantRefusal(t, err, fault.Unsupported, "no physical copy (it may not replicate), and no dump: ")
	wantRefusal(t, err, fault.Unsupported, "no pg_dump was found")
	if fault.HintOf(err) != seedRemedy {
		t.Errorf("hint %q", fault.HintOf(err))
	}
}

func TestTooLittleSpaceInTheStore(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	before := w.state(wt)
	w.fs.SetSpace(vfs.Space{FreeBytes: 1 << 20, TotalBytes: 1 << 40})
	_, err := wt.Capture(ctx, CaptureOptions{Name: "two"})
	wantRefusal(t, err, fault.NoSpace, "MB are needed, 1 MB are free")
	wantRefusal(t, restoreOne(wt), fault.NoSpace, "MB are needed, 1 MB are free")
	if got := w.state(wt); got != before {
		t.Errorf("the refusals left\n%s\nwas\n%s", got, before)
	}
	w.fs.SetSpace(vfs.Space{FreeBytes: 1 << 40, TotalBytes: 1 << 40})
	must(t, restoreOne(wt))
}

func TestDatabaseInAnUnknownState(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	wt := history(w)
	pair, err := wt.resolve(ctx, "one")
	must(t, err)
	later := *pair
	later.Databases = []storage.DatabaseState{pair.Databases[0]}
	later.Databases[0].State = "recover"
	_, err = wt.checkDatabase(ctx, &later)
	wantRefusal(t, err, fault.Unsupported, `its database is in state "recover"`)
}

func TestNoPlaceForTheStore(t *testing.T) {
	w := newWorld(t)
	host := w.host()
	host.StoreDir = ""
	_, err := Setup(context.Background(), host, testRepo, SetupOptions{Yes: true})
	wantRefusal(t, err, fault.Usage, "no place for the store is known")
	if !strings.Contains(fault.HintOf(err), "FORKLIFT_STORE") {
		t.Errorf("hint %q", fault.HintOf(err))
	}
}
