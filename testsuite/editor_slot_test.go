package testsuite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forklift/testsuite/internal/harness"
)

// The daemon prepares the idle slot, so that the first restore writes next to
// nothing; what is restored and undone through it is exact.
func TestTheDaemonPreparesTheFirstRestore(t *testing.T) {
	d := newDesk(t, plainConfig)
	d.cli("db", "start")
	d.cli("db", "shell", "-c", "CREATE TABLE t AS SELECT v FROM generate_series(1, 5000) AS v")
	d.cli("capture", "c2")
	d.open(nil)
	d.await("the idle slot is prepared", func() bool {
		list, err := filepath.Glob(filepath.Join(harness.Lookup(d.env, "XDG_DATA_HOME"), "forklift/worktrees/*/slot-b.json"))
		if err != nil || len(list) != 1 {
			return false
		}
		text, err := os.ReadFile(list[0])
		return err == nil && strings.Contains(strings.ReplaceAll(string(text), " ", ""), `"clean":true`)
	})
	d.cli("db", "shell", "-c", "UPDATE t SET v = 0 WHERE v = 1")
	d.write("src/a.txt", "two\n")
	rows := func(want string) {
		t.Helper()
		if got := d.cli("db", "shell", "-c", "SELECT count(*), sum(v) FROM t"); !strings.Contains(got, want) {
			t.Errorf("the table has %s, want %s", got, want)
		}
	}
	restored := func(args ...string) (written int64) {
		t.Helper()
		var r struct {
			PatchedBytes int64 `json:"patched_bytes"`
		}
		if err := json.Unmarshal([]byte(d.cli(append(args, "--json")...)), &r); err != nil {
			t.Fatal(err)
		}
		return r.PatchedBytes
	}
	if written := restored("restore", "c2"); written != 0 {
		t.Errorf("the restore wrote %d bytes into a slot that was prepared", written)
	}
	rows("12502500")
	d.has("src/a.txt", "one\n")
	restored("undo")
	rows("12502499")
	d.has("src/a.txt", "two\n")
	d.cli("check", "--read-data")
}
