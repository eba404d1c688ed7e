package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"forklift/engine"
	"forklift/storage/fault"
)

// schemaSQL is a database of many kinds of objects. The last statement of the
// file has no semicolon.
const schemaSQL = `
CREATE EXTENSION pg_trgm;
CREATE EXTENSION vector;
CREATE ROLE "we""ird" LOGIN;
CREATE TABLE t (id serial PRIMARY KEY, body text, at timestamptz, v vector(3));
CREATE INDEX ON t USING gin (body gin_trgm_ops);
CREATE INDEX ON t USING hnsw (v vector_l2_ops);
INSERT INTO t (body, at, v) SELECT E'tab\t back\\ nl\n ''quote'' $$ ; ' || i, '2026-01-01', ARRAY[i, i + 1, i + 2]::vector FROM generate_series(1, 500) i;
INSERT INTO t (body) VALUES (NULL), ('\.'), ('');
CREATE UNLOGGED TABLE u AS SELECT 1 AS one;
CREATE VIEW "a ""view""" AS SELECT count(*) FROM t;
CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END;
CREATE FUNCTION g() RETURNS text LANGUAGE plpgsql AS $body$ BEGIN RETURN ';' || $x$;$x$; END $body$;
CREATE RULE r AS ON DELETE TO u DO ALSO (SELECT 1; SELECT 2);
GRANT SELECT ON t TO "we""ird";
ALTER DATABASE app SET work_mem = '5MB';
SELECT lo_from_bytea(12345, '\x001122');
SELECT setval('t_id_seq', 1000)`

// dump is everything in the server as text, without what differs by time.
func dump(t *testing.T, c *cluster) string {
	t.Helper()
	text := run(t, c, "pg_dumpall", "-l", "app")
	return regexp.MustCompile(`(?m)^\\(un)?restrict .*$`).ReplaceAllString(text, "")
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLoadOfDumps(t *testing.T) {
	from := started(t)
	must(t, from.Load(t.Context(), []string{write(t, "schema.sql", schemaSQL)}, ""))
	want := dump(t, from)

	to := started(t)
	must(t, to.Load(t.Context(), []string{write(t, "all.sql", run(t, from, "pg_dumpall", "-l", "app"))}, ""))
	if got := dump(t, to); got != want {
		t.Errorf("after loading pg_dumpall's file:\n%s", firstDifference(want, got))
	}
	if got := value(t, to, "SELECT count(*)::text FROM public.t"); got != "503" {
		t.Errorf("%s rows, want 503", got)
	}

	// The same with commands that drop everything first, over what is there.
	must(t, to.Load(t.Context(), []string{write(t, "clean.sql", run(t, from, "pg_dumpall", "-l", "app", "--clean", "--if-exists"))}, ""))
	if got := dump(t, to); got != want {
		t.Errorf("after loading the file of pg_dumpall --clean:\n%s", firstDifference(want, got))
	}

	// One database, with CREATE DATABASE and \connect in the file.
	to = started(t)
	must(t, to.Load(t.Context(), []string{write(t, "roles.sql", run(t, from, "pg_dumpall", "-r")),
		write(t, "app.sql", run(t, from, "pg_dump", "-C", "app"))}, ""))
	if got := dump(t, to); got != want {
		t.Errorf("after loading the files of pg_dumpall -r and pg_dump -C:\n%s", firstDifference(want, got))
	}

	// The same as INSERT statements, into a database of another name.
	to = started(t)
	must(t, to.Load(t.Context(), []string{write(t, "roles.sql", run(t, from, "pg_dumpall", "-r")),
		write(t, "app.sql", run(t, from, "pg_dump", "--inserts", "app"))}, "other name"))
	if got := value(t, to, "SELECT current_database() || count(*)::text FROM public.t"); got != "other name503" {
		t.Errorf("loaded into another database: %s", got)
	}
	vars, err := to.Env(t.Context(), "URL")
	must(t, err)
	if !strings.HasPrefix(vars[0].Value, "postgresql://postgres@/other%20name?host=") {
		t.Errorf("URL %s does not lead to the database that was loaded", vars[0].Value)
	}
	if _, err := os.Stat(to.runFile(loadName)); err == nil {
		t.Error("the settings of the load are still there")
	}
	if got := value(t, to, "SELECT current_setting('max_wal_size')"); got != "256MB" {
		t.Errorf("max_wal_size is %s after a load", got)
	}
}

// firstDifference shows where two texts part.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: want %q\n        got %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(b), len(a))
}

func TestLoadErrors(t *testing.T) {
	c := started(t)
	for _, test := range []struct {
		text, at string
		kind     fault.Kind
	}{
		{"SELECT 1;\n\nSELECT\n  nothing;", ":4", fault.Failed},
		{"CREATE TABLE e (n int);\nCOPY e FROM stdin;\n1\nx\n\\.\n", ":4", fault.Failed},
		{"SELECT 1;\n\\! ls\n", ":2", fault.Failed},
		{"\n\nCREATE EXTENSION not_there;", ":3", fault.Failed},
		{"SELECT 'x", ":1", fault.Failed},
	} {
		path := write(t, "bad.sql", test.text)
		err := c.Load(t.Context(), []string{path}, "")
		if err == nil || !strings.Contains(err.Error(), path+test.at) || fault.KindOf(err) != test.kind {
			t.Errorf("%q: error %v, want one that names %s", test.text, err, path+test.at)
		}
	}
	err := c.Load(t.Context(), []string{"/not/there.sql"}, "")
	if fault.KindOf(err) != fault.NotFound {
		t.Errorf("a file that is not there: %v", err)
	}
	if st := wantState(t, c, engine.SlotA, engine.Running); st.PID == 0 {
		t.Error("no server")
	}
}

func TestLoadLeavesNothingToWrite(t *testing.T) {
	c := started(t)
	must(t, c.Load(t.Context(), []string{write(t, "rows.sql", "CREATE TABLE t AS SELECT i, repeat('x', 500) FROM generate_series(1, 20000) i;")}, ""))
	before := value(t, c, "SELECT pg_current_wal_insert_lsn()::text")
	_ = value(t, c, "SELECT count(*)::text FROM public.t")
	if after := value(t, c, "SELECT pg_current_wal_insert_lsn()::text"); after != before {
		t.Errorf("the first reader wrote WAL: %s to %s", before, after)
	}
}
