package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
func (c *cluster) Load(ctx context.Context, files []string, database string) error {
	return c.loading(ctx, database, func(database string) error { return c.loadFiles(ctx, files, database) })
}

// loadFiles runs plain SQL files in order.
func (c *cluster) loadFiles(ctx context.Context, files []string, database string) error {
	for i, name := range files {
		progress.Report(ctx, progress.Event{Phase: "load " + name, DoneFiles: i, TotalFiles: len(files)})
		if err := c.loadFile(ctx, name, database); err != nil {
			return err
		}
	}
	return nil
}

// loading makes the database that load fills ("" is the default one), gives
// the server the settings of a load meanwhile, and vacuums in the end.
func (c *cluster) loading(ctx context.Context, database string, load func(database string) error) (err error) {
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
	if err := load(database); err != nil {
		return err
	}
	if err := c.setPassword(ctx); err != nil { // a dump of everything says another one
		return err
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
	return c.loadFrom(ctx, name, in, database)
}

// loadFrom runs the SQL of a reader, which is called name in errors.
func (c *cluster) loadFrom(ctx context.Context, name string, in io.Reader, database string) error {
	t := &loadTarget{c: c, database: database, user: superuser}
	if err := t.open(ctx); err != nil {
		return err
	}
	defer t.close()
	err := psql.Run(ctx, t, name, in, maxStatementBytes)
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
	case pg.Code == codeNoObject && strings.HasPrefix(pg.Message, "role "):
		return "Make that role in a file that --sql names before, or dump with --no-owner and --no-privileges."
	case pg.Hint != "":
		return pg.Hint
	}
	return "Correct that statement and try again."
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
