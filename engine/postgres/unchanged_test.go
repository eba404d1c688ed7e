package postgres

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"forklift/engine"
)

// frozen leaves nothing to do for those who read the system tables next: they
// would set hint bits, whose pages are logged.
func frozen(t *testing.T, c *cluster) {
	t.Helper()
	sql(t, c, "ALTER SYSTEM SET autovacuum = off", "VACUUM (FREEZE)")
}

// restarted stops the server, and starts it again on what the facts are of.
func restarted(t *testing.T, c *cluster) json.RawMessage {
	t.Helper()
	must(t, c.Stop(t.Context()))
	data, err := c.Facts(t.Context(), engine.SlotA)
	must(t, err)
	must(t, c.Start(t.Context(), engine.SlotA))
	return data
}

// TestUnchanged does one thing after another to a running server, and wants it
// to be noticed, each of them alone.
func TestUnchanged(t *testing.T) {
	c := started(t)
	sql(t, c, "CREATE TABLE t (a int)", "CREATE SEQUENCE s", "INSERT INTO t SELECT generate_series(1, 100)")
	edit := func(name, text string) func() {
		return func() {
			f, err := os.OpenFile(filepath.Join(c.slotDir(engine.SlotA), name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			must(t, err)
			_, err = f.WriteString(text)
			must(t, err)
			must(t, f.Close())
		}
	}
	do := func(texts ...string) func() { return func() { sql(t, c, texts...) } }
	for _, test := range []struct {
		name string
		do   func()
		same bool
	}{
		{"nothing", func() {}, true},
		{"SELECT", do("SELECT count(*) FROM t", "SELECT pg_advisory_lock(1)"), true},
		{"stop and start", func() { restarted(t, c) }, true},
		{"INSERT", do("INSERT INTO t VALUES (0)"), false},
		{"INSERT, rolled back", do("BEGIN; INSERT INTO t VALUES (0); ROLLBACK"), false},
		{"INSERT without waiting", do("SET synchronous_commit = off", "INSERT INTO t VALUES (0)"), false},
		{"INSERT, stop and start", func() { sql(t, c, "INSERT INTO t VALUES (0)"); restarted(t, c) }, false},
		{"SELECT FOR SHARE", do("SELECT * FROM t LIMIT 1 FOR SHARE"), false},
		{"nextval", do("SELECT nextval('s')"), false},
		{"setval", do("SELECT setval('s', 7)"), false},
		{"CREATE TABLE", do("CREATE UNLOGGED TABLE u (a int)", "DROP TABLE u"), false},
		{"CREATE ROLE", do("CREATE ROLE r"), false},
		{"ALTER DATABASE", do("ALTER DATABASE postgres SET work_mem = '5MB'"), false},
		{"COMMENT", do("COMMENT ON TABLE t IS 'c'"), false},
		{"TRUNCATE", do("TRUNCATE t"), false},
		{"large object", do("SELECT lo_from_bytea(0, 'x')"), false},
		{"replication origin", do("SELECT pg_replication_origin_create('o')"), false},
		{"replication slot", do("SELECT pg_create_physical_replication_slot('r')"), false},
		{"replication slot, dropped", do("SELECT pg_drop_replication_slot('r')"), false},
		{"ALTER SYSTEM", do("ALTER SYSTEM SET work_mem = '5MB'"), false},
		{"pg_hba.conf", edit("pg_hba.conf", "# edited\n"), false},
		{"a file of the user's", edit("extra.conf", "work_mem = '6MB'\n"), false},
	} {
		frozen(t, c)
		facts := restarted(t, c)
		test.do()
		if same := c.Unchanged(t.Context(), engine.SlotA, facts); same != test.same {
			t.Errorf("%s: unchanged %v, want %v", test.name, same, test.same)
		}
		if c.Unchanged(t.Context(), engine.SlotB, facts) {
			t.Errorf("%s: a slot that no server runs on is said to be unchanged", test.name)
		}
	}
}

// TestUnchangedIsNeverOfAnotherHistory has facts of other states.
func TestUnchangedIsNeverOfAnotherHistory(t *testing.T) {
	c := started(t)
	frozen(t, c)
	old := restarted(t, c)
	sql(t, c, "CREATE TABLE t (a int)")
	frozen(t, c)
	now := restarted(t, c)
	if c.Unchanged(t.Context(), engine.SlotA, old) || !c.Unchanged(t.Context(), engine.SlotA, now) {
		t.Error("slot a is taken for what it was before")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c.Unchanged(ctx, engine.SlotA, now) {
		t.Error("a server that was not asked is said to be unchanged")
	}
	for _, text := range []string{`{}`, `[]`, ``, `{"still":{"end":0,"settings":""}}`} {
		if c.Unchanged(t.Context(), engine.SlotA, json.RawMessage(text)) {
			t.Errorf("unchanged since %q", text)
		}
	}
	var f facts
	must(t, json.Unmarshal(now, &f))
	f.SystemID = "1"
	if c.Unchanged(t.Context(), engine.SlotA, encode(t, f)) {
		t.Error("another cluster's facts are taken for its own")
	}
}

// TestStillOnlyWhereEveryChangeIsSeen makes what a server can change without
// a new transaction and without WAL.
func TestStillOnlyWhereEveryChangeIsSeen(t *testing.T) {
	c := started(t)
	sql(t, c, "CREATE TABLE t (a int)", "ALTER SYSTEM SET max_prepared_transactions = 2", "ALTER SYSTEM SET allow_in_place_tablespaces = on")
	for _, test := range []struct{ name, do, undo string }{
		{"unlogged sequence", "CREATE UNLOGGED SEQUENCE u", "DROP SEQUENCE u"},
		{"prepared transaction", "BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'p'", "COMMIT PREPARED 'p'"},
		{"replication slot", "SELECT pg_create_physical_replication_slot('r', true)", "SELECT pg_drop_replication_slot('r')"},
		{"tablespace", "CREATE TABLESPACE here LOCATION ''", "DROP TABLESPACE here"},
	} {
		var f facts
		must(t, json.Unmarshal(restarted(t, c), &f))
		if f.Still == nil {
			t.Fatalf("before %s: the cluster cannot be known again", test.name)
		}
		sql(t, c, test.do)
		must(t, c.Stop(t.Context()))
		if f := factsOf(t, c, engine.SlotA); f.Still != nil {
			t.Errorf("with %s: the cluster is said to be known again", test.name)
		}
		must(t, c.Start(t.Context(), engine.SlotA))
		sql(t, c, test.undo)
	}
}
