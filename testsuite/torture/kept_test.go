package torture

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"forklift/testsuite/internal/harness"
)

// prepareKept makes a world whose last operation was a restore with
// --discard-current: the cluster that could not be saved is set aside, and
// undo swaps it back.
func prepareKept(t *testing.T) prepared {
	t.Helper()
	w := newWorld(t)
	w.live(t)
	w.ruin(t)
	w.must(t, "restore", "one", "--discard-current")
	// What undo has to save and to take away, and a plain restore, too.
	w.Write(t, "src/app.txt", "version 3\n")
	w.Write(t, "src/later/x.txt", "later\n")
	if err := os.Chmod(filepath.Join(w.Repo, "src/lib/a.txt"), 0o700|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	w.rest(t)
	w.ruined = true
	return prepared{w, save(t, filepath.Join(w.Root, "w"), filepath.Join(w.Root, "copy"))}
}

// ruin kills the server and empties its WAL, so that no server starts there
// any more.
func (w *world) ruin(t *testing.T) {
	t.Helper()
	var server struct{ PID int }
	decode(t, w.must(t, "db", "start", "--json"), &server)
	if err := syscall.Kill(server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.alone(t)
	segments := w.inBranch(t, w.selected(t)+"/pg_wal/0*")
	if len(segments) == 0 {
		t.Fatal("no WAL to ruin")
	}
	for _, name := range segments {
		info, err := os.Stat(name)
		if err == nil {
			err = errors.Join(os.Truncate(name, 0), os.Truncate(name, info.Size()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// selectedSlot is where current.json says which slot is selected.
var selectedSlot = regexp.MustCompile(`"slot": *"([ab])"`)

// selected is the name of the slot that is selected.
func (w *world) selected(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(w.Root, "w/home/data/forklift/worktrees/*/current.json"))
	if err != nil || len(names) != 1 {
		t.Fatalf("selections: %v %v", names, err)
	}
	text, err := os.ReadFile(names[0])
	found := selectedSlot.FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("no slot in %s: %q %v", names[0], text, err)
	}
	return string(found[1])
}

// inBranch finds files of the one branch.
func (w *world) inBranch(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.Root, "w/home/data/forklift/branches/*", pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// describeRuined is the database of a world with a cluster that no server
// starts in: that one's files where it is selected, else what a server tells;
// and whatever is set aside, byte for byte.
func (w *world) describeRuined(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, dir := range w.inBranch(t, "kept/*") {
		text.WriteString("set aside:\n" + describeCluster(t, dir))
	}
	var status struct{ Server struct{ State string } }
	decode(t, w.must(t, "status", "--json"), &status)
	if status.Server.State != "unclean" {
		return w.describeServed(t) + text.String()
	}
	for _, dir := range w.inBranch(t, w.selected(t)) {
		text.WriteString("selected:\n" + describeCluster(t, dir))
	}
	return text.String()
}

// describeCluster describes the files of a cluster.
func describeCluster(t *testing.T, dir string) string {
	t.Helper()
	text, err := harness.DescribeTree(dir, harness.TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
