package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"forklift/engine"
	"forklift/engine/postgres/internal/controlfile"
	"forklift/engine/postgres/internal/wal"
	"forklift/storage/fault"
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
	Collation  string            `json:"collation_version,omitempty"` // of the provider, "" where it has none
	Extensions map[string]string `json:"extensions"`                  // name to version
	oid        uint32
}

const factsFormat = 1

// observedRecord keeps the last observation of a slot between processes.
type observedRecord struct {
	Launch     string   `json:"launch"`     // of the server that was asked
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

// databaseFactsSQL works on 17 and later; 16 calls a column otherwise.
const databaseFactsSQL = `
SELECT oid, datname, pg_catalog.pg_encoding_to_char(encoding),
       CASE datlocprovider WHEN 'b' THEN 'builtin' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' ELSE datlocprovider::text END,
       coalesce(datlocale, datcollate), coalesce(datcollversion, '')
FROM pg_catalog.pg_database WHERE datallowconn AND NOT datistemplate ORDER BY datname`

// observeCluster asks what is the same in every session.
func observeCluster(ctx context.Context, conn *session) (*observed, error) {
	o := &observed{}
	query := databaseFactsSQL
	if strings.HasPrefix(conn.PgConn().ParameterStatus("server_version"), "16") {
		query = strings.ReplaceAll(query, "datlocale", "daticulocale")
	}
	err := conn.rows(ctx, query, func(rows pgx.Rows) error {
		d := databaseFacts{Extensions: map[string]string{}}
		err := rows.Scan(&d.oid, &d.Name, &d.Encoding, &d.Provider, &d.Locale, &d.Collation)
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
	rec := observedRecord{Launch: owner.Launch, Checkpoint: control.Checkpoint, Observed: o.plain()}
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
		Observed: c.recallObserved(slot, control),
	}
	if owner, err := c.readOwner(); err == nil && owner != nil && owner.Slot == slot {
		f.Version = owner.Version
	}
	return json.Marshal(f)
}

// CheckFacts says by name why a cluster with these facts cannot be started
// here, or nil.
func (c *cluster) CheckFacts(ctx context.Context, data json.RawMessage) error {
	refuse := func(hint, format string, args ...any) error {
		return &fault.Error{Op: "check database", Kind: fault.Unsupported, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	var f facts
	if err := json.Unmarshal(data, &f); err != nil || f.Format != factsFormat {
		return refuse("A newer Forklift wrote it; use that one.", "its facts have format %d, %d is known (%w)", f.Format, factsFormat, err)
	}
	if f.Architecture != runtime.GOARCH {
		return refuse("A cluster's files can only be used on the kind of processor that wrote them.",
			"it was made on %s, this machine is %s", f.Architecture, runtime.GOARCH)
	}
	const block = 8192 // what every packaged PostgreSQL is built with
	if f.BlockBytes != block || f.WALPageBytes != block {
		return refuse("", "blocks of %d bytes and WAL pages of %d; %d is usual", f.BlockBytes, f.WALPageBytes, block)
	}
	inst, err := c.installed(ctx, f.Major)
	if err != nil {
		return err
	}
	if f.Observed == nil {
		return nil
	}
	return checkLibraries(inst, f.Observed)
}

// checkLibraries refuses a cluster whose extensions are not installed here:
// it would start, and fail at the first use.
func checkLibraries(inst *Installation, o *observed) error {
	var missing []string
	for _, d := range o.Databases {
		for name, version := range d.Extensions {
			control := filepath.Join(inst.ShareDir, "extension", name+".control")
			if _, err := os.Stat(control); inst.ShareDir != "" && errors.Is(err, fs.ErrNotExist) {
				missing = append(missing, fmt.Sprintf("extension %s %s (database %s)", name, version, d.Name))
			}
		}
	}
	for _, name := range o.Libraries {
		if inst.LibDir == "" || strings.Contains(name, "/") {
			continue
		}
		if firstWith(escapeGlob(name)+".*", inst.LibDir) == "" {
			missing = append(missing, "library "+name+" (shared_preload_libraries)")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return &fault.Error{Op: "check database", Path: inst.Bin, Kind: fault.Unsupported, Items: missing,
		Err:  fmt.Errorf("PostgreSQL %s has not what the checkpoint needs: %s", inst.Version, strings.Join(missing, ", ")),
		Hint: "Install what is missing for that PostgreSQL, or name another bin directory in FORKLIFT_PG_BIN."}
}
