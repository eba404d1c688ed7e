package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"forklift/engine"
	"forklift/storage/durable"
	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/inherit"
	"forklift/storage/progress"
	"forklift/storage/record"
)

// templateFormat changes when Init makes something else from the same options.
const templateFormat = 2

// initArgs are the options of a new cluster, without its place. The builtin
// provider's locale is the same on every machine, so that an index of text
// is in order wherever a checkpoint is restored.
func initArgs(inst *Installation) []string {
	args := []string{"-U", superuser, "-E", "UTF8", "-A", "trust", "--data-checksums", "--wal-segsize=1", "--no-sync"}
	if inst.Major >= 17 {
		args = append(args, "--locale-provider=builtin", "--locale=C.UTF-8")
	} else {
		args = append(args, "--locale-provider=libc", "--locale=C")
	}
	// These go into the cluster's own postgresql.conf: ALTER SYSTEM can
	// change them. Small buffers make starts and stops quick; the system's
	// cache serves reads as well.
	for _, setting := range []string{"shared_buffers=32MB", "max_wal_size=256MB", "huge_pages=off", "timezone=UTC", "log_timezone=UTC"} {
		args = append(args, "-c", setting)
	}
	return args
}

// Template names what Init makes: the version and place of the programs, the
// options, the database's name and who owns the files.
func (c *cluster) Template(ctx context.Context) (string, error) {
	inst, err := c.installed(ctx, 0)
	if err != nil {
		return "", err
	}
	id, err := c.identity(ctx)
	if err != nil {
		return "", err
	}
	password, err := c.password()
	if err != nil {
		return "", err
	}
	parts := []string{fmt.Sprint(templateFormat), password, inst.Bin, inst.Full, c.newDatabaseName(), string(id.Method), fmt.Sprint(id.UID)}
	sum := sha256.Sum256([]byte(strings.Join(append(parts, initArgs(inst)...), "\x00")))
	return fmt.Sprintf("%s-%s-%s", kindName, inst.Version, hex.EncodeToString(sum[:8])), nil
}

// newDatabaseName is the database that a new cluster gets.
func (c *cluster) newDatabaseName() string {
	if c.settings.Database != "" {
		return c.settings.Database
	}
	return defaultDatabase
}

// Init makes a new cluster with one empty database in the slot's empty
// directory, and leaves it at rest and durable. After an error the directory
// holds anything; the server is stopped.
func (c *cluster) Init(ctx context.Context, slot engine.Slot) error {
	empty, err := c.emptySlot(slot)
	if err != nil {
		return err
	}
	dir := c.slotDir(slot)
	if !empty {
		return &fault.Error{Op: "make database", Path: dir, Err: errors.New("the directory is not empty")}
	}
	if err := c.ensureRunDir(); err != nil {
		return err
	}
	inst, err := c.installed(ctx, 0)
	if err != nil {
		return err
	}
	id, err := c.identity(ctx)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(c.opt.FS, dir, 0o700); err != nil {
		return &fault.Error{Op: "make database", Path: dir, Err: err}
	}
	if err := c.own(id, slot, inst); err != nil {
		return err
	}
	if err := c.initdb(ctx, slot, inst, id); err != nil {
		return err
	}
	if err := c.firstStart(ctx, slot); err != nil {
		return err
	}
	if err := durable.SyncTree(c.opt.FS, dir); err != nil {
		return &fault.Error{Op: "make database", Path: dir, Err: err}
	}
	return nil
}

// initdb fills a slot. The program inherits the live lock: if we are killed,
// nobody takes the slot for unused while it goes on.
func (c *cluster) initdb(ctx context.Context, slot engine.Slot, inst *Installation, id identity) (err error) {
	lock, err := c.lockLive(ctx, slot)
	if err != nil {
		return err
	}
	if lock == nil {
		return &fault.Error{Op: "make database", Path: c.slotDir(slot), Kind: fault.Busy, Err: errors.New("the server runs")}
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := inherit.Nothing(); err != nil {
		return &fault.Error{Op: "make database", Err: err}
	}
	progress.Report(ctx, progress.Event{Phase: "make database"})
	args := append([]string{"-D", c.slotDir(slot)}, initArgs(inst)...)
	failpoint.Hit("initdb", c.slotDir(slot))
	_, err = c.opt.output(ctx, initTimeout, id.attr(), lock.File(), filepath.Join(inst.Bin, "initdb"), args...)
	return err
}

// firstStart makes the database and stops again. Frozen, it is not written to
// by the first who only reads it.
func (c *cluster) firstStart(ctx context.Context, slot engine.Slot) (err error) {
	if err := c.Start(ctx, slot); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(ctx)) }()
	name := c.newDatabaseName()
	if name != "postgres" {
		if err := c.createDatabase(ctx, name); err != nil {
			return err
		}
	}
	if err := c.mark(slot, name); err != nil {
		return err
	}
	if err := c.setPassword(ctx); err != nil {
		return err
	}
	conn, err := c.connect(ctx, name)
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.exec(ctx, "VACUUM (FREEZE)")
}

// createDatabase makes a database as CREATE DATABASE does by default.
func (c *cluster) createDatabase(ctx context.Context, name string) error {
	conn, err := c.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.exec(ctx, "CREATE DATABASE "+quoteName(name))
}

// mark notes in the data directory which database clients are sent to.
func (c *cluster) mark(slot engine.Slot, database string) error {
	name := c.slotDir(slot) + "/" + defaultName
	err := record.Write(c.opt.FS, name, defaultKind, defaultFormat, defaultRecord{Database: database})
	if err != nil {
		return &fault.Error{Op: "mark database", Path: name, Err: err}
	}
	return nil
}
