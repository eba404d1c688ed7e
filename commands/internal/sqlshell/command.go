package sqlshell

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// help is what \? prints.
const help = `  SQL ends with a semicolon and may have several lines.
  \d          list tables, views and sequences
  \d NAME     describe a table or view
  \l          list databases
  \?          this help
  \q          quit
`

const listRelations = `SELECT n.nspname AS "Schema", c.relname AS "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view'
    WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' END AS "Type",
  pg_catalog.pg_get_userbyid(c.relowner) AS "Owner"
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r','p','v','m','S','f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1, 2`

const listDatabases = `SELECT d.datname AS "Name", pg_catalog.pg_get_userbyid(d.datdba) AS "Owner",
  pg_catalog.pg_encoding_to_char(d.encoding) AS "Encoding",
  pg_catalog.pg_size_pretty(pg_catalog.pg_database_size(d.oid)) AS "Size"
FROM pg_catalog.pg_database d ORDER BY 1`

const describeColumns = `SELECT a.attname AS "Column", pg_catalog.format_type(a.atttypid, a.atttypmod) AS "Type",
  CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS "Nullable",
  COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') AS "Default"
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %[1]s::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

const describeRest = `SELECT i.relname AS "Index or constraint", pg_catalog.pg_get_indexdef(i.oid) AS "Definition"
FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = %[1]s::pg_catalog.regclass
UNION ALL SELECT conname, pg_catalog.pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint
WHERE conrelid = %[1]s::pg_catalog.regclass AND contype IN ('c', 'f') ORDER BY 1`

// command runs a line that begins with a backslash.
func (s *Shell) command(ctx context.Context, line string) error {
	fields := strings.Fields(strings.TrimRight(line, "; "))
	switch {
	case len(fields) == 1 && fields[0] == `\q`:
		return errQuit
	case len(fields) == 1 && fields[0] == `\?`:
		_, err := fmt.Fprint(s.Out, help)
		return err
	case len(fields) == 1 && fields[0] == `\l`:
		return s.ask(ctx, listDatabases)
	case len(fields) == 1 && fields[0] == `\d`:
		return s.ask(ctx, listRelations)
	case len(fields) == 2 && fields[0] == `\d`:
		name := "'" + strings.ReplaceAll(fields[1], "'", "''") + "'"
		// Two statements in one text: the second is not run when there is
		// no such table.
		return s.ask(ctx, fmt.Sprintf(describeColumns+"; "+describeRest, name))
	}
	s.failed = true
	fmt.Fprintf(s.Err, "invalid command %s; try \\? for help\n", printable(fields[0]))
	return nil
}

// ask runs a query of our own: where in it an error is says nothing.
func (s *Shell) ask(ctx context.Context, query string) error {
	err := s.exec(ctx, query)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		s.failed = true
		s.report(pgErr, "")
		return nil
	}
	return err
}
