package postgres

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"forklift/engine"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// factsOf reads the facts of a slot.
func factsOf(t *testing.T, c *cluster, slot engine.Slot) facts {
	t.Helper()
	data, err := c.Facts(t.Context(), slot)
	must(t, err)
	var f facts
	must(t, json.Unmarshal(data, &f))
	return f
}

func TestFacts(t *testing.T) {
	c := started(t)
	sql(t, c, "CREATE EXTENSION pg_trgm", "CREATE EXTENSION vector")
	must(t, c.Stop(t.Context()))
	f := factsOf(t, c, engine.SlotA)
	if f.Major != 17 || f.Architecture != runtime.GOARCH || f.BlockBytes != 8192 || f.WALSegBytes != 1<<20 || !f.Checksums || f.State != "shut down" ||
		f.SystemID == "0" || !strings.HasPrefix(f.Version, "17.") || f.NextXID == 0 {
		t.Errorf("facts %+v", f)
	}
	if f.Observed == nil {
		t.Fatal("a stopped server was not asked before")
	}
	app := f.Observed.Databases[0]
	want := databaseFacts{Name: "app", Encoding: "UTF8", Provider: "builtin", Locale: "C.UTF-8", Collation: "1", Actual: "1",
		Extensions: map[string]string{"plpgsql": "1.0", "pg_trgm": "1.6", "vector": app.Extensions["vector"]}}
	if !reflect.DeepEqual(app, want) || app.Extensions["vector"] == "" {
		t.Errorf("observed %+v, want %+v", app, want)
	}
	must(t, c.CheckFacts(t.Context(), encode(t, f)))

	// Another slot is another state: what was said of the first does not count.
	copyTree(t, c.slotDir(engine.SlotA), c.slotDir(engine.SlotB))
	if f := factsOf(t, c, engine.SlotB); f.Observed != nil {
		t.Errorf("slot b: observed %+v", f.Observed)
	}
	must(t, c.Start(t.Context(), engine.SlotB))
	must(t, c.Stop(t.Context()))
	if f := factsOf(t, c, engine.SlotB); f.Observed == nil {
		t.Error("slot b: not observed after its server ran")
	}
	if f := factsOf(t, c, engine.SlotA); f.Observed != nil {
		t.Error("slot a: it may have been patched since its server ran")
	}
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}

func TestCheckFactsRefusesByName(t *testing.T) {
	c := initialised(t)
	good := factsOf(t, c, engine.SlotA)
	for name, test := range map[string]struct {
		change func(f *facts)
		want   string
	}{
		"another major version": {func(f *facts) { f.Major = 15 }, "PostgreSQL 15"},
		"architecture":          {func(f *facts) { f.Architecture = "sparc64" }, "it was made on sparc64"},
		"block size":            {func(f *facts) { f.BlockBytes = 4096 }, "blocks of 4096 bytes"},
		"newer format":          {func(f *facts) { f.Format = 2 }, "format 2"},
		"missing extension": {func(f *facts) {
			f.Observed = &observed{Databases: []databaseFacts{{Name: "app", Extensions: map[string]string{"plpgsql": "1.0", "not_there": "2.1"}}}}
		}, "extension not_there 2.1 (database app)"},
		"missing library": {func(f *facts) { f.Observed = &observed{Libraries: []string{"pg_trgm", "not_there"}} }, "library not_there"},
	} {
		f := good
		test.change(&f)
		err := c.CheckFacts(t.Context(), encode(t, f))
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "pg_trgm") {
			t.Errorf("%s: %v (%s), want %q", name, err, fault.KindOf(err), test.want)
		}
	}
	must(t, c.CheckFacts(t.Context(), encode(t, good)))

	// The same locale in another version, once this one's is known.
	german := observed{Databases: []databaseFacts{{Name: "app", Provider: "libc", Locale: "de_DE.utf8", Actual: "2.36"}}}
	must(t, c.ensureRunDir())
	rec := observedRecord{Bin: c.running().Bin, Observed: german}
	must(t, record.Write(c.opt.FS, c.observedFile(engine.SlotB), observedKind, observedFormat, rec))
	good.Observed = &observed{Databases: []databaseFacts{{Name: "app", Provider: "libc", Locale: "de_DE.utf8", Actual: "2.36"}}}
	must(t, c.CheckFacts(t.Context(), encode(t, good)))
	good.Observed.Databases[0].Actual = "2.41"
	if err := c.CheckFacts(t.Context(), encode(t, good)); fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "version 2.41 of the libc locale de_DE.utf8, here that is 2.36") {
		t.Errorf("another collation version: %v", err)
	}
}

func TestObserveAndChanges(t *testing.T) {
	c := started(t)
	sql(t, c, "CREATE TABLE t (n int)", "CREATE TABLE gone (n int)", "INSERT INTO gone VALUES (1), (2)", "INSERT INTO t VALUES (1), (2), (3)", "CREATE DATABASE other")
	look := func() engine.Observation {
		o, err := c.Observe(t.Context())
		must(t, err)
		return o
	}
	before := look()
	sql(t, c, "INSERT INTO t VALUES (4)", "UPDATE t SET n = n + 1", "DELETE FROM t WHERE n = 2", "DROP TABLE gone", "CREATE SCHEMA s", "CREATE TABLE s.new AS SELECT 1 AS n")
	must(t, c.Stop(t.Context()))
	must(t, c.Start(t.Context(), engine.SlotA)) // counters outlive a stop
	after := look()
	if counters, err := c.Count(t.Context()); err != nil || string(counters) != string(after.Counters) {
		t.Errorf("counted %s, %v\nobserved %s", counters, err, after.Counters)
	}
	got, err := c.Changes(before.Counters, after.Counters)
	must(t, err)
	want := []engine.TableChange{
		{Database: "app", Table: "public.t", Inserted: 1, Updated: 4, Deleted: 1},
		{Database: "app", Table: "s.new", Inserted: 1},
		{Database: "app", Table: "public.gone", Deleted: 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("changes %+v\nwant %+v", got, want)
	}
	if same, err := c.Changes(after.Counters, after.Counters); err != nil || len(same) > 0 {
		t.Errorf("no changes: %v %v", same, err)
	}

	var tables tableMap
	must(t, json.Unmarshal(after.Tables, &tables))
	file := value(t, c, "SELECT pg_relation_filepath('public.t')")
	named := false
	for _, d := range tables.Databases {
		named = named || d.Rels[filepath.Base(file)] == "public.t" && file == fmt.Sprintf("base/%d/%s", d.OID, filepath.Base(file)) && d.Name == "app"
	}
	if !named || len(tables.Databases) != 3 {
		t.Errorf("the table map does not name %s: %s", file, after.Tables)
	}

	sql(t, c, "SELECT pg_stat_reset()")
	if _, err := c.Changes(after.Counters, look().Counters); err == nil || !strings.Contains(err.Error(), "they were reset since") {
		t.Errorf("after a reset: %v", err)
	}
	if _, err := c.Changes(json.RawMessage(`{"format":9}`), after.Counters); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("another format: %v", err)
	}
}

// TestObservePassesInvalidDatabases has a database whose DROP was interrupted.
func TestObservePassesInvalidDatabases(t *testing.T) {
	c := started(t)
	sql(t, c, "CREATE DATABASE torn", "UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'torn'", "CREATE TABLE t (n int)")
	o, err := c.Observe(t.Context())
	must(t, err)
	if text := string(o.Tables); !strings.Contains(text, `"public.t"`) || strings.Contains(text, `"torn"`) {
		t.Errorf("observed %s, want the table t, and nothing of the database torn", text)
	}
}

func TestClients(t *testing.T) {
	c := started(t)
	ctx := t.Context()
	conn, err := c.dial(ctx, "app", superuser, map[string]string{"application_name": "editor"})
	must(t, err)
	defer conn.Close(ctx)
	clients, err := c.Clients(ctx)
	must(t, err)
	if len(clients) != 1 || clients[0].Application != "editor" || clients[0].Busy || clients[0].User != "postgres" || clients[0].Database != "app" || clients[0].State != "idle" {
		t.Fatalf("clients %+v", clients)
	}
	_, err = conn.Exec(ctx, "BEGIN")
	must(t, err)
	clients, err = c.Clients(ctx)
	must(t, err)
	if len(clients) != 1 || !clients[0].Busy || clients[0].State != "idle in transaction" || clients[0].Since.IsZero() {
		t.Fatalf("clients %+v", clients)
	}
	must(t, c.Stop(ctx)) // the session is cut off
	wantState(t, c, engine.SlotA, engine.AtRest)
}

// TestHostileConfiguration starts a cluster whose files ask for things that a
// cluster from elsewhere must not get.
func TestHostileConfiguration(t *testing.T) {
	c := initialised(t)
	witness := filepath.Join(t.TempDir(), "witness")
	dir := c.slotDir(engine.SlotA)
	must(t, os.WriteFile(dir+"/postgresql.auto.conf", []byte(strings.ReplaceAll(`
listen_addresses = '*'
port = 6543
unix_socket_permissions = 0777
unix_socket_directories = '/tmp'
data_directory = '/nowhere'
hba_file = '/nowhere'
external_pid_file = 'WITNESS'
archive_mode = on
archive_command = 'touch WITNESS'
restore_command = 'touch WITNESS'
logging_collector = on
log_destination = 'syslog'
fsync = off
full_page_writes = off
ssl = on
max_logical_replication_workers = 4
`, "WITNESS", witness)), 0o600))
	must(t, os.WriteFile(dir+"/standby.signal", nil, 0o600))
	must(t, c.Start(t.Context(), engine.SlotA))
	socket, err := c.socketDir(t.Context())
	must(t, err)
	for name, want := range map[string]string{
		"listen_addresses": "", "port": "5432", "unix_socket_permissions": "0700", "archive_mode": "off", "fsync": "on", "full_page_writes": "on",
		"ssl": "off", "logging_collector": "off", "log_destination": "stderr", "data_directory": dir, "external_pid_file": "",
		"max_logical_replication_workers": "0", "unix_socket_directories": `"` + socket + `"`,
	} {
		if got := value(t, c, "SELECT current_setting('"+name+"')"); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := value(t, c, "SELECT pg_is_in_recovery()::text"); got != "false" {
		t.Error("it is a standby")
	}
	sql(t, c, "SELECT pg_switch_wal()", "CHECKPOINT")
	must(t, c.Stop(t.Context()))
	if _, err := os.Stat(witness); err == nil {
		t.Error("a command or a file of the cluster's settings was used")
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket directory: %v %v", info, err)
	}
}
