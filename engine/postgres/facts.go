package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"forklift/engine"
	"forklift/engine/postgres/internal/controlfile"
	"forklift/engine/postgres/internal/wal"
	"forklift/storage/record"

	"github.com/jackc/pgx/v5"
)

// facts is the JSON that a pair keeps about a cluster: what must be the same
// where it is started, and what is worth knowing.
type facts struct {
	Format         int    `json:"format"`
	Major          int    `json:"major"`
	Version        string `json:"version,omitempty"` // of the server that ran last, such as "17.12"
	ControlVersion uint32 `json:"control_version"`
	CatalogVersion uint32 `json:"catalog_version"`
	Architecture   string `json:"architecture"` // as Go names it
	ByteOrder      string `json:"byte_order"`
	MaxAlign       uint32 `json:"max_align"`
	BlockBytes     uint32 `json:"block_bytes"`
	SegmentPages   uint32 `json:"segment_pages"`
	WALPageBytes   uint32 `json:"wal_page_bytes"`
	WALSegBytes    uint32 `json:"wal_segment_bytes"`
	NameBytes      uint32 `json:"name_bytes"`
	IndexKeys      uint32 `json:"index_keys"`
	SystemID       string `json:"system_id"`
	Checksums      bool   `json:"checksums"`
	State          string `json:"state"`
	CheckpointLSN  string `json:"checkpoint_lsn"`
	Timeline       uint32 `json:"timeline"`
	NextXID        uint64 `json:"next_xid"`

	// Still lets a server that was started on this tell that nothing has
	// happened since; absent where it could not.
	Still *still `json:"still,omitempty"`

	// Observed is what only a running server tells; absent when none was
	// asked since the files became what they are.
	Observed *observed `json:"observed,omitempty"`
}

// observed is what a running server tells about a cluster.
type observed struct {
	Databases []databaseFacts `json:"databases"`
	// Libraries are those that the settings load at start.
	Libraries []string `json:"libraries,omitempty"`
}

// databaseFacts describes one database.
type databaseFacts struct {
	Name       string            `json:"name"`
	Encoding   string            `json:"encoding"`
	Provider   string            `json:"provider"` // builtin, libc or icu
	Locale     string            `json:"locale"`
	Collation  string            `json:"collation_version,omitempty"` // with which it was made, "" where the provider has none
	Actual     string            `json:"collation_actual,omitempty"`  // that its server had
	Extensions map[string]string `json:"extensions"`                  // name to version
	oid        uint32
}

const factsFormat = 1

// observedRecord keeps the last observation of a slot between processes.
type observedRecord struct {
	Launch     string   `json:"launch"`     // of the server that was asked
	Bin        string   `json:"bin"`        // its programs
	Checkpoint uint64   `json:"checkpoint"` // its last one then
	Observed   observed `json:"observed"`
}

// The record's format; there is one per slot.
const (
	observedKind   = "postgres-observed"
	observedFormat = 1
)

func (c *cluster) observedFile(slot engine.Slot) string {
	return c.runFile("observed-" + string(slot) + ".json")
}

// databaseFactsSQL works on 17 and later; 15 and 16 call a column otherwise. A
// connection limit of -2 is a database whose DROP was interrupted: nobody can
// connect to it.
const databaseFactsSQL = `
SELECT oid, datname, pg_catalog.pg_encoding_to_char(encoding),
       CASE datlocprovider WHEN 'b' THEN 'builtin' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' ELSE datlocprovider::text END,
       coalesce(datlocale, datcollate), coalesce(datcollversion, ''), coalesce(pg_catalog.pg_database_collation_actual_version(oid), '')
FROM pg_catalog.pg_database WHERE datallowconn AND datconnlimit <> -2 AND NOT datistemplate ORDER BY datname`

// observeCluster asks what is the same in every session.
func observeCluster(ctx context.Context, conn *session) (*observed, error) {
	o := &observed{}
	query := databaseFactsSQL
	if version := conn.PgConn().ParameterStatus("server_version"); strings.HasPrefix(version, "15") || strings.HasPrefix(version, "16") {
		query = strings.ReplaceAll(query, "datlocale", "daticulocale")
	}
	err := conn.rows(ctx, query, func(rows pgx.Rows) error {
		d := databaseFacts{Extensions: map[string]string{}}
		err := rows.Scan(&d.oid, &d.Name, &d.Encoding, &d.Provider, &d.Locale, &d.Collation, &d.Actual)
		o.Databases = append(o.Databases, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = conn.rows(ctx, `SELECT pg_catalog.current_setting('shared_preload_libraries')`, func(rows pgx.Rows) error {
		var text string
		err := rows.Scan(&text)
		o.Libraries = splitLibraries(text)
		return err
	})
	return o, err
}

// observeExtensions asks a database what is created in it.
func observeExtensions(ctx context.Context, conn *session, d *databaseFacts) error {
	return conn.rows(ctx, `SELECT extname, extversion FROM pg_catalog.pg_extension`, func(rows pgx.Rows) error {
		var name, version string
		err := rows.Scan(&name, &version)
		d.Extensions[name] = version
		return err
	})
}

func splitLibraries(text string) []string {
	var list []string
	for _, name := range strings.Split(text, ",") {
		if name = strings.Trim(strings.TrimSpace(name), `"`); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// remember keeps what the server said that owner was the record of before it
// was asked, for Facts at rest. It is written when it is news.
func (c *cluster) remember(owner *ownerRecord, o *observed) error {
	now, err := c.readOwner()
	if err != nil || owner == nil || now == nil || now.Launch != owner.Launch {
		return err // another server by now: who was asked is not known
	}
	var old observedRecord
	name := c.observedFile(owner.Slot)
	err = record.Read(c.opt.FS, name, observedKind, observedFormat, &old)
	if err == nil && old.Launch == owner.Launch && reflect.DeepEqual(old.Observed, o.plain()) {
		return nil
	}
	control, err := c.control(owner.Slot)
	if err != nil {
		return err
	}
	rec := observedRecord{Launch: owner.Launch, Bin: owner.Bin, Checkpoint: control.Checkpoint, Observed: o.plain()}
	return record.Write(c.opt.FS, name, observedKind, observedFormat, rec)
}

// plain is o as a record gives it back.
func (o *observed) plain() observed {
	p := observed{Libraries: o.Libraries}
	for _, d := range o.Databases {
		d.oid = 0
		p.Databases = append(p.Databases, d)
	}
	return p
}

// recallObserved gives what a slot's server said, if the slot still is what
// that server left: nothing else was started since, and its WAL went on.
func (c *cluster) recallObserved(slot engine.Slot, control *controlfile.File) *observed {
	var rec observedRecord
	owner, err := c.readOwner()
	if err != nil || owner == nil || owner.Slot != slot {
		return nil
	}
	if record.Read(c.opt.FS, c.observedFile(slot), observedKind, observedFormat, &rec) != nil {
		return nil
	}
	if rec.Launch != owner.Launch || rec.Checkpoint > control.Checkpoint {
		return nil
	}
	return &rec.Observed
}

// Facts describes what a slot holds, from its files.
func (c *cluster) Facts(_ context.Context, slot engine.Slot) (json.RawMessage, error) {
	control, err := c.control(slot)
	if err != nil {
		return nil, err
	}
	major, err := c.slotMajor(slot)
	if err != nil {
		return nil, err
	}
	f := facts{
		Format: factsFormat, Major: major, ControlVersion: control.ControlVersion, CatalogVersion: control.CatalogVersion,
		Architecture: runtime.GOARCH, ByteOrder: control.ByteOrder, MaxAlign: control.MaxAlign,
		BlockBytes: control.BlockBytes, SegmentPages: control.SegmentPages,
		WALPageBytes: control.WALPageBytes, WALSegBytes: control.WALSegBytes,
		NameBytes: control.NameBytes, IndexKeys: control.IndexKeys,
		SystemID: fmt.Sprint(control.SystemID), Checksums: control.Checksums != 0, State: control.State.String(),
		CheckpointLSN: wal.LSN(control.Checkpoint).String(), Timeline: control.Timeline, NextXID: control.NextXID,
		Observed: c.recallObserved(slot, control), Still: c.stillFacts(slot, major, control),
	}
	if owner, err := c.readOwner(); err == nil && owner != nil && owner.Slot == slot {
		f.Version = owner.Version
	}
	return json.Marshal(f)
}
