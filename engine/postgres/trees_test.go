package postgres

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forklift/engine"
	"forklift/engine/postgres/internal/wal"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// keep copies what the rules save, as a capture and a restore would, and
// gives the names of the files.
func keep(t *testing.T, tree engine.DatabaseTree, to string) []string {
	t.Helper()
	var names []string
	root, err := vfs.OS().OpenRoot(tree.Dir)
	must(t, err)
	defer root.Close()
	must(t, os.MkdirAll(to, 0o700))
	err = filepath.WalkDir(tree.Dir, func(path string, d fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(tree.Dir, path)
		if err != nil || relErr != nil || name == "." {
			return err
		}
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		switch tree.Rules.Filter(name, info).Action {
		case storage.Skip:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case storage.KeepEmpty:
			if err := os.Mkdir(filepath.Join(to, name), 0o700); err != nil {
				return err
			}
			return fs.SkipDir
		}
		if d.IsDir() {
			return os.Mkdir(filepath.Join(to, name), 0o700)
		}
		names = append(names, name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, r := range tree.Rules.Zero[name] {
			clear(data[r.Off:r.End])
		}
		return os.WriteFile(filepath.Join(to, name), data, info.Mode.Perm())
	})
	must(t, err)
	return names
}

// kept stops c, copies what its rules keep to slot b and starts that.
func kept(t *testing.T, c *cluster) []string {
	t.Helper()
	must(t, c.Stop(t.Context()))
	trees, err := c.Trees(t.Context(), engine.SlotA, false)
	must(t, err)
	if len(trees) != 1 || trees[0].Name != "pgdata" || trees[0].Rules.Unit != storage.Pages || trees[0].Rules.Moving {
		t.Fatalf("trees %+v", trees)
	}
	must(t, os.RemoveAll(c.slotDir(engine.SlotB)))
	names := keep(t, trees[0], c.slotDir(engine.SlotB))
	must(t, c.Start(t.Context(), engine.SlotB))
	return names
}

// TestWhatIsKeptIsTheWholeState compares everything before and after.
func TestWhatIsKeptIsTheWholeState(t *testing.T) {
	c := started(t)
	must(t, c.Load(t.Context(), []string{write(t, "schema.sql", schemaSQL)}, ""))
	sql(t, c, "CREATE TABLE big AS SELECT i, repeat(md5(i::text), 20) AS x FROM generate_series(1, 30000) i",
		"ALTER SYSTEM SET work_mem = '7MB'", "SELECT nextval('t_id_seq')", "SELECT pg_stat_force_next_flush()")
	before := dump(t, c)
	counts := value(t, c, "SELECT string_agg(relname || n_tup_ins, ',' ORDER BY relname) FROM pg_stat_user_tables")
	names := kept(t, c)
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("warnings %v", w)
	}
	if after := dump(t, c); after != before {
		t.Errorf("the dumps differ: %s", firstDifference(before, after))
	}
	if got := value(t, c, "SELECT string_agg(relname || n_tup_ins, ',' ORDER BY relname) FROM pg_stat_user_tables"); got != counts {
		t.Errorf("counters %s, want %s", got, counts)
	}
	if got := value(t, c, "SELECT setting FROM pg_file_settings WHERE name = 'work_mem'"); got != "7MB" {
		t.Errorf("ALTER SYSTEM is lost: %s", got)
	}
	sql(t, c, "CREATE EXTENSION amcheck", "SELECT bt_index_check(c.oid, true) FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'btree' AND c.relpersistence <> 't'")
	if got := value(t, c, "SELECT (SELECT count(*) FROM public.t WHERE body ILIKE '%quote%')::text || (SELECT count(*) FROM (SELECT 1 FROM public.t ORDER BY v OPERATOR(public.<->) '[1,2,3]' LIMIT 5) x)::text || (SELECT one FROM public.u)"); got != "50051" {
		t.Errorf("indexes of extensions and the unlogged table say %s, want 50051", got)
	}
	segments := 0
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasPrefix(base, "postmaster.") || base == "pg_internal.init" || strings.HasPrefix(name, "pg_subtrans/") {
			t.Errorf("%s was kept", name)
		}
		if strings.HasPrefix(name, "pg_wal/") {
			segments++
		}
	}
	if segments != 1 && segments != 2 {
		t.Errorf("%d WAL files were kept", segments)
	}
}

// TestCheckpointRecordAnywhere stops with the shutdown checkpoint at as many
// places as it takes to have it straddle pages and segments, and starts from
// what the rules keep. Less than the whole record would not start.
func TestCheckpointRecordAnywhere(t *testing.T) {
	c := started(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	straddles := map[string]int{}
	rows := 0
	for try := 0; try < 40 && (straddles["segment"] < 3 || straddles["page"] < 3); try++ {
		// The next stop writes a few records of known size and then the
		// checkpoint: aim at a boundary, and miss it by a little.
		distance := int64(8192)
		if try%2 == 0 {
			distance = 1 << 20
		}
		aim(t, c, distance, random)
		rows++
		must(t, c.Stop(t.Context()))
		control, err := c.control(engine.SlotA)
		must(t, err)
		root, err := c.opt.FS.OpenRoot(c.slotDir(engine.SlotA))
		must(t, err)
		layout := wal.Layout{PageBytes: control.WALPageBytes, SegmentBytes: control.WALSegBytes, Timeline: control.Timeline}
		extent, err := wal.Locate(segmentFiles{root}, layout, wal.LSN(control.Checkpoint))
		must(t, err)
		must(t, root.Close())
		switch {
		case len(extent.Segments) > 1:
			straddles["segment"]++
		case extent.Start/8192 != (extent.End-1)/8192:
			straddles["page"]++
		default:
			straddles["none"]++
		}
		names := kept(t, c)
		if got := value(t, c, "SELECT count(*)::text FROM public.aimed"); got != fmt.Sprint(rows) {
			t.Fatalf("from %v: %s rows, want %d", extent, got, rows)
		}
		for _, s := range extent.Segments {
			if !slices.Contains(names, "pg_wal/"+s) {
				t.Fatalf("segment %s of %v was not kept", s, extent)
			}
		}
		// Go on from the copy, so that errors add up.
		must(t, c.Stop(t.Context()))
		must(t, os.RemoveAll(c.slotDir(engine.SlotA)))
		must(t, os.Rename(c.slotDir(engine.SlotB), c.slotDir(engine.SlotA)))
		must(t, c.Start(t.Context(), engine.SlotA))
	}
	t.Logf("checkpoint records that straddled: %v", straddles)
	if straddles["segment"] == 0 || straddles["page"] == 0 {
		t.Errorf("no record straddled a page, or none a segment: %v", straddles)
	}
}

// aim adds a row to the table aimed and fills the WAL so that it ends shortly
// before a multiple of distance.
func aim(t *testing.T, c *cluster, distance int64, random *rand.Rand) {
	t.Helper()
	sql(t, c, "CREATE TABLE IF NOT EXISTS aimed (n int); INSERT INTO aimed VALUES (1); CHECKPOINT")
	// What a stop writes before its checkpoint record: nothing, or one
	// RUNNING_XACTS record of 56 bytes.
	missBy := int64(random.IntN(14)) * 8
	for range 40 {
		var at int64
		conn, err := c.connect(t.Context(), "")
		must(t, err)
		must(t, conn.QueryRow(t.Context(), "SELECT (pg_current_wal_insert_lsn() - '0/0')::int8").Scan(&at))
		left := distance - at%distance - missBy
		const overhead = 60 // of a logical message, with its prefix
		if left < 2*overhead {
			conn.close()
			if left > -200 {
				return
			}
			continue
		}
		size := min(left-overhead-48, 500_000)
		if size < 1 {
			conn.close()
			return
		}
		must(t, conn.exec(t.Context(), fmt.Sprintf("SELECT pg_logical_emit_message(false, 'f', repeat('x', %d))", size)))
		conn.close()
	}
}

func TestAllWALIsKeptWithAWarning(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, c *cluster)
		want  string
	}{
		"replication slot": {func(t *testing.T, c *cluster) {
			sql(t, c, "SELECT pg_create_physical_replication_slot('mine', true)")
		}, `replication slot "mine"`},
		"archiving": {func(t *testing.T, c *cluster) {
			sql(t, c, "ALTER SYSTEM SET archive_mode = on")
		}, "archiving is on"},
		"nothing": {func(t *testing.T, c *cluster) {
			must(t, os.WriteFile(c.slotDir(engine.SlotA)+"/backup_label.old", nil, 0o600))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := started(t)
			sql(t, c, "CREATE TABLE t AS SELECT 1 AS n")
			test.spoil(t, c)
			must(t, c.Stop(t.Context()))
			entries, err := os.ReadDir(c.slotDir(engine.SlotA) + "/pg_wal")
			must(t, err)
			names := kept(t, c)
			n := 0
			for _, name := range names {
				if strings.HasPrefix(name, "pg_wal/") && strings.Count(name, "/") == 1 {
					n++
				}
			}
			w := strings.Join(c.Warnings(), "\n")
			if !strings.Contains(w, test.want) || (test.want == "") != (w == "") {
				t.Errorf("warnings %q, want %q", w, test.want)
			}
			if test.want != "" && n < len(entries)-2 { // archive_status and summaries are directories
				t.Errorf("%d WAL files were kept of %d", n, len(entries))
			}
			if got := value(t, c, "SELECT n::text FROM public.t"); got != "1" {
				t.Errorf("row %s", got)
			}
		})
	}
}

func TestRefusedByName(t *testing.T) {
	c := started(t)
	space := t.TempDir()
	sql(t, c, "SET allow_in_place_tablespaces = on", "CREATE TABLESPACE inside LOCATION ''", "CREATE TABLE i (n int) TABLESPACE inside")
	if _, err := c.Trees(t.Context(), engine.SlotA, true); err != nil {
		t.Errorf("a tablespace inside the data directory: %v", err)
	}
	// PostgreSQL may not be allowed to enter the test's directory.
	must(t, os.Chmod(space, 0o777))
	sql(t, c, "CREATE TABLESPACE elsewhere LOCATION '"+space+"'")
	for _, hot := range []bool{true, false} {
		if !hot {
			must(t, c.Stop(t.Context()))
		}
		_, err := c.Trees(t.Context(), engine.SlotA, hot)
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(strings.Join(fault.ItemsOf(err), " "), space) {
			t.Errorf("hot %v: a tablespace outside: %v", hot, err)
		}
	}
}

func TestAnotherVersionIsRefused(t *testing.T) {
	c := started(t)
	name := c.slotDir(engine.SlotA) + "/PG_VERSION"
	check := func(hot bool) {
		t.Helper()
		must(t, os.WriteFile(name, []byte("16\n"), 0o600))
		_, err := c.Trees(t.Context(), engine.SlotA, hot)
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "PG_VERSION says PostgreSQL 16") {
			t.Errorf("hot %v: %v", hot, err)
		}
		must(t, os.WriteFile(name, []byte("17\n"), 0o600))
	}
	check(true)
	must(t, c.Stop(t.Context()))
	check(false)
	if _, err := c.Trees(t.Context(), engine.SlotA, false); err != nil {
		t.Error(err)
	}
}

func TestHotRules(t *testing.T) {
	c := started(t)
	trees, err := c.Trees(t.Context(), engine.SlotA, true)
	must(t, err)
	names := keep(t, trees[0], t.TempDir()+"/hot")
	if !trees[0].Rules.Moving {
		t.Error("files of a running server move")
	}
	for _, name := range names {
		if strings.HasPrefix(name, "pg_wal/") || name == "global/pg_control" || name == "postmaster.pid" {
			t.Errorf("%s is not in its final form while the server runs", name)
		}
	}
	if !slices.Contains(names, "PG_VERSION") || !slices.Contains(names, "base/1/PG_VERSION") {
		t.Errorf("kept only %d files", len(names))
	}
	if _, err := c.Trees(t.Context(), engine.SlotA, false); fault.KindOf(err) != fault.Busy {
		t.Errorf("a running cluster is not at rest: %v", err)
	}
}
