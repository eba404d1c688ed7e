package psql

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

// recorder notes what it is told to do.
type recorder struct {
	did  []string
	fail map[string]error
}

func (r *recorder) Exec(_ context.Context, sql string) error {
	r.did = append(r.did, sql)
	return r.fail[sql]
}

func (r *recorder) CopyIn(_ context.Context, sql string, data io.Reader) error {
	text, err := io.ReadAll(data)
	r.did = append(r.did, sql+" "+string(text))
	return errors.Join(err, r.fail[sql])
}

func (r *recorder) Connect(_ context.Context, database, user string) error {
	r.did = append(r.did, "connect "+database+" as "+user)
	return nil
}

func (r *recorder) Parameter(name string) string {
	return map[string]string{"standard_conforming_strings": "on", "client_encoding": "UTF8"}[name]
}

func TestMeta(t *testing.T) {
	text := `\restrict abc
SELECT 1;
\unrestrict abc
\connect app
\c - alice
\connect -reuse-previous=on "dbname='we''ird \\'x' user=bob"
\connect 'two words'
\connect "dbname=plain"
\encoding latin1
\set ON_ERROR_STOP on
\echo 'not closed
\timing on
\q
SELECT 'not reached';
`
	text = strings.ReplaceAll(text, "we''ird \\\\'x", `we\'ird`)
	r := &recorder{}
	if err := Run(t.Context(), r, "f.sql", strings.NewReader(text), 1000); err != nil {
		t.Fatal(err)
	}
	want := []string{"SELECT 1;", "connect app as ", "connect  as alice", "connect we'ird as bob", "connect two words as ", "connect plain as ",
		"SET client_encoding = 'latin1'"}
	if d := cmp.Diff(want, r.did); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestRunErrorsNameFileAndLine(t *testing.T) {
	r := &recorder{fail: map[string]error{
		"SELECT\n bad;":      &pgconn.PgError{Message: "no column", Position: 9},
		"COPY t FROM stdin;": &pgconn.PgError{Message: "bad row", Where: `COPY t, line 2, column a: "x"`},
	}}
	for text, want := range map[string]string{
		"\n\\! rm -rf x":                           `f.sql:2: the command \! of psql is not known here`,
		"SELECT 1 \\gexec":                         `f.sql:1: the command \gexec of psql is not known here`,
		"\\set x `date`":                           `f.sql:1: \set: programs are not run`,
		"\\set name value":                         `f.sql:1: \set name: variables are not substituted; write the value into the file`,
		"\\connect db user host":                   `f.sql:1: \connect with a host or port: files are loaded into the worktree's own server`,
		"\\connect postgresql://h/db":              `f.sql:1: \connect with a URL: name only the database`,
		"\\connect 'x":                             `f.sql:1: \connect: a ' is not closed`,
		"\\restrict k\n\\connect x":                `f.sql:2: the command \connect stands where \restrict forbids commands`,
		"\\restrict k\n\\unrestrict other":         `f.sql:2: the command \unrestrict stands where \restrict forbids commands`,
		"\n-- c\nSELECT\n bad;":                    "f.sql:4: : no column (SQLSTATE )",
		"SELECT 1;\nCOPY t FROM stdin;\n1\nx\n\\.": "f.sql:4: : bad row (SQLSTATE )",
		"SELECT 1\n;\n\nSELECT 'x":                 "f.sql:4: the file ends in a string that begins in line 4",
	} {
		err := Run(t.Context(), r, "f.sql", strings.NewReader(text), 1000)
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}
