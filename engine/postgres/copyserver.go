package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forklift/engine"
	"forklift/engine/postgres/internal/basebackup"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/progress"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// copyTimeout bounds a whole copy; each of its steps has a limit too.
	copyTimeout = 24 * time.Hour
	// copyMargin is what a copy leaves free on the store's file system.
	copyMargin = 256 << 20
)

// CopyServer makes a physical copy; see engine.Copier. The copy's servers run
// under our configuration like any other, and under a postgresql.conf made
// here: the source's own files are not even copied.
func (c *cluster) CopyServer(ctx context.Context, slot engine.Slot, src engine.SourceServer) (*engine.Copied, error) {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	progress.Report(ctx, progress.Event{Phase: "ask the server"})
	s, err := c.askSource(ctx, src)
	if err != nil {
		return nil, err
	}
	done := &engine.Copied{Source: s.name, Version: s.about.Version, Database: s.about.Database}
	if src.Method == engine.MethodDump {
		return done, nil
	}
	inst, err := c.copyable(ctx, s, src)
	if err != nil {
		return nil, err
	}
	info, refused, err := c.receive(ctx, slot, s)
	if err != nil {
		return nil, err
	}
	if refused != "" {
		if src.Method == engine.MethodCopy {
			return nil, &fault.Error{Op: "copy database", Path: s.name, Kind: fault.Unsupported, Err: errors.New(refused), Hint: copyRemedy}
		}
		done.Refused = refused
		return done, nil
	}
	done.Method, done.Bytes = engine.MethodCopy, info.Bytes
	done.Warnings = leftOut(info.Skipped, s.about.Preload, src.Preload)
	if err := c.settle(ctx, slot, s, src.Preload, inst, done); err != nil {
		return nil, err
	}
	return done, nil
}

// copyRemedy says what makes a physical copy possible.
const copyRemedy = "Let the role replicate (ALTER ROLE ... REPLICATION, and a line for `replication` in the server's pg_hba.conf), name a superuser in the URL, or use --method dump."

// askSource connects to the source and refuses what cannot be taken at all.
func (c *cluster) askSource(ctx context.Context, src engine.SourceServer) (*source, error) {
	s, err := openSource(src.URL)
	if err != nil {
		return nil, err
	}
	if err := s.ask(ctx); err != nil {
		return nil, err
	}
	if err := checkDatabaseName(s.about.Database); err != nil {
		return nil, &fault.Error{Op: "read URL", Kind: fault.Usage, Err: err, Hint: "Name the database of your application in the URL."}
	}
	return s, nil
}

// copyable refuses by name what a physical copy of could not run here.
func (c *cluster) copyable(ctx context.Context, s *source, src engine.SourceServer) (*Installation, error) {
	refuse := func(err error, hint string) error {
		return &fault.Error{Op: "copy database", Path: s.name, Kind: fault.Unsupported, Err: err, Hint: hint}
	}
	if s.about.Major < oldestMajor || s.about.Major > newestMajor {
		return nil, refuse(fmt.Errorf("the server is PostgreSQL %s; %d to %d can be copied", s.about.Version, oldestMajor, newestMajor),
			"Use --method dump, which a newer pg_dump can do for older servers.")
	}
	if len(s.about.Spaces) > 0 {
		return nil, refuse(fmt.Errorf("tablespaces are outside the data directory: %s", strings.Join(s.about.Spaces, ", ")),
			"Use --method dump, which puts everything into the data directory.")
	}
	inst, err := c.installed(ctx, s.about.Major)
	if err != nil {
		return nil, &fault.Error{Op: "copy database", Path: s.name, Kind: fault.KindOf(err),
			Err:  fmt.Errorf("the server is PostgreSQL %s, and a copy needs the same major version here: %w", s.about.Version, err),
			Hint: fmt.Sprintf("Install PostgreSQL %d and name its bin directory in FORKLIFT_PG_BIN, or use --method dump.", s.about.Major)}
	}
	return inst, checkLibraries(inst, &observed{Libraries: src.Preload})
}

// receive streams the copy into the slot. refused says why the server does
// not permit one; nothing was written then.
func (c *cluster) receive(ctx context.Context, slot engine.Slot, s *source) (info *basebackup.Info, refused string, err error) {
	conn, refused, err := s.connectReplication(ctx)
	if err != nil || refused != "" {
		return nil, refused, err
	}
	defer func() {
		// Also after a Ctrl-C: the source ends the copy at once.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(end)
	}()
	dir := c.slotDir(slot)
	if empty, err := c.emptySlot(slot); err != nil || !empty {
		return nil, "", errors.Join(err, &fault.Error{Op: "copy database", Path: dir, Err: errors.New("the directory is not empty")})
	}
	if err := durable.MkdirAll(c.opt.FS, dir, 0o700); err != nil {
		return nil, "", err
	}
	root, err := c.opt.FS.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	info, err = basebackup.Run(ctx, conn, root, basebackup.Options{
		Label: "forklift",
		Progress: func(done, total int64) {
			progress.Report(ctx, progress.Event{Phase: "copy database", DoneBytes: done, TotalBytes: total})
		},
		Room: c.room,
	})
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return info, "", nil
	case errors.Is(err, basebackup.ErrRefused) && errors.As(err, &pg):
		return nil, pg.Message, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("not done after %s", copyTimeout)
	}
	return nil, "", &fault.Error{Op: "copy database", Path: s.name, Kind: sqlKind(err), Err: err, Hint: fault.HintOf(err)}
}

// room refuses a copy that the store's file system has no room for.
func (c *cluster) room(total, done int64) error {
	space, err := c.opt.FS.Space(c.branch.Dir)
	if err != nil {
		return err
	}
	need := max(total-done, 0) + copyMargin
	if space.FreeBytes >= need {
		return nil
	}
	return &fault.Error{Op: "copy database", Path: c.branch.Dir, Kind: fault.NoSpace,
		Err:  fmt.Errorf("%d MB are needed for the copy, %d MB are free", need>>20, space.FreeBytes>>20),
		Hint: "Make room on the store's file system; nothing is kept of the copy."}
}

// settle makes a cluster of ours of what was received: it recovers, gets the
// superuser that Forklift connects as, and stops cleanly.
func (c *cluster) settle(ctx context.Context, slot engine.Slot, s *source, preload []string, inst *Installation, done *engine.Copied) (err error) {
	for name, text := range map[string]string{
		"postgresql.conf":      s.configuration(preload),
		"postgresql.auto.conf": "# Do not edit this file manually!\n# It will be overwritten by the ALTER SYSTEM command.\n",
	} {
		if err := durable.WriteFile(c.opt.FS, filepath.Join(c.slotDir(slot), name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := c.mark(slot, s.about.Database); err != nil {
		return err
	}
	progress.Report(ctx, progress.Event{Phase: "recover the copy"})
	if err := c.Start(ctx, slot); err != nil {
		return fmt.Errorf("start the copy of %s: %w", s.name, err)
	}
	running := true
	defer func() {
		if running {
			err = errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if err := c.ensureSuperuser(ctx, s); err != nil {
		return err
	}
	if err := c.setPassword(ctx); err != nil {
		return err
	}
	seen, err := c.observeAll(ctx, func(*session, databaseFacts) error { return nil })
	if err != nil {
		return err
	}
	if err := checkLibraries(inst, seen); err != nil {
		return err
	}
	moved, err := c.adoptCollations(ctx)
	if err != nil {
		return err
	}
	done.Warnings = append(done.Warnings, moved...)
	running = false
	if err := c.Stop(ctx); err != nil {
		return err
	}
	for _, name := range []string{"backup_label.old", "tablespace_map.old"} {
		path := filepath.Join(c.slotDir(slot), name)
		if _, err := c.opt.FS.Lstat(path); err == nil {
			if err := durable.Remove(c.opt.FS, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// ensureSuperuser makes the role that we connect as, where the source calls
// its superuser something else.
func (c *cluster) ensureSuperuser(ctx context.Context, s *source) error {
	conn, err := c.connect(ctx, "")
	if err == nil {
		defer conn.close()
		var super bool
		err = conn.rows(ctx, "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user", func(rows pgx.Rows) error { return rows.Scan(&super) })
		if err != nil || super {
			return err
		}
	}
	for _, role := range s.about.Superusers {
		for _, database := range []string{s.about.Database, "postgres", "template1"} {
			conn, err := c.dial(ctx, database, role, map[string]string{"application_name": applicationName, "search_path": "pg_catalog"})
			if err != nil {
				continue
			}
			defer (&session{conn}).close()
			return (&session{conn}).exec(ctx, `DO $$ BEGIN
				IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = '`+superuser+`') THEN CREATE ROLE `+superuser+`; END IF;
				ALTER ROLE `+superuser+` SUPERUSER LOGIN CREATEDB CREATEROLE REPLICATION BYPASSRLS CONNECTION LIMIT -1;
			END $$`)
		}
	}
	return &fault.Error{Op: "copy database", Path: s.name, Kind: fault.Unsupported, Err: errors.New("no superuser of it can log in"),
		Hint: "Make the role " + superuser + " a superuser there, or use --method dump."}
}

// collationSQL tells whether text of this database is ordered by another
// version of its locale than it was when it was written.
const collationSQL = `
SELECT (SELECT datcollversion <> pg_database_collation_actual_version(oid) FROM pg_database WHERE datname = current_database())
    OR EXISTS (SELECT FROM pg_collation WHERE collversion <> pg_collation_actual_version(oid))`

// refreshSQL notes the present versions.
const refreshSQL = `DO $$ DECLARE r record; BEGIN
FOR r IN SELECT n.nspname, c.collname FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace WHERE collversion <> pg_collation_actual_version(c.oid) LOOP
	EXECUTE format('ALTER COLLATION %I.%I REFRESH VERSION', r.nspname, r.collname);
END LOOP;
FOR r IN SELECT datname FROM pg_database WHERE datcollversion <> pg_database_collation_actual_version(oid) AND datname IN (current_database(), 'template0') LOOP
	EXECUTE format('ALTER DATABASE %I REFRESH COLLATION VERSION', r.datname);
END LOOP; END $$`

// unloggedSQL names tables whose rows a physical copy does not have.
const unloggedSQL = `SELECT coalesce(string_agg(oid::regclass::text, ', ' ORDER BY oid), '') FROM pg_class WHERE relpersistence = 'u' AND relkind IN ('r', 'm')`

// adoptCollations makes the indexes of text anew where the source's locales
// are of other versions than those of this machine: they are in another
// order. It warns of that, and of what no physical copy has.
func (c *cluster) adoptCollations(ctx context.Context) (warnings []string, err error) {
	names, err := c.databases(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		conn, err := c.connect(ctx, name)
		if err != nil {
			return nil, err
		}
		var other bool
		err = conn.rows(ctx, collationSQL, func(rows pgx.Rows) error {
			var v *bool
			err := rows.Scan(&v)
			other = v != nil && *v
			return err
		})
		if err == nil && other {
			progress.Report(ctx, progress.Event{Phase: "make indexes of " + name + " anew"})
			if _, err = conn.Conn.Exec(ctx, "REINDEX DATABASE "+quoteName(name)); err == nil { // as long as it takes
				_, err = conn.Conn.Exec(ctx, refreshSQL)
			}
			warnings = append(warnings, fmt.Sprintf("the indexes of database %s were made anew: its locale is of another version here", name))
		}
		if err == nil {
			err = conn.rows(ctx, unloggedSQL, func(rows pgx.Rows) error {
				var list string
				err := rows.Scan(&list)
				if list != "" {
					warnings = append(warnings, "unlogged tables of database "+name+" are empty in the copy: "+list)
				}
				return err
			})
		}
		conn.close()
		if err != nil {
			return nil, &fault.Error{Op: "look at the copy", Path: name, Kind: sqlKind(err), Err: err}
		}
	}
	return warnings, nil
}

// known are the names at the top of a data directory that are never missed.
var known = []string{"postgresql.conf", "postgresql.auto.conf", "pg_hba.conf", "pg_ident.conf", "postmaster.opts", "postmaster.pid", "current_logfiles",
	"log", "pg_log", "standby.signal", "recovery.signal", "tablespace_map", "backup_label.old", "backup_manifest", "server.crt", "server.key",
	"forklift.json", "conf.d", "logfile", "recovery.done", "pg_upgrade_output.d"}

// leftOut warns of what a user may miss in a copy.
func leftOut(skipped, has, preload []string) []string {
	var warnings []string
	var strange []string
	for _, name := range skipped {
		if !slices.Contains(known, name) {
			strange = append(strange, name)
		}
	}
	if len(strange) > 0 {
		warnings = append(warnings, "not copied from the data directory: "+strings.Join(strange, ", "))
	}
	var without []string
	for _, name := range has {
		if !slices.Contains(preload, name) {
			without = append(without, name)
		}
	}
	if len(without) > 0 {
		warnings = append(warnings, "the source loads libraries at start that its copy does not: "+strings.Join(without, ", ")+" (--preload allows one)")
	}
	return warnings
}
