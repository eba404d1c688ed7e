package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"forklift/engine"
	"forklift/storage/fault"

	"github.com/jackc/pgx/v5"
)

// tableMap is the JSON of Observation.Tables: what the files of relations are
// called, so that a changed file can be named in the user's words.
type tableMap struct {
	Format    int           `json:"format"`
	Databases []databaseMap `json:"databases"`
}

// databaseMap is one database of a tableMap.
type databaseMap struct {
	OID  uint32            `json:"oid"` // base/<oid> is its directory
	Name string            `json:"name"`
	Rels map[string]string `json:"rels"` // file name to schema.relation
	// Owners leads from the files of indexes and TOAST tables to the table
	// that has them. Maps of older versions lack it.
	Owners map[string]string `json:"owners,omitempty"`
	// Definitions has a hash for "KIND NAME", such as "view public.totals". Nil:
	// not known, as in maps of older versions.
	Definitions map[string]string `json:"definitions"`
}

// counterSet is the JSON of Observation.Counters.
type counterSet struct {
	Format int            `json:"format"`
	Tables []tableCounter `json:"tables"`
}

// tableCounter is what the cumulative statistics say of one table.
type tableCounter struct {
	Database string `json:"database"`
	OID      uint32 `json:"oid"`
	Table    string `json:"table"` // schema.table
	Inserted int64  `json:"ins"`
	Updated  int64  `json:"upd"`
	Deleted  int64  `json:"del"`
	Live     int64  `json:"live"` // rows, as the statistics estimate them
}

// observeFormat is the format of both.
const observeFormat = 1

// relsSQL gives the files of user relations. Mapped ones are system tables.
const relsSQL = `
SELECT pg_catalog.pg_relation_filenode(c.oid)::text, n.nspname || '.' || c.relname, coalesce(tn.nspname || '.' || t.relname, '')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
LEFT JOIN pg_catalog.pg_class o ON o.reltoastrelid = coalesce(i.indrelid, c.oid)
LEFT JOIN pg_catalog.pg_class t ON t.oid = coalesce(o.oid, i.indrelid)
LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
WHERE c.relfilenode <> 0 AND c.oid >= 16384 AND c.relpersistence <> 't'
ORDER BY c.oid LIMIT %d`

const countersSQL = `
SELECT relid, schemaname || '.' || relname, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup
FROM pg_catalog.pg_stat_user_tables WHERE schemaname !~ '^pg_temp_' ORDER BY relid LIMIT %d`

// Observe asks every database about its tables. A session's own work shows
// up in the counters a second after it is done, or when the session ends.
func (c *cluster) Observe(ctx context.Context) (engine.Observation, error) {
	owner, err := c.readOwner()
	if err != nil {
		return engine.Observation{}, err
	}
	tables := tableMap{Format: observeFormat}
	counters := counterSet{Format: observeFormat, Tables: []tableCounter{}}
	facts, err := c.observeAll(ctx, func(conn *session, d databaseFacts) error {
		m := databaseMap{OID: d.oid, Name: d.Name, Rels: map[string]string{}, Owners: map[string]string{}}
		err := observeDatabase(ctx, conn, &m, &counters)
		if err == nil {
			err = observeDefinitions(ctx, conn, &m)
		}
		tables.Databases = append(tables.Databases, m)
		return err
	})
	if err == nil {
		err = c.remember(owner, facts)
	}
	if err != nil {
		return engine.Observation{}, err
	}
	return encodeObservation(tables, counters)
}

// Count asks every database how many rows were changed, and no more.
func (c *cluster) Count(ctx context.Context) (json.RawMessage, error) {
	counters := counterSet{Format: observeFormat, Tables: []tableCounter{}}
	_, err := c.observeAll(ctx, func(conn *session, d databaseFacts) error {
		return countRows(ctx, conn, d.Name, &counters)
	})
	if err != nil {
		return nil, err
	}
	o, err := encodeObservation(tableMap{}, counters)
	return o.Counters, err
}

// observeAll asks the server what only a running one tells, and calls each on
// a session of every database that can be connected to. A session costs 5 ms,
// so there is only one for each.
func (c *cluster) observeAll(ctx context.Context, each func(*session, databaseFacts) error) (*observed, error) {
	conn, err := c.connect(ctx, "")
	if err != nil {
		return nil, err
	}
	defer conn.close()
	o, err := observeCluster(ctx, conn)
	if err != nil {
		return nil, err
	}
	for i := range o.Databases {
		if err := c.observeOne(ctx, conn, &o.Databases[i], each); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// observeOne asks one database; conn serves if it is connected to that one.
func (c *cluster) observeOne(ctx context.Context, conn *session, d *databaseFacts, each func(*session, databaseFacts) error) error {
	if d.Name != conn.Config().Database {
		var err error
		if conn, err = c.connect(ctx, d.Name); err != nil {
			return err
		}
		defer conn.close()
	}
	if err := observeExtensions(ctx, conn, d); err != nil {
		return err
	}
	return each(conn, *d)
}

// observeDatabase asks one database.
func observeDatabase(ctx context.Context, conn *session, d *databaseMap, counters *counterSet) error {
	err := conn.rows(ctx, fmt.Sprintf(relsSQL, maxTables), func(rows pgx.Rows) error {
		var file, name, owner string
		err := rows.Scan(&file, &name, &owner)
		d.Rels[file] = name
		if owner != "" {
			d.Owners[file] = owner
		}
		return err
	})
	if err != nil {
		return err
	}
	return countRows(ctx, conn, d.Name, counters)
}

// countRows asks one database for its counters.
func countRows(ctx context.Context, conn *session, database string, counters *counterSet) error {
	return conn.rows(ctx, fmt.Sprintf(countersSQL, maxTables), func(rows pgx.Rows) error {
		t := tableCounter{Database: database}
		err := rows.Scan(&t.OID, &t.Table, &t.Inserted, &t.Updated, &t.Deleted, &t.Live)
		counters.Tables = append(counters.Tables, t)
		return err
	})
}

func encodeObservation(tables tableMap, counters counterSet) (engine.Observation, error) {
	t, err := json.Marshal(tables)
	if err != nil {
		return engine.Observation{}, fmt.Errorf("encode tables: %w", err)
	}
	n, err := json.Marshal(counters)
	if err != nil {
		return engine.Observation{}, fmt.Errorf("encode counters: %w", err)
	}
	return engine.Observation{Tables: t, Counters: n}, nil
}

// Changes tells how many rows changed per table between two observations. A
// table that is gone had its live rows deleted. Counters that went down were
// reset (a crash, pg_stat_reset): then nothing is known, which is an error.
// TRUNCATE is not counted by PostgreSQL.
func (c *cluster) Changes(before, after json.RawMessage) ([]engine.TableChange, error) {
	old, err := decodeCounters(before)
	if err != nil {
		return nil, err
	}
	now, err := decodeCounters(after)
	if err != nil {
		return nil, err
	}
	type key struct {
		database string
		oid      uint32
	}
	was := map[key]tableCounter{}
	for _, t := range old.Tables {
		was[key{t.Database, t.OID}] = t
	}
	var list []engine.TableChange
	add := func(t tableCounter, inserted, updated, deleted int64) {
		if inserted|updated|deleted != 0 {
			list = append(list, engine.TableChange{Database: t.Database, Table: t.Table, Inserted: inserted, Updated: updated, Deleted: deleted})
		}
	}
	for _, t := range now.Tables {
		k := key{t.Database, t.OID}
		o := was[k]
		delete(was, k)
		if t.Inserted < o.Inserted || t.Updated < o.Updated || t.Deleted < o.Deleted {
			return nil, &fault.Error{Op: "compare counters", Path: t.Table, Err: fmt.Errorf("they were reset since")}
		}
		add(t, t.Inserted-o.Inserted, t.Updated-o.Updated, t.Deleted-o.Deleted)
	}
	for _, t := range old.Tables {
		if _, gone := was[key{t.Database, t.OID}]; gone {
			add(t, 0, 0, t.Live)
		}
	}
	return list, nil
}

func decodeCounters(data json.RawMessage) (counterSet, error) {
	var set counterSet
	if err := json.Unmarshal(data, &set); err != nil || set.Format != observeFormat {
		return counterSet{}, &fault.Error{Op: "compare counters", Kind: fault.Unsupported, Err: fmt.Errorf("format %d is unknown (%w)", set.Format, err)}
	}
	return set, nil
}
