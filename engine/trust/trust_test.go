package trust

import (
	"os"
	"path/filepath"
	"testing"

	"forklift/engine/config"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

func TestApprovalIsBoundToPathWorktreeAndContent(t *testing.T) {
	fsys, state := vfs.OS(), filepath.Join(t.TempDir(), "state")
	content := []byte(`{"format": 1}`)
	check := func(id, path, content string, want bool) {
		t.Helper()
		got, err := Approved(fsys, state, id, path, []byte(content))
		if err != nil || got != want {
			t.Errorf("Approved(%q, %q, %q) = %v, %v; want %v", id, path, content, got, err, want)
		}
	}
	check("w1", "/a", string(content), false)
	for range 2 {
		if err := Approve(fsys, state, "w1", "/a", content); err != nil {
			t.Fatal(err)
		}
	}
	check("w1", "/a", string(content), true)
	check("w2", "/a", string(content), false)     // another worktree
	check("w1", "/b", string(content), false)     // the path moved
	check("w1", "/a", string(content)+" ", false) // one byte
	check("w1/a", "", string(content), false)     // the same bytes cut elsewhere
	check("", "w1/a", string(content), false)     //
	if err := Approve(fsys, state, "w1", "/b", content); err != nil {
		t.Fatal(err)
	}
	check("w1", "/b", string(content), true)
	if err := Revoke(fsys, state, "w1", "/a", content); err != nil {
		t.Fatal(err)
	}
	check("w1", "/a", string(content), false)
	check("w1", "/b", string(content), true)
	if err := Revoke(fsys, filepath.Join(state, "absent"), "w1", "/a", content); err != nil {
		t.Error(err)
	}
}

func TestModes(t *testing.T) {
	fsys, state := vfs.OS(), filepath.Join(t.TempDir(), "state")
	if err := Approve(fsys, state, "w", "/a", nil); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(state + "/trust")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for name, want := range map[string]os.FileMode{state + "/trust": 0o700, state + "/trust/" + files[0].Name(): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestWhatOthersCanWriteApprovesNothing(t *testing.T) {
	fsys, state := vfs.OS(), filepath.Join(t.TempDir(), "state")
	if err := Approve(fsys, state, "w", "/a", nil); err != nil {
		t.Fatal(err)
	}
	dir := state + "/trust"
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	if ok, err := Approved(fsys, state, "w", "/a", nil); ok || fault.KindOf(err) != fault.Untrusted {
		t.Errorf("writable directory: %v, %v", ok, err)
	}
	if err := Approve(fsys, state, "w", "/a", nil); fault.KindOf(err) != fault.Untrusted {
		t.Errorf("writable directory: %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// An approval that was renamed to another's name, and a damaged one.
	a, b := newApproval("w", "/a", nil).name(), newApproval("w", "/b", nil).name()
	if err := os.Rename(dir+"/"+a, dir+"/"+b); err != nil {
		t.Fatal(err)
	}
	if ok, err := Approved(fsys, state, "w", "/b", nil); ok || err != nil {
		t.Errorf("renamed approval: %v, %v", ok, err)
	}
	if err := os.WriteFile(dir+"/"+b, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := Approved(fsys, state, "w", "/b", nil); ok || fault.KindOf(err) != fault.Corrupt {
		t.Errorf("damaged approval: %v, %v", ok, err)
	}
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("trust2", dir); err != nil {
		t.Fatal(err)
	}
	if ok, err := Approved(fsys, state, "w", "/b", nil); ok || err == nil {
		t.Errorf("a link: %v, %v", ok, err)
	}
}

func TestText(t *testing.T) {
	cfg := &config.File{
		Commands: map[string][]string{
			"verify": {"python3", "src/app.py"},
			"evil":   {"sh", "-ec", "a; b 'c'", "", "\x1b[2Kx", "it's\n", "\u202egnp", "ä", "a\"b\t"},
		},
		Hooks: config.Hooks{Stop: []string{"make", "stop all"}},
	}
	want := "before the database is stopped:  make 'stop all'\n" +
		`forklift run evil:  sh -ec 'a; b '\''c'\''' '' $'\x1b[2Kx' $'it\'s\n' $'\u202egnp' 'ä' $'a"b\t'` + "\n" +
		"forklift run verify:  python3 src/app.py\n"
	if got := Text(cfg); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := Text(&config.File{}); got != "nothing would run\n" {
		t.Error(got)
	}
}
