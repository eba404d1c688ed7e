package engine

import (
	"testing"

	"forklift/storage"
	"forklift/storage/fault"
)

// TestRecordsKeepAnyPath has paths that are no text, which JSON cannot hold, and
// a record of a later program.
func TestRecordsKeepAnyPath(t *testing.T) {
	w := newWorld(t)
	wt := history(w)
	for _, name := range []string{"/vm/r\xff", "/vm/a \"quoted\"", "/vm/new\nline", "/vm/größe", `/vm/back\slash`} {
		rec := wt.rec
		rec.Path, rec.GitDir, rec.CommonDir = name, name+"/.git", name+"/common"
		must(t, wt.writeRecord(rec))
		got, err := wt.readRecord(rec.ID)
		must(t, err)
		if got.Path != rec.Path || got.GitDir != rec.GitDir || got.CommonDir != rec.CommonDir || !got.Created.Equal(rec.Created) {
			t.Errorf("%q came back as %q, %q, %q", name, got.Path, got.GitDir, got.CommonDir)
		}
	}
	for text, ok := range map[string]bool{`{"id": "x", "path": "/r"}`: true, `{"id": "x", "path": "\"/r\\xff\""}`: true,
		`{"id": "x", "later": 1}`: false, `{"id": "x", "path": "\"/r"}`: false} {
		var rec worktreeRecord
		if err := rec.UnmarshalJSON([]byte(text)); (err == nil) != ok {
			t.Errorf("%s: %+v, %v", text, rec, err)
		}
	}
}

// TestCheckCountsWhatWasSetAside sets a database aside, brings it back and leaves it again.
func TestCheckCountsWhatWasSetAside(t *testing.T) {
	ctx := t.Context()
	w, wt := damagedWorld(t)
	must(t, discard(wt))
	wants := func(aside int) {
		t.Helper()
		res, err := CheckStore(ctx, w.host(), "/elsewhere", storage.CheckOptions{})
		must(t, err)
		if res.SetAside != aside || len(res.Problems) != 0 || len(res.Checkpoints) != 0 {
			t.Errorf("set aside %d, problems %v, hurt %v; want %d and none", res.SetAside, res.Problems, res.Checkpoints, aside)
		}
		du, err := StoreUsage(ctx, w.host(), "/elsewhere")
		must(t, err)
		if len(du.Branches) != 1 || (du.Branches[0].SetAsideBytes > 0) != (aside > 0) || du.Branches[0].SetAsideBytes >= du.Branches[0].Bytes {
			t.Errorf("databases %+v", du.Branches)
		}
	}
	wants(1)
	must(t, undo(wt))
	wants(0) // it is the slot now
	must(t, undo(wt))
	wants(1)
	_, err := CheckStore(ctx, Host{FS: w.fs, Git: w.host().Git}, "/elsewhere", storage.CheckOptions{})
	wantRefusal(t, err, fault.Usage, "no place for the store is known")
}
