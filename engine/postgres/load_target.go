package postgres

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// loadTarget is the session that a file is run in.
type loadTarget struct {
	c              *cluster
	database, user string
	conn           *pgx.Conn
}

// open connects as a program of the user would, with our name.
func (t *loadTarget) open(ctx context.Context) error {
	conn, err := t.c.dial(ctx, t.database, t.user, map[string]string{"application_name": applicationName, "client_encoding": "UTF8"})
	t.conn = conn
	return err
}

func (t *loadTarget) close() {
	if t.conn != nil {
		(&session{t.conn}).close()
	}
	t.conn = nil
}

// Connect goes on in another session.
func (t *loadTarget) Connect(ctx context.Context, database, user string) error {
	t.close()
	if database != "" {
		t.database = database
	}
	if user != "" {
		t.user = user
	}
	return t.open(ctx)
}

// Parameter is what the server reported last.
func (t *loadTarget) Parameter(name string) string { return t.conn.PgConn().ParameterStatus(name) }

// CopyIn streams data into a table.
func (t *loadTarget) CopyIn(ctx context.Context, sql string, data io.Reader) error {
	_, err := t.conn.PgConn().CopyFrom(ctx, data, sql)
	return err
}

// Exec runs a statement. What dumps of a whole cluster say about things that
// every cluster has already is not an error.
func (t *loadTarget) Exec(ctx context.Context, sql string) error {
	err := t.run(ctx, sql)
	var pg *pgconn.PgError
	switch {
	case err == nil || !errors.As(err, &pg):
		return err
	case pg.Code == codeDuplicate && t.makesOwnRole(sql):
		return nil // ALTER ROLE follows
	case pg.Code == codeDuplicateDB:
		return t.remakeDatabase(ctx, sql, err)
	case pg.Code == codeInUse && namedBy(dropRole, sql) == superuser:
		return nil // pg_dumpall --clean drops even that
	case pg.Code == codeInUse && namedBy(dropDatabase, sql) == t.database:
		// psql would have been started on another database than that one.
		if err := t.Connect(ctx, "postgres", ""); err != nil {
			return err
		}
		return t.run(ctx, sql)
	}
	return err
}

// run runs a statement and passes over its rows.
func (t *loadTarget) run(ctx context.Context, sql string) error {
	results := t.conn.PgConn().Exec(ctx, sql)
	for results.NextResult() {
		if _, err := results.ResultReader().Close(); err != nil {
			_ = results.Close()
			return err
		}
	}
	return results.Close()
}

// Statements at whose start a name stands.
var (
	createRole     = regexp.MustCompile(`(?is)^\s*CREATE\s+(?:ROLE|USER)\s+("(?:[^"]|"")+"|[^\s;"]+)`)
	createDatabase = regexp.MustCompile(`(?is)^\s*CREATE\s+DATABASE\s+("(?:[^"]|"")+"|[^\s;"]+)`)
	dropRole       = regexp.MustCompile(`(?is)^\s*DROP\s+ROLE\s+(?:IF\s+EXISTS\s+)?("(?:[^"]|"")+"|[^\s;"]+)`)
	dropDatabase   = regexp.MustCompile(`(?is)^\s*DROP\s+DATABASE\s+(?:IF\s+EXISTS\s+)?("(?:[^"]|"")+"|[^\s;"]+)`)
)

// namedBy gives the name that a statement makes, as the server sees it.
func namedBy(statement *regexp.Regexp, sql string) string {
	m := statement.FindStringSubmatch(sql)
	if m == nil {
		return ""
	}
	if quoted, ok := strings.CutPrefix(m[1], `"`); ok {
		return strings.ReplaceAll(strings.TrimSuffix(quoted, `"`), `""`, `"`)
	}
	return strings.ToLower(m[1])
}

// makesOwnRole reports CREATE ROLE for the superuser that every cluster of
// ours begins with, which pg_dumpall writes too.
func (t *loadTarget) makesOwnRole(sql string) bool { return namedBy(createRole, sql) == superuser }

// emptySQL counts what users made in a database.
const emptySQL = `
SELECT (SELECT count(*) FROM pg_catalog.pg_class WHERE oid >= 16384) + (SELECT count(*) FROM pg_catalog.pg_proc WHERE oid >= 16384)
     + (SELECT count(*) FROM pg_catalog.pg_namespace WHERE oid >= 16384)`

// remakeDatabase makes a database that exists as the file wants it, provided
// that the one that is there is empty: the default database of a new cluster.
func (t *loadTarget) remakeDatabase(ctx context.Context, sql string, failed error) error {
	name := namedBy(createDatabase, sql)
	if name == "" || name == "postgres" || name == "template1" {
		return nil
	}
	conn, err := t.c.connect(ctx, name)
	if err != nil {
		return errors.Join(failed, err)
	}
	var objects int
	err = conn.rows(ctx, emptySQL, func(rows pgx.Rows) error { return rows.Scan(&objects) })
	conn.close()
	if err != nil || objects > 0 {
		return failed
	}
	if t.database == name {
		if err := t.Connect(ctx, "postgres", ""); err != nil {
			return err
		}
	}
	if err := t.run(ctx, "DROP DATABASE "+quoteName(name)); err != nil {
		return err
	}
	return t.run(ctx, sql)
}
