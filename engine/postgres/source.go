package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"forklift/engine"
	"forklift/storage/fault"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// source is a running server elsewhere that a seed is made from.
type source struct {
	config *pgx.ConnConfig
	url    *url.URL
	name   string // host, port and database, for messages
	about  sourceFacts
}

// sourceFacts are what the server tells about itself.
type sourceFacts struct {
	Major      int
	Version    string
	Database   string   // that the URL leads to
	Bytes      int64    // of that database
	Superusers []string // that can log in
	Settings   [][2]string
	Preload    []string
	Spaces     []string // tablespaces
}

// openSource reads the URL. The password stays in it: no error tells it.
func openSource(secret engine.Secret) (*source, error) {
	const hint = "Give a URL such as postgres://user@host:5432/database; a password can also stand in PGPASSWORD or in ~/.pgpass."
	bad := func(err error) error {
		return &fault.Error{Op: "read URL", Kind: fault.Usage, Err: err, Hint: hint}
	}
	u, err := url.Parse(secret.Reveal())
	if err != nil {
		// The error of the parser quotes the text.
		return nil, bad(errors.New("it is not a URL"))
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, bad(errors.New("it does not begin with postgres:// or postgresql://"))
	}
	config, err := pgx.ParseConfig(secret.Reveal())
	if err != nil {
		var parse *pgconn.ParseConfigError
		if errors.As(err, &parse) {
			err = errors.New("its parts cannot be understood") // the error quotes the text, too
		}
		return nil, bad(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.ConnectTimeout = connectTimeout
	s := &source{config: config, url: u}
	s.name = fmt.Sprintf("%s:%d/%s", config.Host, config.Port, config.Database)
	if path.IsAbs(config.Host) {
		s.name = fmt.Sprintf("%s/.s.PGSQL.%d, database %s", config.Host, config.Port, config.Database)
	}
	return s, nil
}

// Fixed queries about a source. They read, in a transaction that cannot write.
const (
	sourceSQL = `SELECT current_setting('server_version_num')::int / 10000, current_setting('server_version'), current_database()::text,
       coalesce(pg_catalog.pg_database_size(current_database()), 0)`
	superusersSQL = `SELECT rolname::text FROM pg_catalog.pg_roles WHERE rolsuper AND rolcanlogin ORDER BY oid`
	spacesSQL     = `SELECT spcname::text FROM pg_catalog.pg_tablespace WHERE oid NOT IN (1663, 1664) ORDER BY oid`
	settingsSQL   = `SELECT name, setting FROM pg_catalog.pg_settings WHERE source NOT IN ('default', 'override', 'client', 'session', 'database', 'user', 'database user') ORDER BY name`
)

// keptSettings are those of a source's configuration that say what SQL means
// or that its data needs. The others say how its machine is used, or name
// files and commands there.
var keptSettings = map[string]bool{
	"DateStyle": true, "IntervalStyle": true, "TimeZone": true, "timezone_abbreviations": true, "array_nulls": true, "backslash_quote": true,
	"bytea_output": true, "default_text_search_config": true, "default_toast_compression": true, "default_transaction_isolation": true,
	"escape_string_warning": true, "extra_float_digits": true, "icu_validation_level": true, "lc_monetary": true, "lc_numeric": true,
	"lc_time": true, "max_locks_per_transaction": true, "max_prepared_transactions": true, "password_encryption": true,
	"quote_all_identifiers": true, "search_path": true, "standard_conforming_strings": true, "track_commit_timestamp": true,
	"transform_null_equals": true, "wal_level": true, "xmlbinary": true, "xmloption": true,
}

// ask connects and asks the server about itself.
func (s *source) ask(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	// Not a parameter of the session: poolers refuse those they do not know.
	if err := conn.exec(ctx, "BEGIN READ ONLY"); err != nil {
		return s.failed(err)
	}
	one := func(rows pgx.Rows) error {
		return rows.Scan(&s.about.Major, &s.about.Version, &s.about.Database, &s.about.Bytes)
	}
	if err := conn.rows(ctx, sourceSQL, one); err != nil {
		return s.failed(err)
	}
	text := func(list *[]string) func(pgx.Rows) error {
		return func(rows pgx.Rows) error {
			var v string
			err := rows.Scan(&v)
			*list = append(*list, v)
			return err
		}
	}
	if err := conn.rows(ctx, superusersSQL, text(&s.about.Superusers)); err != nil {
		return s.failed(err)
	}
	if err := conn.rows(ctx, spacesSQL, text(&s.about.Spaces)); err != nil {
		return s.failed(err)
	}
	return s.failed(conn.rows(ctx, settingsSQL, func(rows pgx.Rows) error {
		var name, value string
		err := rows.Scan(&name, &value)
		switch {
		case name == "shared_preload_libraries":
			s.about.Preload = splitLibraries(value)
		case keptSettings[name]:
			s.about.Settings = append(s.about.Settings, [2]string{name, value})
		}
		return err
	}))
}

// connect opens a session on the source.
func (s *source) connect(ctx context.Context) (*session, error) {
	config := s.config.Copy()
	config.RuntimeParams["application_name"] = applicationName
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, s.failed(err)
	}
	return &session{conn}, nil
}

// connectReplication opens a connection for a physical copy. refused says
// why the server does not permit one.
func (s *source) connectReplication(ctx context.Context) (conn *pgconn.PgConn, refused string, err error) {
	config := s.config.Copy()
	config.RuntimeParams["application_name"] = applicationName
	config.RuntimeParams["replication"] = "true"
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err = pgconn.ConnectConfig(ctx, &config.Config)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		return nil, pg.Message, nil
	case err != nil:
		return nil, "", s.failed(err)
	}
	return conn, "", nil
}

// failed tells where an error came from.
func (s *source) failed(err error) error {
	if err == nil {
		return nil
	}
	hint := "Check that the server runs and that the URL is right."
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		hint = "Check the role, its password and the database in the URL."
		err = pg // the driver's words around it tell less
	}
	var connect *pgconn.ConnectError
	if kind := sqlKind(err); errors.As(err, &connect) {
		return &fault.Error{Op: "read database", Path: s.name, Kind: kind, Err: unreachable{connect}, Hint: hint}
	}
	return &fault.Error{Op: "read database", Path: s.name, Kind: sqlKind(err), Err: err, Hint: hint}
}

// unreachable is a failed connection in one line: the driver lists every try
// in a line of its own, also the same one twice.
type unreachable struct{ *pgconn.ConnectError }

func (u unreachable) Error() string {
	var tries []string
	for line := range strings.Lines(u.ConnectError.Error()) {
		if try := strings.TrimSpace(line); !slices.Contains(tries, try) {
			tries = append(tries, try)
		}
	}
	if len(tries) > 1 {
		tries = tries[1:] // the first names the role and the database, which the path does
	}
	return strings.Join(tries, "; ")
}

// configuration is the text of the copy's own postgresql.conf.
func (s *source) configuration(preload []string) string {
	var b strings.Builder
	b.WriteString("# Written by Forklift when it copied " + strings.ReplaceAll(s.name, "\n", " ") + ".\n")
	b.WriteString("# The settings of the source that say what SQL means, and small buffers.\n")
	b.WriteString("shared_buffers = 32MB\nmax_wal_size = 256MB\nhuge_pages = off\n")
	for _, kv := range s.about.Settings {
		fmt.Fprintf(&b, "%s = %s\n", kv[0], quoteConf(kv[1]))
	}
	if len(preload) > 0 {
		fmt.Fprintf(&b, "shared_preload_libraries = %s\n", quoteConf(strings.Join(preload, ",")))
	}
	return b.String()
}
