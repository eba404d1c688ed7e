package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"forklift/engine"
	"forklift/engine/config"
	"forklift/engine/internal/process"
	"forklift/storage/fault"
)

// Names of what a cluster is called.
const (
	kindName        = "postgres"
	treeName        = "pgdata"
	superuser       = "postgres"
	defaultDatabase = "app"
	serverPort      = "5432" // part of the socket's name, where nothing listens on TCP
)

// maxDatabaseName is NAMEDATALEN - 1.
const maxDatabaseName = 63

// Settings are the kind's keys in the `database` object of .forklift.json.
type Settings struct {
	// Database is the name that clients are sent to; "" is the one that
	// the seed was loaded into, else "app".
	Database string `json:"database"`
}

// Describe tells what .forklift.json can say about this kind.
func Describe() config.Kind {
	return config.Kind{
		Name: kindName, Doc: "A PostgreSQL server of the worktree's own.",
		Keys: []config.Key{{Name: databaseKey, Type: config.Text, Default: `"` + defaultDatabase + `"`,
			Doc: "The name of the database that clients are sent to. Without it that is the one the seed was loaded into, else `" + defaultDatabase + "`."}},
		Check: func(settings json.RawMessage) error { return new(Settings).parse(settings) },
	}
}

// databaseKey is the key of Settings.Database.
const databaseKey = "database"

// cluster is the engine's Database for one branch.
type cluster struct {
	opt      Options
	branch   engine.Branch
	settings Settings
	boot     string            // id of this boot of the machine
	hosted   *DirectoryOptions // nil for a server of our own

	mu       sync.Mutex
	warnings []string      // of the last Trees at rest
	inst     *Installation // chosen before, for its major version
}

// Opener gives the engine's way to open a branch's database. Opening looks at
// nothing and starts nothing. Unknown settings are an error of kind Usage.
func Opener(opt Options) engine.OpenDatabase {
	return func(_ context.Context, branch engine.Branch, settings json.RawMessage) (engine.Database, error) {
		c := &cluster{opt: opt, branch: branch, boot: process.BootID()}
		if branch.Installation != "" {
			c.opt.Bin = branch.Installation
		}
		if err := c.settings.parse(settings); err != nil {
			return nil, err
		}
		return c, nil
	}
}

// parse reads the settings strictly.
func (s *Settings) parse(data json.RawMessage) error {
	bad := func(err error) error {
		return &fault.Error{Op: "read database settings", Kind: fault.Usage, Err: err,
			Hint: `The database object of .forklift.json may hold "kind" and "database", the name that clients are sent to.`}
	}
	if len(bytes.TrimSpace(data)) == 0 || string(bytes.TrimSpace(data)) == "null" {
		return nil
	}
	// The engine has read kind already, and may pass the object whole.
	var all struct {
		Settings
		Kind string `json:"kind"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&all); err != nil {
		return bad(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return bad(errors.New("more than one value"))
	}
	if all.Kind != "" && all.Kind != kindName {
		return bad(fmt.Errorf("kind %q is not %q", all.Kind, kindName))
	}
	*s = all.Settings
	if s.Database == "" {
		return nil
	}
	if err := checkDatabaseName(s.Database); err != nil {
		return bad(err)
	}
	return nil
}

// checkDatabaseName refuses what PostgreSQL would cut or cannot store.
func checkDatabaseName(name string) error {
	switch {
	case name == "" || len(name) > maxDatabaseName:
		return fmt.Errorf("a database name has 1 to %d bytes, %q has %d", maxDatabaseName, name, len(name))
	case strings.ContainsAny(name, "\x00\r\n"):
		return fmt.Errorf("the database name %q has a line break in it", name)
	case name == "template0" || name == "template1":
		return fmt.Errorf("%q is a template that new databases are copied from", name)
	}
	return nil
}

// Kind is "postgres".
func (c *cluster) Kind() string { return kindName }

// slotDir is the data directory of a slot.
func (c *cluster) slotDir(slot engine.Slot) string {
	if c.hosted != nil {
		return c.hosted.Dir(slot)
	}
	return c.branch.SlotDir(slot)
}

// runFile is a file of our own, outside the slots.
func (c *cluster) runFile(name string) string { return filepath.Join(c.branch.RunDir(), name) }

// Warnings tells what the last Trees at rest kept against the usual rules.
func (c *cluster) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.warnings...)
}
