package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"forklift/engine/postgres/internal/psql"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/progress"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// loadConf is what the server is set to while files are loaded: with little
// WAL a bulk load would checkpoint all the time. Durability stays as it is.
const loadConf = `# Written by Forklift while it loads files; removed afterwards.
max_wal_size = 1GB
`

// Load runs plain SQL files in order, each in a session of its own that
// begins in database. The first error ends it and names file and line; what
// was loaded before it stays. At the end everything is vacuumed and analyzed,
// so that the first reader does not write.
func (c *cluster) Load(ctx context.Context, files []string, database string) (err error) {
	s, err := c.see()
	if err != nil {
		return err
	}
	if !s.found {
		return &fault.Error{Op: "load files", Path: c.branch.Dir, Err: errors.New("the server does not run")}
	}
	if database == "" {
		database = c.databaseName()
	}
	if err := checkDatabaseName(database); err != nil {
		return &fault.Error{Op: "load files", Kind: fault.Usage, Err: err, Hint: "Choose another name for --database."}
	}
	if err := c.ensureDatabase(ctx, database); err != nil {
		return err
	}
	if err := c.mark(s.slot, database); err != nil {
		return err
	}
	if err := durable.WriteFile(c.opt.FS, c.runFile(loadName), []byte(loadConf), 0o600); err != nil {
		return &fault.Error{Op: "write load settings", Path: c.runFile(loadName), Err: err}
	}
	defer func() {
		// Also when the load was interrupted.
		done := context.WithoutCancel(ctx)
		err = errors.Join(err, c.dropLoadConfig(), c.reload(done))
	}()
	if err := c.giveRunDir(ctx); err != nil {
		return err
	}
	if err := c.reload(ctx); err != nil {
		return err
	}
	for i, name := range files {
		progress.Report(ctx, progress.Event{Phase: "load " + name, DoneFiles: i, TotalFiles: len(files)})
		if err := c.loadFile(ctx, name, database); err != nil {
			return err
		}
	}
	return c.vacuumAll(ctx)
}

// reload makes the server read its configuration again.
func (c *cluster) reload(ctx context.Context) error {
	conn, err := c.connect(ctx, "")
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.exec(ctx, "SELECT pg_catalog.pg_reload_conf()")
}

// ensureDatabase makes a database unless it exists.
func (c *cluster) ensureDatabase(ctx context.Context, name string) error {
	conn, err := c.connect(ctx, name)
	if err == nil {
		conn.close()
		return nil
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != codeNoDatabase {
		return err
	}
	return c.createDatabase(ctx, name)
}

// vacuumAll leaves every database without work for its first reader: rows
// frozen, hint bits and visibility maps set, statistics there.
func (c *cluster) vacuumAll(ctx context.Context) error {
	names, err := c.databases(ctx)
	if err != nil {
		return err
	}
	for i, name := range names {
		progress.Report(ctx, progress.Event{Phase: "vacuum " + name, DoneFiles: i, TotalFiles: len(names)})
		conn, err := c.connect(ctx, name)
		if err != nil {
			return err
		}
		_, err = conn.Conn.Exec(ctx, "VACUUM (FREEZE, ANALYZE)") // as long as it takes
		conn.close()
		if err != nil {
			return &fault.Error{Op: "vacuum", Path: name, Kind: sqlKind(err), Err: err}
		}
	}
	return nil
}

// databases lists those that can be connected to, templates included.
func (c *cluster) databases(ctx context.Context) ([]string, error) {
	conn, err := c.connect(ctx, "")
	if err != nil {
		return nil, err
	}
	defer conn.close()
	var names []string
	err = conn.rows(ctx, "SELECT datname FROM pg_catalog.pg_database WHERE datallowconn ORDER BY oid", func(rows pgx.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, err
}

// loadFile runs one file.
func (c *cluster) loadFile(ctx context.Context, name, database string) error {
	f, err := os.Open(name)
	if err != nil {
		return &fault.Error{Op: "load", Path: name, Kind: openKind(err), Err: err, Hint: "Check the name of the file."}
	}
	defer f.Close()
	in := io.Reader(f)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		in = &counted{in: f, ctx: ctx, event: progress.Event{Phase: "load " + name, TotalBytes: info.Size()}}
	}
	t := &loadTarget{c: c, database: database, user: superuser}
	if err := t.open(ctx); err != nil {
		return err
	}
	defer t.close()
	err = psql.Run(ctx, t, name, in, maxStatementBytes)
	var at *psql.Error
	if errors.As(err, &at) {
		kind := sqlKind(err)
		if ctx.Err() != nil {
			kind = fault.Canceled
		}
		return &fault.Error{Op: "load", Path: fmt.Sprintf("%s:%d", at.File, at.Line), Kind: kind, Err: at.Err, Hint: loadHint(at.Err)}
	}
	return err
}

func openKind(err error) fault.Kind {
	if errors.Is(err, os.ErrNotExist) {
		return fault.NotFound
	}
	return fault.Failed
}

// loadHint says what to do about the usual errors.
func loadHint(err error) string {
	var pg *pgconn.PgError
	switch {
	case !errors.As(err, &pg):
		return ""
	case strings.Contains(pg.Message, "is not available") && strings.HasPrefix(pg.Message, "extension "):
		return "Install that extension for this PostgreSQL, or use another one; `forklift postgres list` shows which have it."
	case pg.Hint != "":
		return pg.Hint
	}
	return ""
}

// counted reports how much of a file was read.
type counted struct {
	in    io.Reader
	ctx   context.Context
	event progress.Event
}

// Read reads and reports.
func (r *counted) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.event.DoneBytes += int64(n)
	progress.Report(r.ctx, r.event)
	return n, err
}

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
