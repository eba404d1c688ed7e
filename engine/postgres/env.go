package postgres

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"forklift/engine"
	"forklift/storage/record"
)

// defaultRecord is the mark in a data directory that tells which database
// clients are sent to. It is part of the state: a branch made from a seed
// gets the name that the seed was loaded into.
type defaultRecord struct {
	Database string `json:"database"`
}

// The mark's place and format.
const (
	defaultName   = "forklift.json"
	defaultKind   = "postgres-default-database"
	defaultFormat = 1
)

// databaseName is the database that clients are sent to: from the settings,
// else from the mark in the data directory, else "app".
func (c *cluster) databaseName() string {
	if c.settings.Database != "" {
		return c.settings.Database
	}
	slots := []engine.Slot{engine.SlotA, engine.SlotB}
	if rec, err := c.readOwner(); err == nil && rec != nil && rec.Slot == engine.SlotB {
		slots[0], slots[1] = slots[1], slots[0] // the one that ran last
	}
	for _, slot := range slots {
		if name := c.markedDatabase(slot); name != "" {
			return name
		}
	}
	return defaultDatabase
}

// markedDatabase reads the mark of a slot, "" without one.
func (c *cluster) markedDatabase(slot engine.Slot) string {
	var rec defaultRecord
	err := record.Read(c.opt.FS, c.slotDir(slot)+"/"+defaultName, defaultKind, defaultFormat, &rec)
	if err != nil || checkDatabaseName(rec.Database) != nil {
		return ""
	}
	return rec.Database
}

// Misleading are libpq's variables that count more than PGHOST, or fill in
// what a URL leaves open, as variables to be unset: with them in the user's
// environment, psql would change another database than the worktree's.
func Misleading() []engine.EnvVar {
	return []engine.EnvVar{{Name: "PGHOSTADDR", Unset: true}, {Name: "PGSERVICE", Unset: true}}
}

// Env is the URL and libpq's variables. The socket's place is recorded, so
// that all of it is the same as long as the branch lives.
func (c *cluster) Env(ctx context.Context, connectionEnv string) ([]engine.EnvVar, error) {
	socket, err := c.socketDir(ctx)
	if err != nil {
		return nil, err
	}
	database := c.databaseName()
	if port, err := c.listens(); err != nil || port != 0 {
		return c.networkEnv(port, database, connectionEnv, err)
	}
	vars := []engine.EnvVar{
		{Name: "PGHOST", Value: socket},
		{Name: "PGPORT", Value: serverPort},
		{Name: "PGUSER", Value: superuser},
		{Name: "PGDATABASE", Value: database},
	}
	if connectionEnv != "" {
		vars = append([]engine.EnvVar{{Name: connectionEnv, Value: connectionURL(socket, database)}}, vars...)
	}
	return append(vars, Misleading()...), nil
}

// networkEnv is Env for a server that listens on loopback: for clients that
// know no sockets. It holds the password.
func (c *cluster) networkEnv(port int, database, connectionEnv string, err error) ([]engine.EnvVar, error) {
	if err != nil {
		return nil, err
	}
	password, err := c.password()
	if err != nil {
		return nil, err
	}
	number := strconv.Itoa(port)
	vars := []engine.EnvVar{
		{Name: "PGHOST", Value: loopback},
		{Name: "PGPORT", Value: number},
		{Name: "PGUSER", Value: superuser},
		{Name: "PGPASSWORD", Value: password, Secret: true},
		{Name: "PGDATABASE", Value: database},
	}
	if connectionEnv != "" {
		u := url.URL{Scheme: "postgresql", User: url.UserPassword(superuser, password), Host: loopback + ":" + number, Path: "/" + database, RawQuery: "sslmode=disable"}
		vars = append([]engine.EnvVar{{Name: connectionEnv, Value: u.String(), Secret: true}}, vars...)
	}
	return append(vars, Misleading()...), nil
}

// connectionURL is the one form that libpq, psycopg, pgx and node-pg all
// take for a socket. The socket admits its owner only: there is no secret in
// it.
func connectionURL(socket, database string) string {
	return "postgresql://" + superuser + "@/" + url.PathEscape(database) + "?host=" + escapeQuery(socket)
}

// escapeQuery escapes a value in a query. Slashes stay, as in everybody's
// examples; a space is not a plus, which libpq takes for one.
func escapeQuery(s string) string {
	return strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(s))
}
