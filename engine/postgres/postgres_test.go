package postgres

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"forklift/engine"
	"forklift/storage/clock"
	"forklift/storage/vfs"
)

// options are those of the tests. They use the PostgreSQL that
// FORKLIFT_PG_BIN names, or any that is found.
func options(t *testing.T) Options {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fkpg") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Options{FS: vfs.OS(), Clock: clock.System{}, RuntimeDir: filepath.Join(dir, "s")}
}

// branch makes the database of a new, empty branch. Its server is stopped at
// the end of the test.
func branch(t *testing.T, opt Options) *cluster {
	t.Helper()
	return branchIn(t, opt, t.TempDir(), nil)
}

func branchIn(t *testing.T, opt Options, dir string, settings []byte) *cluster {
	t.Helper()
	b := engine.Branch{ID: "test", Dir: filepath.Join(dir, "branch"), Live: filepath.Join(dir, "live")}
	db, err := Opener(opt)(t.Context(), b, settings)
	if err != nil {
		t.Fatal(err)
	}
	c := db.(*cluster)
	if _, err := c.installed(t.Context(), 0); err != nil {
		t.Fatalf("these tests need PostgreSQL 17: name its bin directory in FORKLIFT_PG_BIN: %v", err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := c.Stop(ctx); err != nil {
			t.Errorf("stop at the end of the test: %v", err)
		}
		if err := c.Remove(ctx); err != nil {
			t.Errorf("remove at the end of the test: %v", err)
		}
	})
	return c
}

// template is a cluster that tests get copies of: initdb takes a second.
var template struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if template.dir != "" {
		_ = os.RemoveAll(template.dir)
	}
	os.Exit(code)
}

// initialised makes a branch with a cluster in slot a.
func initialised(t *testing.T) *cluster {
	t.Helper()
	c := branch(t, options(t))
	fill(t, c, engine.SlotA)
	return c
}

// fill puts a new cluster into a slot.
func fill(t *testing.T, c *cluster, slot engine.Slot) {
	t.Helper()
	template.Do(func() {
		dir, err := os.MkdirTemp("", "template")
		if err != nil {
			template.err = err
			return
		}
		template.dir = dir
		made := branchIn(t, options(t), dir, nil)
		template.err = made.Init(t.Context(), engine.SlotA)
	})
	must(t, template.err)
	copyTree(t, filepath.Join(template.dir, "branch", "a"), c.slotDir(slot))
}

// copyTree copies a data directory.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(to), 0o700))
	must(t, os.CopyFS(to, os.DirFS(from)))
	must(t, os.Chmod(to, 0o700))
}

// started makes a branch whose server runs on slot a.
func started(t *testing.T) *cluster {
	t.Helper()
	c := initialised(t)
	must(t, c.Start(t.Context(), engine.SlotA))
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\n%+v", err, err)
	}
}

// sql runs statements on the default database; those of one text are one
// transaction.
func sql(t *testing.T, c *cluster, texts ...string) {
	t.Helper()
	conn, err := c.connect(t.Context(), "")
	must(t, err)
	defer conn.close()
	must(t, conn.exec(t.Context(), "SET search_path = public, pg_catalog"))
	for _, text := range texts {
		must(t, conn.exec(t.Context(), text))
	}
}

// value asks for one value as text.
func value(t *testing.T, c *cluster, query string) string {
	t.Helper()
	conn, err := c.connect(t.Context(), "")
	must(t, err)
	defer conn.close()
	var v string
	if err := conn.QueryRow(t.Context(), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// wantState checks the state of a slot.
func wantState(t *testing.T, c *cluster, slot engine.Slot, want engine.ServerState) engine.Status {
	t.Helper()
	st, err := c.State(t.Context(), slot)
	must(t, err)
	if st.State != want {
		t.Fatalf("state of slot %s is %s, want %s", slot, st.State, want)
	}
	return st
}

// took prints how long something took: figures of this machine, for people.
func took(t *testing.T, what string, since time.Time) {
	t.Helper()
	t.Log(fmt.Sprintf("%-24s %6.1f ms", what, float64(time.Since(since).Microseconds())/1000))
}

// tool is the path of a program of the installation that tests need and
// Forklift does not.
func tool(t *testing.T, c *cluster, name string) string {
	t.Helper()
	path := filepath.Join(c.running().Bin, name)
	if !executable(path) {
		t.Fatalf("this test needs %s: name a complete PostgreSQL 17 in FORKLIFT_PG_BIN", path)
	}
	return path
}

// run runs a program of the installation on the branch's server.
func run(t *testing.T, c *cluster, name string, args ...string) string {
	t.Helper()
	socket, err := c.socketDir(t.Context())
	must(t, err)
	args = append([]string{"-h", socket, "-U", superuser}, args...)
	cmd := exec.CommandContext(t.Context(), tool(t, c, name), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.String())
	}
	return string(out)
}
