package commands

import (
	"context"
	"errors"

	"forklift/engine"
	"forklift/storage/fault"
)

// SeedCreateRequest asks for a new seed.
type SeedCreateRequest struct {
	Name     string   `json:"name" arg:"NAME" help:"what to call it"`
	SQL      []string `json:"sql,omitempty" flag:"sql" value:"FILE" complete:"file" help:"a plain SQL file to load, as pg_dump writes it; may be repeated, loaded in order"`
	Database string   `json:"database,omitempty" flag:"database" value:"NAME" help:"the database that the files are loaded into; made if it is not there"`
	Dump     string   `json:"dump,omitempty" flag:"dump" value:"FILE" complete:"file" help:"a dump that pg_dump wrote, of any format, loaded after the SQL files; archives need pg_restore"`

	URL     engine.Secret `json:"url,omitempty" flag:"url" value:"URL" help:"copy the running server that this URL leads to: postgres://user@host:5432/database"`
	Method  string        `json:"method,omitempty" flag:"method" value:"METHOD" default:"auto" enum:"auto,copy,dump" help:"how to copy a server. copy: physically, all databases and roles; dump: one database by pg_dump; auto: copy if the server permits it"`
	Preload []string      `json:"preload,omitempty" flag:"preload" value:"LIBRARY" help:"a library that servers of the copy may load at start; may be repeated; without it they load none"`
}

// SeedResult describes a seed.
type SeedResult struct {
	engine.SeedInfo
}

var seedCreateVerb = NewVerb(Verb{
	Name: "seed create", Group: GroupStart,
	Short: "Make a starting database for new worktrees",
	Long: `Makes a seed: a database that worktrees start from. It is empty, loaded from
files, or a copy of a running server.

Files are plain SQL: COPY data and the commands \connect, \restrict and \unrestrict, as
pg_dump and psql write them, are understood; psql is not needed. --dump also takes the
archives of pg_dump -Fc, -Fd and -Ft, for which pg_restore has to be there.

With --url the server is copied physically, as pg_basebackup does: every database, role and
row, of the same major version as a PostgreSQL of this machine. The role in the URL must be
allowed to replicate. Where it is not, pg_dump copies that one database and the roles; the
result says which way was taken. Nothing that users of the source can see is changed; the
server does note the copy in its WAL, makes a checkpoint, and has a temporary replication slot
meanwhile. Its configuration files stay behind, but for settings that say what SQL means. A
password is better kept in PGPASSWORD or ~/.pgpass than in the URL, where other users of the
machine can see it in the list of processes.`,
	Examples: []Example{
		{"forklift seed create empty", "an empty one"},
		{"forklift seed create demo --sql schema.sql --sql data.sql", "from two files"},
		{"forklift seed create demo --dump shop.dump", "from an archive of pg_dump -Fc"},
		{`forklift seed create dev --url "$DATABASE_URL"`, "from the database that you develop with now"},
	},
}, SeedCreate)

// SeedCreate makes a seed in the store; it is durable when it returns nil,
// otherwise there is none.
func SeedCreate(ctx context.Context, env Env, req SeedCreateRequest) (result SeedResult, err error) {
	opt := engine.SeedOptions{
		Name: req.Name, SQL: abs(env, req.SQL), Database: req.Database,
		Source: engine.SourceServer{URL: req.URL, Method: req.Method, Preload: req.Preload},
	}
	if req.Dump != "" {
		opt.Dump = abs(env, []string{req.Dump})[0]
	}
	if req.URL == "" && (len(req.Preload) > 0 || req.Method != "" && req.Method != engine.MethodAuto) {
		return result, &fault.Error{Op: "seed create", Path: req.Name, Kind: fault.Usage, Err: errors.New("--method and --preload are about a server"),
			Hint: "Name the server with --url."}
	}
	info, err := env.Engine.SeedCreate(ctx, env.Dir, opt)
	if err == nil {
		result.SeedInfo = *info
	}
	return result, err
}
