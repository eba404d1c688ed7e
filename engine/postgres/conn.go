package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"forklift/storage/fault"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// applicationName is what our own sessions are called, so that they are not
// listed as clients.
const applicationName = "forklift"

// Codes of PostgreSQL's errors (its Appendix A).
const (
	codeNoDatabase     = "3D000" // invalid_catalog_name
	codeDuplicateDB    = "42P04"
	codeDuplicate      = "42710" // duplicate_object: a role
	codeNoObject       = "42704" // undefined_object: a role
	codeInUse          = "55006" // object_in_use: a database or role of this session
	codeCannotConnect  = "57P03" // starting up or shutting down
	codeDiskFull       = "53100"
	codeNotAllowedConn = "55000" // object_not_in_prerequisite_state: datallowconn is off
)

// session is a connection of ours to the running server.
type session struct{ *pgx.Conn }

// connect opens a session on a database; "" is the default one, or any that
// can be connected to when that does not exist. What roles and databases set
// for their sessions, and login triggers, do not apply to it.
func (c *cluster) connect(ctx context.Context, database string) (*session, error) {
	names := []string{database}
	if database == "" {
		names = []string{c.databaseName(), "postgres", "template1"}
	}
	params := map[string]string{
		"application_name":              applicationName,
		"client_encoding":               "UTF8",
		"search_path":                   "pg_catalog",
		"statement_timeout":             "0",
		"lock_timeout":                  "30s",
		"idle_session_timeout":          "0",
		"default_transaction_read_only": "off",
		"row_security":                  "off",
		"datestyle":                     "ISO",
		"timezone":                      "UTC",
		// A cluster from elsewhere may name libraries for every session.
		"session_preload_libraries": "",
		"local_preload_libraries":   "",
	}
	if c.since17() {
		params["event_triggers"], params["transaction_timeout"] = "off", "0"
	}
	for i, name := range names {
		conn, err := c.dial(ctx, name, c.superuser(), params)
		var pg *pgconn.PgError
		if i+1 < len(names) && errors.As(err, &pg) && (pg.Code == codeNoDatabase || pg.Code == codeNotAllowedConn) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &session{conn}, nil
	}
	panic("unreachable: the last name is not skipped")
}

// dial opens a connection. Nothing of the environment (PGOPTIONS, PGSERVICE,
// PGSSLMODE, ...) has a say in it.
func (c *cluster) dial(ctx context.Context, database, user string, params map[string]string) (*pgx.Conn, error) {
	at, err := c.address(ctx)
	if err != nil {
		return nil, err
	}
	settings := [][2]string{
		{"service", "forklift"}, {"servicefile", c.runFile(serviceName)}, // empty; an unset PGSERVICE cannot be asked for
		{"host", at.Host}, {"port", at.Port}, {"user", user}, {"database", database}, {"password", at.Password.Reveal()},
		{"sslmode", "disable"}, {"sslcertmode", "disable"}, {"channel_binding", "disable"},
		{"target_session_attrs", "any"}, {"connect_timeout", fmt.Sprint(int(connectTimeout / time.Second))},
		{"min_protocol_version", "3.0"}, {"max_protocol_version", "3.0"},
	}
	var text strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&text, "%s='%s' ", s[0], strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s[1]))
	}
	config, err := pgx.ParseConfig(text.String())
	if err != nil {
		return nil, &fault.Error{Op: "connect to database", Path: database, Err: err}
	}
	config.RuntimeParams = params
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, &fault.Error{Op: "connect to database", Path: database, Kind: sqlKind(err), Err: err}
	}
	return conn, nil
}

// address is where the server listens. A server of our own is reached by its
// socket, which asks for no password.
func (c *cluster) address(ctx context.Context) (Server, error) {
	if c.hosted != nil {
		if _, err := c.opt.FS.Lstat(c.runFile(serviceName)); errors.Is(err, fs.ErrNotExist) {
			if err := c.writeOwn(serviceName, emptyService); err != nil {
				return Server{}, err
			}
		}
		return c.hosted.Server()
	}
	socket, err := c.socketDir(ctx)
	if err != nil {
		return Server{}, err
	}
	port, err := c.port()
	return Server{Host: socket, Port: port}, err
}

// superuser is the role of our own sessions.
func (c *cluster) superuser() string {
	if c.hosted != nil {
		return c.hosted.User
	}
	return superuser
}

// since17 reports a server that knows the settings of version 17.
func (c *cluster) since17() bool {
	if c.hosted != nil {
		return c.hostedMajor() >= 17
	}
	inst := c.running()
	return inst == nil || !strings.HasPrefix(inst.Version, "16")
}

// close ends the session; the server may be gone already.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.Conn.Close(ctx)
}

// exec runs statements without a result that matters.
func (s *session) exec(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if _, err := s.Conn.Exec(ctx, sql); err != nil {
		return &fault.Error{Op: "run SQL", Path: firstWords(sql), Kind: sqlKind(err), Err: err}
	}
	return nil
}

// rows runs a query and calls scan for each row.
func (s *session) rows(ctx context.Context, sql string, scan func(pgx.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := s.Conn.Query(ctx, sql)
	if err == nil {
		for err == nil && rows.Next() {
			err = scan(rows)
		}
		rows.Close()
		if err == nil {
			err = rows.Err()
		}
	}
	if err != nil {
		return &fault.Error{Op: "run SQL", Path: firstWords(sql), Kind: sqlKind(err), Err: err}
	}
	return nil
}

// sqlKind sorts the errors that a front treats in a way of its own.
func sqlKind(err error) fault.Kind {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, context.Canceled):
		return fault.Canceled
	case errors.As(err, &pg) && pg.Code == codeDiskFull:
		return fault.NoSpace
	}
	return fault.KindOf(err)
}

// firstWords shortens a statement for an error.
func firstWords(sql string) string {
	words := strings.Fields(sql)
	if len(words) > 3 {
		return strings.Join(words[:3], " ") + " ..."
	}
	return strings.Join(words, " ")
}

// quoteName quotes an SQL identifier.
func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }
