package postgres

import (
	"context"

	"forklift/engine"

	"github.com/jackc/pgx/v5"
)

// Settle runs a CHECKPOINT: all that is dirty in memory is written out.
func (c *cluster) Settle(ctx context.Context) error {
	conn, err := c.connect(ctx, "")
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.exec(ctx, "CHECKPOINT")
}

// clientsSQL lists sessions of clients, replication included; those of ours
// are told by their name.
const clientsSQL = `
SELECT pid, coalesce(application_name, ''), coalesce(usename, ''), coalesce(datname, ''), coalesce(state, ''),
       coalesce(xact_start, backend_start), xact_start IS NOT NULL
FROM pg_catalog.pg_stat_activity
WHERE backend_type IN ('client backend', 'walsender') AND application_name IS DISTINCT FROM '` + applicationName + `'
ORDER BY pid`

// Clients lists the sessions of the running server that are not ours.
func (c *cluster) Clients(ctx context.Context) ([]engine.Client, error) {
	conn, err := c.connect(ctx, "")
	if err != nil {
		return nil, err
	}
	defer conn.close()
	var list []engine.Client
	err = conn.rows(ctx, clientsSQL, func(rows pgx.Rows) error {
		var cl engine.Client
		err := rows.Scan(&cl.PID, &cl.Application, &cl.User, &cl.Database, &cl.State, &cl.Since, &cl.Busy)
		cl.Since = cl.Since.UTC()
		list = append(list, cl)
		return err
	})
	return list, err
}
