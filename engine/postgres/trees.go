package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"forklift/engine"
	"forklift/engine/postgres/internal/controlfile"
	"forklift/engine/postgres/internal/wal"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// emptied are the directories whose contents PostgreSQL makes anew at each
// start; pg_basebackup leaves out the same.
var emptied = []string{"pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"}

// Trees tells what a capture saves: the data directory, without what the
// server makes anew and without WAL that a cleanly stopped cluster does not
// read. At rest it proves rest first.
func (c *cluster) Trees(ctx context.Context, slot engine.Slot, hot bool) ([]engine.DatabaseTree, error) {
	dir := c.slotDir(slot)
	root, err := c.opt.FS.OpenRoot(dir)
	if err != nil {
		return nil, &fault.Error{Op: "open data directory", Path: dir, Err: err}
	}
	defer root.Close()
	if err := refuseOutside(root, dir); err != nil {
		return nil, err
	}
	if err := c.refuseOther(ctx, slot, hot); err != nil {
		return nil, err
	}
	var control *controlfile.File
	if !hot {
		if control, err = c.proveRest(slot); err != nil {
			return nil, err
		}
	}
	return []engine.DatabaseTree{{Name: treeName, Dir: dir, Rules: c.rules(root, control)}}, nil
}

// rules tells what of a data directory is saved. control is of a cluster that
// is proven to be at rest; nil while its server runs.
func (c *cluster) rules(root vfs.Root, control *controlfile.File) storage.Rules {
	plan := &treePlan{empty: slices.Clone(emptied)}
	plan.empty = append(plan.empty, logDirs(root)...)
	rules := storage.Rules{Unit: storage.Pages, Moving: control == nil}
	if control == nil {
		// A running server has the WAL and the control file in no final form.
		plan.empty = append(plan.empty, "pg_wal")
		plan.skip = append(plan.skip, controlfile.Name)
	} else {
		rules.Zero = c.planWAL(root, control, plan)
	}
	rules.Filter = plan.filter
	return rules
}

// refuseOther refuses files that are not of one version, and before a running
// server is stopped, one that could not be started again here.
func (c *cluster) refuseOther(ctx context.Context, slot engine.Slot, hot bool) error {
	control, err := c.control(slot)
	if err != nil {
		return err
	}
	major, err := c.slotMajor(slot)
	if err != nil {
		return err
	}
	if !control.Of(major) {
		return &fault.Error{Op: "read database", Path: c.slotDir(slot), Kind: fault.Unsupported,
			Err:  fmt.Errorf("PG_VERSION says PostgreSQL %d, the control file is not of that version", major),
			Hint: "No PostgreSQL can use the files as they are; put the right PG_VERSION back."}
	}
	if hot {
		_, err = c.installed(ctx, major)
	}
	return err
}

// Place is the data directory of a slot: the one tree of a cluster.
func (c *cluster) Place(slot engine.Slot, tree string) string {
	if tree != treeName {
		return ""
	}
	return c.slotDir(slot)
}

// proveRest proves that nothing runs and that the cluster was stopped cleanly.
func (c *cluster) proveRest(slot engine.Slot) (*controlfile.File, error) {
	st, err := c.atRest(slot)
	if err != nil {
		return nil, err
	}
	control, err := c.control(slot)
	if err != nil {
		return nil, err
	}
	if st.State != engine.AtRest || !control.Clean() {
		return nil, &fault.Error{Op: "read stopped database", Path: c.slotDir(slot), Kind: fault.Failed,
			Err:  fmt.Errorf("the server is %s, the control file says %q", st.State, control.State),
			Hint: "Start the database, so that it recovers, and stop it again."}
	}
	return control, nil
}

// atRest is the state of a slot, without waiting for anybody.
func (c *cluster) atRest(slot engine.Slot) (engine.Status, error) {
	s, err := c.see()
	if err != nil {
		return engine.Status{}, err
	}
	if !s.free {
		return engine.Status{}, c.heldError("read stopped database")
	}
	return c.stateAtRest(slot)
}

// refuseOutside refuses a cluster of which a part is elsewhere.
func refuseOutside(root vfs.Root, dir string) error {
	bad := func(what, hint string, items []string) error {
		return &fault.Error{Op: "read database", Path: dir, Kind: fault.Unsupported, Err: errors.New(what), Items: items, Hint: hint}
	}
	info, err := root.Lstat("pg_wal")
	switch {
	case err != nil:
		return &fault.Error{Op: "read database", Path: dir + "/pg_wal", Err: err}
	case !info.IsDir():
		return bad("pg_wal is not a directory inside the data directory",
			"Stop the server and move it into the data directory; only what is inside can be captured.", nil)
	}
	entries, err := root.ReadDir("pg_tblspc")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &fault.Error{Op: "read database", Path: dir + "/pg_tblspc", Err: err}
	}
	var outside []string
	for _, e := range entries {
		if e.Type&fs.ModeSymlink == 0 {
			continue
		}
		target, err := root.Readlink("pg_tblspc/" + e.Name)
		if err != nil {
			return &fault.Error{Op: "read database", Path: dir + "/pg_tblspc/" + e.Name, Err: err}
		}
		outside = append(outside, fmt.Sprintf("tablespace %s in %s", e.Name, target))
	}
	if len(outside) > 0 {
		return bad("not all tablespaces are inside the data directory",
			"Only what is inside can be captured: move what is in them (ALTER TABLE ALL IN TABLESPACE … SET TABLESPACE pg_default) and drop them.", outside)
	}
	return nil
}

// treePlan is what of a data directory is left out.
type treePlan struct {
	empty []string // directories that are kept without their contents
	skip  []string // files
	wal   map[string]bool
	// walAll keeps every WAL file, for the reason that the warning says.
	walAll bool
}

// filter decides about one path.
func (p *treePlan) filter(name string, info vfs.Info) storage.Decision {
	keep, skip := storage.Decision{Action: storage.Keep}, storage.Decision{Action: storage.Skip}
	dir, base := path.Split(name)
	switch {
	case info.IsDir() && slices.Contains(p.empty, name):
		return storage.Decision{Action: storage.KeepEmpty}
	case slices.Contains(p.skip, name), volatileName(base):
		return skip
	case dir == "" && (strings.HasPrefix(base, "postmaster.") || base == "standby.signal" || base == "recovery.signal" ||
		base == "current_logfiles" || base == "postgresql.auto.conf.tmp" || durable.IsTemp(base)):
		return skip
	case dir == "pg_wal/":
		return p.filterWAL(base, info)
	}
	return keep
}

// filterWAL decides about an entry of pg_wal.
func (p *treePlan) filterWAL(base string, info vfs.Info) storage.Decision {
	switch {
	case p.walAll && !strings.HasPrefix(base, "xlogtemp."):
		return storage.Decision{Action: storage.Keep}
	case info.IsDir(): // archive_status, summaries
		return storage.Decision{Action: storage.KeepEmpty}
	case p.wal[base], strings.HasSuffix(base, ".history"):
		return storage.Decision{Action: storage.Keep}
	}
	return storage.Decision{Action: storage.Skip}
}

// volatileName reports caches and temporary files, wherever they are.
func volatileName(base string) bool {
	return base == "pg_internal.init" || strings.HasPrefix(base, "pg_internal.init.") || strings.HasPrefix(base, "pgsql_tmp")
}

// planWAL decides which WAL is kept, and tells what of it is stored as zeros.
// Where the usual rule cannot be proven all is kept, with a warning.
func (c *cluster) planWAL(root vfs.Root, control *controlfile.File, plan *treePlan) map[string][]storage.Range {
	warn := func(why string) map[string][]storage.Range {
		plan.walAll = true
		c.setWarnings("all of pg_wal was saved: " + why)
		return nil
	}
	c.setWarnings()
	if slots, err := root.ReadDir("pg_replslot"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return warn("pg_replslot cannot be read: " + err.Error())
	} else if len(slots) > 0 {
		return warn(fmt.Sprintf("replication slot %q may need it", slots[0].Name))
	}
	if _, err := root.Lstat("backup_label"); !errors.Is(err, fs.ErrNotExist) {
		return warn("there is a backup_label")
	}
	if archives(root) {
		return warn("archiving is on")
	}
	layout := wal.Layout{PageBytes: control.WALPageBytes, SegmentBytes: control.WALSegBytes, Timeline: control.Timeline}
	extent, err := wal.Locate(segmentFiles{root}, layout, wal.LSN(control.Checkpoint))
	if err != nil {
		return warn(err.Error())
	}
	plan.wal = map[string]bool{}
	for _, name := range extent.Segments {
		plan.wal[name] = true
	}
	last := extent.Segments[len(extent.Segments)-1]
	end := int64(control.WALSegBytes)
	if extent.ZeroFrom >= end {
		return nil
	}
	return map[string][]storage.Range{"pg_wal/" + last: {{Off: extent.ZeroFrom, End: end}}}
}

func (c *cluster) setWarnings(list ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings = list
}

// segmentFiles reads WAL from a data directory.
type segmentFiles struct{ root vfs.Root }

// ReadPage reads one page of a segment.
func (s segmentFiles) ReadPage(segment string, off int64, page []byte) error {
	f, err := s.root.OpenFile("pg_wal/"+segment, 0, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(page, off)
	return err
}

// confLine is a setting in postgresql.conf or postgresql.auto.conf.
var confLine = regexp.MustCompile(`(?mi)^\s*(archive_mode|log_directory)\s*(?:=|\s)\s*(?:'((?:[^']|'')*)'|([^\s#']+))`)

// confValues are the values that the cluster's files give to a setting, the
// one that counts last. Included files are not read.
func confValues(root vfs.Root, setting string) []string {
	var values []string
	for _, name := range []string{"postgresql.conf", "postgresql.auto.conf"} {
		data, err := durable.ReadFile(root, name, maxConfBytes)
		if err != nil {
			continue
		}
		for _, m := range confLine.FindAllStringSubmatch(string(data), -1) {
			if strings.EqualFold(m[1], setting) {
				values = append(values, strings.ReplaceAll(m[2], "''", "'")+m[3])
			}
		}
	}
	return values
}

// archives reports a cluster that would archive its WAL outside of Forklift,
// which turns that off.
func archives(root vfs.Root) bool {
	return slices.ContainsFunc(confValues(root, "archive_mode"), func(v string) bool {
		return !slices.Contains([]string{"off", "false", "no", "0"}, strings.ToLower(v))
	})
}

// logDirs are the directories inside the data directory that logs may be in.
func logDirs(root vfs.Root) []string {
	dirs := []string{"log", "pg_log"}
	for _, v := range confValues(root, "log_directory") {
		v = path.Clean(v)
		if path.IsAbs(v) || v == "." || strings.HasPrefix(v, "..") {
			continue
		}
		// A directory of the cluster itself must never be emptied, whatever
		// the setting says.
		if top, _, _ := strings.Cut(v, "/"); !strings.HasPrefix(top, "pg_") && top != "base" && top != "global" {
			dirs = append(dirs, v)
		}
	}
	return dirs
}
