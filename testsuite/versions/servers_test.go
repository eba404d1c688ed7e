package versions

import (
	"strings"
	"testing"
)

// The versions: the newest of each major version that is accepted, and an old
// minor version of 17.
const (
	old17 = "17.2.0-beta.15"
	new17 = "17.10.0-beta.17"
)

// TestOtherMajors captures and restores with the versions of PostgreSQL that
// are accepted beside 17.
func TestOtherMajors(t *testing.T) {
	for major, version := range map[string]string{"16": "16.14.0-beta.17", "18": "18.4.0-beta.17"} {
		t.Run(major, func(t *testing.T) {
			w := newWorld(t, server(t, version))
			rewinds(t, w, "one")
			if got := w.sql("SHOW server_version"); !strings.HasPrefix(got, major+".") {
				t.Errorf("the server has version %s, want %s", got, major)
			}
			// Another major version is refused before anything is touched.
			w.forklift("db", "stop")
			w.use(server(t, new17))
			r := w.Exec(t, deadline, nil, "forklift", "db", "start")
			if r.Code != 9 || !strings.Contains(r.Stderr, major) || !strings.Contains(r.Stderr, "17") {
				t.Errorf("17 on the files of %s: %v", major, r)
			}
			w.use(server(t, version))
			if got := w.sql("SELECT count(*)::text FROM t"); got != "3" {
				t.Errorf("%s rows after the refusal, want 3", got)
			}
			w.forklift("teardown", "--yes")
		})
	}
}

// TestMinorUpgrade goes on with the next minor version on a branch, restores
// what the one before captured, and goes back.
func TestMinorUpgrade(t *testing.T) {
	w := newWorld(t, server(t, old17))
	rewinds(t, w, "old")
	w.forklift("db", "stop")
	w.use(server(t, new17))
	if got := w.sql("SHOW server_version"); !strings.HasPrefix(got, "17.10") {
		t.Errorf("the server has version %s, want 17.10", got)
	}
	w.forklift("restore", "old")
	if got := w.sql("SELECT string_agg(v, ',' ORDER BY v) FROM t"); got != "a,b" {
		t.Errorf("restored %s, want a,b", got)
	}
	w.sql("INSERT INTO t VALUES ('new')", "SELECT ''")
	w.forklift("capture", "new")
	w.forklift("db", "stop")
	w.use(server(t, old17))
	w.forklift("restore", "old")
	w.forklift("restore", "new")
	if got := w.sql("SELECT string_agg(v, ',' ORDER BY v) FROM t"); got != "a,b,new" {
		t.Errorf("restored %s, want a,b,new", got)
	}
	w.forklift("teardown", "--yes")
}

// rewinds captures two rows under a name, adds one, goes back and forth, and
// ends with three.
func rewinds(t *testing.T, w *world, name string) {
	t.Helper()
	w.sql("CREATE TABLE t (v text)", "INSERT INTO t VALUES ('a'), ('b')", "SELECT ''")
	w.forklift("capture", name)
	w.sql("INSERT INTO t VALUES ('c')", "SELECT ''")
	w.Write(t, "src/app.txt", "version 2\n")
	w.forklift("restore", name)
	if got := w.sql("SELECT string_agg(v, ',' ORDER BY v) FROM t"); got != "a,b" {
		t.Errorf("restored %s, want a,b", got)
	}
	w.forklift("undo")
	if got := w.sql("SELECT string_agg(v, ',' ORDER BY v) FROM t"); got != "a,b,c" {
		t.Errorf("after undo %s, want a,b,c", got)
	}
}
