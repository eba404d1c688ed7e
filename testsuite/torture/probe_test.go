package torture

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// probeEnv makes the test binary a probe: under `forklift run` it describes
// the database and ends.
const probeEnv = "TORTURE_PROBE"

// catalogue describes everything but rows.
const catalogue = `
SELECT 'role ' || rolname || ' ' || rolsuper FROM pg_roles WHERE rolname !~ '^pg_'
UNION ALL SELECT 'database ' || datname FROM pg_database
UNION ALL SELECT 'setting ' || setting FROM pg_file_settings WHERE name = 'work_mem'
UNION ALL SELECT 'relation ' || c.oid || ' ' || relname || ' ' || relkind::text || ' ' || relpersistence::text || ' ' || coalesce(string_agg(attname || ':' || atttypid::regtype, ',' ORDER BY attnum), '')
  FROM pg_class c LEFT JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
  WHERE relnamespace = 'public'::regnamespace GROUP BY c.oid
UNION ALL SELECT 'sequence ' || sequencename || ' ' || coalesce(last_value, 0) FROM pg_sequences
UNION ALL SELECT 'large object ' || oid || ' ' || md5(lo_get(oid)) FROM pg_largeobject_metadata
ORDER BY 1`

// probe describes the database that the environment names: two equal texts
// mean equal databases.
func probe() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	lines, err := column(ctx, conn, catalogue)
	if err != nil {
		return "", err
	}
	tables, err := column(ctx, conn, `SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`)
	if err != nil {
		return "", err
	}
	for _, table := range tables {
		rows, err := column(ctx, conn, fmt.Sprintf(`SELECT '%s ' || count(*) || ' ' || md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM %s t`, table, table))
		if err != nil {
			return "", err
		}
		lines = append(lines, rows...)
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// column reads one text column.
func column(ctx context.Context, conn *pgx.Conn, query string) ([]string, error) {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// runSQL runs a text of several statements; it is the other thing that the
// test binary does under `forklift run`.
func runSQL(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}
