package postgres

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"forklift/engine"
	"forklift/storage/fault"
)

// TestAsAccount runs a server as an unprivileged account, as root must where
// user namespaces are forbidden.
func TestAsAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		c := branch(t, options(t))
		id, err := c.identity(t.Context())
		must(t, err)
		if id.Method != Own || id.UID != os.Geteuid() {
			t.Errorf("as an ordinary user servers run as %+v", id)
		}
		return // giving files to an account needs root
	}
	opt := options(t)
	opt.Root, opt.Account = Account, "nobody"
	dir, err := os.MkdirTemp("", "account")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o711))
	must(t, os.Chmod(filepath.Dir(opt.RuntimeDir), 0o711))
	store := filepath.Join(dir, "store") // as closed as the engine makes it
	must(t, os.MkdirAll(filepath.Join(store, "branches"), 0o700))
	c := branchIn(t, opt, filepath.Join(store, "branches"), nil)
	must(t, c.Init(t.Context(), engine.SlotA))
	// A restore writes as root.
	must(t, os.Chown(c.slotDir(engine.SlotA)+"/base/1/PG_VERSION", 0, 0))
	must(t, c.Start(t.Context(), engine.SlotA))
	if got := value(t, c, "SELECT 'here'"); got != "here" {
		t.Error(got)
	}
	st := wantState(t, c, engine.SlotA, engine.Running)
	info, err := os.Stat("/proc/" + strconv.Itoa(st.PID))
	must(t, err)
	id, err := c.identity(t.Context())
	must(t, err)
	if uid := int(info.Sys().(*syscall.Stat_t).Uid); id.Method != Account || uid == 0 || uid != id.UID {
		t.Errorf("the server runs as %d, want %+v", uid, id)
	}
	must(t, c.Load(t.Context(), []string{write(t, "x.sql", "CREATE TABLE t (n int);")}, ""))
	must(t, c.Stop(t.Context()))
	wantState(t, c, engine.SlotA, engine.AtRest)

	must(t, os.Chmod(dir, 0o700))
	if err := c.Start(t.Context(), engine.SlotA); fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), dir+":") {
		t.Errorf("below a closed directory that is not ours: %v", err)
	}
	must(t, os.Chmod(dir, 0o711))

	// The method stays, whatever the options say later.
	c.opt.Root = Namespace
	if again, err := c.identity(t.Context()); err != nil || again != id {
		t.Errorf("identity became %+v (%v)", again, err)
	}
}

func TestAccountThatIsNotThere(t *testing.T) {
	c := branch(t, options(t))
	c.opt.Account = "no_such_account_here"
	if _, err := c.account(); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("error %v", err)
	}
}
