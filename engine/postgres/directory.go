package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"forklift/engine"
	"forklift/engine/internal/process"
	"forklift/engine/postgres/internal/proc"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Directory is a data directory whose server somebody else starts and stops:
// what can be told about it from its files, and from its server while that
// runs. Kinds of database that bring a supervisor of their own build on it.
type Directory struct{ c *cluster }

// DirectoryOptions describe where a Directory and its server are.
type DirectoryOptions struct {
	FS     vfs.FS
	Branch engine.Branch
	Dir    func(engine.Slot) string // the data directory of a slot
	// Server tells how to reach the running server; it is asked for each session.
	Server func() (Server, error)
	// User is a superuser, Database one that always can be connected to.
	User, Database string
	// Selected is the slot whose version counts for a session.
	Selected func() engine.Slot
}

// Server is the address of a server.
type Server struct {
	Host, Port string
	Password   engine.Secret
}

// NewDirectory describes a data directory. It looks at nothing yet.
func NewDirectory(opt DirectoryOptions) *Directory {
	c := &cluster{opt: Options{FS: opt.FS}, branch: opt.Branch, hosted: &opt, boot: process.BootID(), settings: Settings{Database: opt.Database}}
	return &Directory{c}
}

// hostedMajor is the version of the directory whose server is asked; 0 when
// that cannot be read.
func (c *cluster) hostedMajor() int {
	major, err := c.slotMajor(c.hosted.Selected())
	if err != nil {
		return 0
	}
	return major
}

// Empty reports a slot that holds no cluster.
func (d *Directory) Empty(slot engine.Slot) (bool, error) { return d.c.emptySlot(slot) }

// Major is the major version that a slot's cluster is of.
func (d *Directory) Major(slot engine.Slot) (int, error) { return d.c.slotMajor(slot) }

// Clean reports whether the control file says that the cluster was shut down
// cleanly. One that cannot be read says that it was not.
func (d *Directory) Clean(slot engine.Slot) bool {
	control, err := d.c.control(slot)
	return err == nil && control.Clean()
}

// Occupant is a live process of PostgreSQL that works in a slot's directory; 0
// for none.
func (d *Directory) Occupant(slot engine.Slot) (pid int, err error) { return d.c.foreign(slot) }

// Rules tells what of a slot's directory is saved, relative to it, and what was
// kept against the usual rules. At rest (hot is false) the caller has proven
// that nothing runs; a cluster that was not stopped cleanly is an error.
func (d *Directory) Rules(ctx context.Context, slot engine.Slot, hot bool) (storage.Rules, []string, error) {
	dir := d.c.slotDir(slot)
	root, err := d.c.opt.FS.OpenRoot(dir)
	if err != nil {
		return storage.Rules{}, nil, &fault.Error{Op: "open data directory", Path: dir, Err: err}
	}
	defer root.Close()
	if err := refuseOutside(root, dir); err != nil {
		return storage.Rules{}, nil, err
	}
	if err := d.c.refuseOther(ctx, slot, false); err != nil {
		return storage.Rules{}, nil, err
	}
	if hot {
		return d.c.rules(root, nil), nil, nil
	}
	control, err := d.c.control(slot)
	if err != nil {
		return storage.Rules{}, nil, err
	}
	if !control.Clean() {
		return storage.Rules{}, nil, &fault.Error{Op: "read stopped database", Path: dir, Kind: fault.Failed,
			Err:  fmt.Errorf("the control file says %q", control.State),
			Hint: "Start the database, so that it recovers, and stop it again."}
	}
	return d.c.rules(root, control), d.c.Warnings(), nil
}

// Facts describes what a slot holds, from its files.
func (d *Directory) Facts(ctx context.Context, slot engine.Slot) (json.RawMessage, error) {
	return d.c.Facts(ctx, slot)
}

// CheckFacts says why a cluster with these facts cannot be used by any server
// of this machine, or nil. Which programs there are is the caller's to know.
func (d *Directory) CheckFacts(data json.RawMessage) error {
	_, err := readFacts(data)
	return err
}

// Settle runs a CHECKPOINT in the running server.
func (d *Directory) Settle(ctx context.Context) error { return d.c.Settle(ctx) }

// Clients lists the sessions of the running server that are not ours, but for
// those of the roles in services.
func (d *Directory) Clients(ctx context.Context, services func(role string) bool) ([]engine.Client, error) {
	all, err := d.c.Clients(ctx)
	var list []engine.Client
	for _, client := range all {
		if !services(client.User) {
			list = append(list, client)
		}
	}
	return list, err
}

// Observe asks every database of the running server about its tables.
func (d *Directory) Observe(ctx context.Context) (engine.Observation, error) {
	return d.c.Observe(ctx)
}

// Changes is engine.Database's, for observations of a Directory.
func (d *Directory) Changes(before, after json.RawMessage) ([]engine.TableChange, error) {
	return d.c.Changes(before, after)
}

// TableFiles is engine.Database's. changed names files relative to the data
// directory; their trees do not matter.
func (d *Directory) TableFiles(before, after json.RawMessage, changed []engine.ChangedFile) ([]engine.TableFile, error) {
	list := make([]engine.ChangedFile, len(changed))
	for i, f := range changed {
		list[i] = f
		list[i].Tree = treeName
	}
	return d.c.TableFiles(before, after, list)
}

// Load runs plain SQL files against the running server, each in a session of
// its own, and vacuums in the end. The first error ends it and names file and
// line.
func (d *Directory) Load(ctx context.Context, files []string, database string) error {
	if database == "" {
		database = d.c.hosted.Database
	}
	if err := checkDatabaseName(database); err != nil {
		return &fault.Error{Op: "load files", Kind: fault.Usage, Err: err, Hint: "Choose another name for --database."}
	}
	if err := d.c.ensureDatabase(ctx, database); err != nil {
		return err
	}
	if err := d.c.loadFiles(ctx, files, database); err != nil {
		return err
	}
	return d.c.vacuumAll(ctx)
}

// Ping opens a session and closes it again.
func (d *Directory) Ping(ctx context.Context) error {
	conn, err := d.c.connect(ctx, "")
	if err != nil {
		return errors.Join(errors.New("the database does not answer"), err)
	}
	conn.close()
	return nil
}

// Definitions is engine.Definer's, for observations of a Directory.
func (d *Directory) Definitions(before, after json.RawMessage) ([]engine.DefinitionChange, bool, error) {
	return d.c.Definitions(before, after)
}

// PortFree is nil if a server could have a port of 127.0.0.1 now. Nothing
// listens there at any time.
func PortFree(port int) error { return bindable(port) }

// PortHolders describes the processes that listen at a port, as far as they
// are ours to look at: pid and command line.
func PortHolders(port int) []string {
	var list []string
	for _, pid := range proc.Listeners(port) {
		list = append(list, fmt.Sprintf("%d %s", pid, proc.Command(pid)))
	}
	return list
}

// ProcessHolds reports a process that has a file open, as far as that can be told.
func ProcessHolds(pid int, name string) bool {
	has, err := proc.Holds(pid, name)
	return err == nil && has
}

// ProcessCommand is the command line of a live process, its parts separated
// by spaces; "" when it is dead, or cannot be told.
func ProcessCommand(pid int) string {
	if !process.Alive(pid, 0) {
		return ""
	}
	return proc.Command(pid)
}
