package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forklift/engine"
	"forklift/engine/postgres/internal/controlfile"
	"forklift/engine/postgres/internal/wal"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/vfs"

	"github.com/jackc/pgx/v5"
	"github.com/zeebo/blake3"
)

// maxSettingsBytes bounds the files that a fingerprint of the settings reads.
const maxSettingsBytes = 8 << 20

// runningXacts is the one WAL record that a server writes by itself soon after
// a start, although nobody did anything: the list of running transactions,
// without any. With 17 and its alignment it has 56 bytes.
const runningXacts = 56

// still is what a cluster at rest is known by to a server that was started on
// it, and so can tell that nothing has happened since. A cluster for which
// that cannot be told has none.
type still struct {
	// End is the byte behind the shutdown checkpoint's record: where the WAL
	// of a server that is started on the cluster goes on.
	End wal.LSN `json:"end"`
	// Settings is a hash of the files that are changed by hand or by ALTER
	// SYSTEM, which writes no WAL.
	Settings string `json:"settings"`
}

// serverOwned are the directories of a cluster in which only the server
// writes, and nothing without WAL that would matter to a client; the others
// that it has are emptied at each start.
var serverOwned = append([]string{"base", "global", "pg_commit_ts", "pg_logical", "pg_multixact", "pg_replslot",
	"pg_stat", "pg_tblspc", "pg_twophase", "pg_wal", "pg_xact"}, emptied...)

// stillFacts looks at a cluster at rest. It gives nil where a running server
// could change what clients see without a new transaction and without moving
// its WAL: unlogged sequences (seen by the init forks that everything unlogged
// has), prepared transactions, replication slots, anything in a tablespace; and
// for versions whose records were not measured.
func (c *cluster) stillFacts(slot engine.Slot, major int, control *controlfile.File) *still {
	root, err := c.opt.FS.OpenRoot(c.slotDir(slot))
	if err != nil || !control.Clean() || major != 17 {
		return nil
	}
	defer root.Close()
	if kept, err := keptBeside(root); err != nil || kept {
		return nil
	}
	if unlogged, err := hasUnlogged(root); err != nil || unlogged {
		return nil
	}
	end, err := endOfWAL(root, control)
	if err != nil {
		return nil
	}
	settings, err := settingsOf(root)
	if err != nil {
		return nil
	}
	return &still{End: end, Settings: settings}
}

// keptBeside reports prepared transactions and replication slots, which a
// cluster keeps in files of their own: a slot is made without any WAL. And
// tablespaces: what is unlogged in one is not looked for.
func keptBeside(root vfs.Root) (bool, error) {
	for _, dir := range []string{"pg_twophase", "pg_replslot", "pg_tblspc"} {
		if list, err := root.ReadDir(dir); err != nil || len(list) > 0 {
			return len(list) > 0, err
		}
	}
	return false, nil
}

// endOfWAL is the byte behind the shutdown checkpoint that the control file
// points to, rounded up to where the next record begins.
func endOfWAL(root vfs.Root, control *controlfile.File) (wal.LSN, error) {
	layout := wal.Layout{PageBytes: control.WALPageBytes, SegmentBytes: control.WALSegBytes, Timeline: control.Timeline}
	extent, err := wal.Locate(segmentFiles{root}, layout, wal.LSN(control.Checkpoint))
	if err != nil {
		return 0, err
	}
	const align = 8
	return (extent.End + align - 1) / align * align, nil
}

// hasUnlogged reports relations that are not WAL-logged.
func hasUnlogged(root vfs.Root) (bool, error) {
	dirs, err := root.ReadDir("base")
	for _, d := range dirs {
		if err != nil || !d.Type.IsDir() {
			continue
		}
		var files []vfs.Entry
		files, err = root.ReadDir("base/" + d.Name)
		if slices.ContainsFunc(files, func(f vfs.Entry) bool { return strings.HasSuffix(f.Name, "_init") }) {
			return true, nil
		}
	}
	return false, err
}

// settingsOf is a hash of the names, modes and bytes of everything in a data
// directory outside of the server's own directories.
func settingsOf(root vfs.Root) (string, error) {
	plan := &treePlan{empty: append(slices.Clone(serverOwned), logDirs(root)...)}
	h := blake3.New()
	left := int64(maxSettingsBytes)
	if err := addSettings(root, ".", plan, h, &left); err != nil {
		return "", err
	}
	return storage.ID(h.Sum(nil)).String(), nil
}

// addSettings feeds a directory to h.
func addSettings(root vfs.Root, dir string, plan *treePlan, h *blake3.Hasher, left *int64) error {
	list, err := root.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		name := path.Join(dir, e.Name)
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a file of the server's that comes and goes is none of these
		}
		if err != nil {
			return err
		}
		d := plan.filter(name, info)
		if d.Action == storage.Skip {
			continue
		}
		var content []byte
		switch {
		case d.Action == storage.KeepEmpty:
		case info.IsDir():
			if err := addSettings(root, name, plan, h, left); err != nil {
				return err
			}
		case info.IsSymlink():
			target, err := root.Readlink(name)
			if err != nil {
				return err
			}
			content = []byte(target)
		case info.IsRegular():
			if content, err = durable.ReadFile(root, name, *left); err != nil {
				return err
			}
			*left -= int64(len(content))
		}
		_, _ = fmt.Fprintf(h, "%q %v %d\n%s", name, info.Mode, len(content), content) // a hash takes everything
	}
	return nil
}

// Unchanged reports that the running server holds what these facts describe,
// which the slot held when the server was started on it: its WAL has not gone
// on, no transaction id was taken, there is no replication slot, and the
// settings are the same.
//
// Why that suffices: after the clean stop no transaction was open, so whatever
// changes rows, tables or roles since takes a transaction id, and so does the
// first nextval behind a checkpoint. The one record that may have come is
// written by the server itself. A server that was stopped once more since has
// its next checkpoint right there, with the same next id. The WAL is asked for
// first: what commits between the two questions is seen by the second.
func (c *cluster) Unchanged(ctx context.Context, slot engine.Slot, data json.RawMessage) bool {
	var f facts
	if json.Unmarshal(data, &f) != nil || f.Still == nil {
		return false
	}
	owner, err := c.readOwner()
	if err != nil || owner == nil || owner.Slot != slot {
		return false
	}
	root, err := c.opt.FS.OpenRoot(c.slotDir(slot))
	if err != nil {
		return false
	}
	defer root.Close()
	control, err := c.control(slot)
	if err != nil || !f.of(control) {
		return false
	}
	end := f.Still.End
	if wal.LSN(control.Checkpoint).String() != f.CheckpointLSN {
		if !follows(end, wal.LSN(control.Checkpoint)) || control.NextXID != f.NextXID || control.Redo != control.Checkpoint {
			return false
		}
		if end, err = endOfWAL(root, control); err != nil {
			return false
		}
	}
	insert, next, err := c.progress(ctx)
	if err != nil || !follows(end, insert) || next != f.NextXID {
		return false
	}
	if kept, err := keptBeside(root); err != nil || kept {
		return false
	}
	settings, err := settingsOf(root)
	return err == nil && settings == f.Still.Settings
}

// follows says whether WAL that ends at lsn holds nothing behind end but what
// a server writes by itself.
func follows(end, lsn wal.LSN) bool { return lsn == end || lsn == end+runningXacts }

// of reports that a control file is of the cluster that f describes.
func (f *facts) of(control *controlfile.File) bool {
	return f.SystemID == fmt.Sprint(control.SystemID) && f.Timeline == control.Timeline &&
		f.CatalogVersion == control.CatalogVersion && f.ControlVersion == control.ControlVersion
}

// progress asks the running server where its WAL has come to, and then for the
// next transaction id. What has taken one before the WAL was asked for, and is
// open still, has written WAL or has changed nothing.
func (c *cluster) progress(ctx context.Context) (insert wal.LSN, next uint64, err error) {
	conn, err := c.connect(ctx, "")
	if err != nil {
		return 0, 0, err
	}
	defer conn.close()
	var numbers [2]int64
	for i, query := range []string{`SELECT (pg_catalog.pg_current_wal_insert_lsn() - '0/0')::int8`,
		`SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::int8`} {
		err := conn.rows(ctx, query, func(rows pgx.Rows) error { return rows.Scan(&numbers[i]) })
		if err != nil {
			return 0, 0, err
		}
	}
	return wal.LSN(numbers[0]), uint64(numbers[1]), nil
}
