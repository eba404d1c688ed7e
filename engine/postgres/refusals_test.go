package postgres

import (
	"os"
	"strings"
	"testing"

	"forklift/engine"
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

// TestARunningServerIsInTheWay asks for what is only done to a stopped one.
func TestARunningServerIsInTheWay(t *testing.T) {
	c := started(t)
	fill(t, c, engine.SlotB)
	wantRefusal(t, c.Remove(t.Context()), fault.Busy, "its server runs")
	wantRefusal(t, c.Start(t.Context(), engine.SlotB), fault.Busy, "it runs on slot a")
	must(t, c.Start(t.Context(), engine.SlotA)) // it still does
}

// TestSocketOfARunningServerIsGone has a server that nobody can reach.
func TestSocketOfARunningServerIsGone(t *testing.T) {
	c := started(t)
	dir, err := c.socketDir(t.Context())
	must(t, err)
	must(t, os.RemoveAll(dir))
	err = c.Start(t.Context(), engine.SlotA)
	wantRefusal(t, err, fault.Failed, "it runs, but its socket is gone: ")
	if !strings.Contains(fault.HintOf(err), "db stop --disconnect") {
		t.Errorf("hint %q", fault.HintOf(err))
	}
	must(t, c.Stop(t.Context()))
	must(t, c.Start(t.Context(), engine.SlotA))
}

func TestCopyWithoutRoom(t *testing.T) {
	c := branch(t, options(t))
	disk := vfs.NewMem()
	must(t, disk.Mkdir("/store", 0o700))
	defer func(fsys vfs.FS, dir string) { c.opt.FS, c.branch.Dir = fsys, dir }(c.opt.FS, c.branch.Dir)
	c.opt.FS, c.branch.Dir = disk, "/store"
	disk.SetSpace(vfs.Space{FreeBytes: copyMargin + 3<<20, TotalBytes: 1 << 40})
	must(t, c.room(10<<20, 7<<20))
	wantRefusal(t, c.room(10<<20, 6<<20), fault.NoSpace, " MB are needed for the copy, ")
}

// TestCopyWhoseSuperusersCannotLogIn has a role that may replicate, and no
// superuser that may log in.
func TestCopyWhoseSuperusersCannotLogIn(t *testing.T) {
	from := started(t)
	sql(t, from, "CREATE ROLE replica LOGIN REPLICATION", "ALTER ROLE postgres NOLOGIN")
	to := branch(t, options(t))
	_, err := to.CopyServer(t.Context(), engine.SlotA, engine.SourceServer{URL: sourceURL(t, from, "replica", "app")})
	wantRefusal(t, err, fault.Unsupported, "no superuser of it can log in")
	if !strings.Contains(fault.HintOf(err), "--method dump") {
		t.Errorf("hint %q", fault.HintOf(err))
	}
}

func TestPortThatCannotBeHad(t *testing.T) {
	c := branch(t, options(t))
	wantRefusal(t, c.portFree(1<<20), fault.Busy, "the port cannot be had: ")
}

func TestPasswordFileWithoutPassword(t *testing.T) {
	c := branch(t, options(t))
	c.branch.SecretFile = write(t, "password", "\n")
	_, err := c.password()
	wantRefusal(t, err, fault.Corrupt, "it holds no password")
	if !strings.Contains(fault.HintOf(err), "remove it") {
		t.Errorf("hint %q", fault.HintOf(err))
	}
	must(t, os.Remove(c.branch.SecretFile))
	if text, err := c.password(); err != nil || text == "" {
		t.Errorf("a new one: %q, %v", text, err)
	}
}
