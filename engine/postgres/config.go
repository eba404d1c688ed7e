package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"forklift/engine"
	"forklift/storage/durable"
	"forklift/storage/fault"
)

// Files of our own, outside the data directory, that a server is started with.
const (
	confName    = "postgresql.conf"
	hbaName     = "pg_hba.conf"
	identName   = "pg_ident.conf"
	loadName    = "load.conf" // present while files are loaded
	serviceName = "service.conf"
	logName     = "server.log"
	oldLogName  = "server.log.1"
)

// emptyService is a service file without settings.
const emptyService = "[forklift]\n"

// hbaText lets in whoever can enter the socket's directory: nobody but its
// owner. There is no line for TCP but where it was asked for, so that it stays
// shut even if a listening address got in.
const hbaText = `# Written by Forklift at each start. The directory of the socket is private.
local all all trust
local replication all trust
`

// hbaTCP lets in over loopback whoever knows a role's password.
const hbaTCP = "host all all " + loopback + "/32 scram-sha-256\nhost replication all " + loopback + "/32 scram-sha-256\n"

// writeConfig writes the files that the server reads beside the cluster's own
// postgresql.conf and postgresql.auto.conf.
func (c *cluster) writeConfig(slot engine.Slot, port int) error {
	hba := hbaText
	if port != 0 {
		hba += hbaTCP
	}
	conf := fmt.Sprintf(`# Written by Forklift at each start. The cluster's own settings count, but
# those that the command line gives (see postmaster.opts) win over them.
include_if_exists %s
include_if_exists %s
`, quoteConf(c.slotDir(slot)+"/postgresql.conf"), quoteConf(c.runFile(loadName)))
	if err := c.dropLoadConfig(); err != nil {
		return err
	}
	for name, text := range map[string]string{
		confName:    conf,
		hbaName:     hba,
		identName:   "# Written by Forklift at each start.\n",
		serviceName: emptyService,
	} {
		if err := c.writeOwn(name, text); err != nil {
			return err
		}
	}
	return nil
}

// writeOwn writes one of our files, unless it says that already.
func (c *cluster) writeOwn(name, text string) error {
	old, err := durable.ReadFile(c.opt.FS, c.runFile(name), maxConfBytes)
	if err == nil && string(old) == text {
		return nil
	}
	if err := durable.WriteFile(c.opt.FS, c.runFile(name), []byte(text), 0o600); err != nil {
		return &fault.Error{Op: "write configuration", Path: c.runFile(name), Err: err}
	}
	return nil
}

// dropLoadConfig removes the settings of a load, if one was cut off.
func (c *cluster) dropLoadConfig() error {
	err := c.opt.FS.Remove(c.runFile(loadName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Op: "remove load settings", Path: c.runFile(loadName), Err: err}
	}
	return nil
}

// serverArgs are the arguments of postgres. What is set here wins over every
// file of the cluster, ALTER SYSTEM included: a cluster's settings are code
// from wherever the cluster came from.
func (c *cluster) serverArgs(slot engine.Slot, socketDir string, inst *Installation, port int) []string {
	dir := c.slotDir(slot)
	args := []string{"-D", dir}
	set := func(name, value string) { args = append(args, "-c", name+"="+value) }
	// Where things are. A data_directory in a file would open another cluster.
	set("data_directory", dir)
	set("config_file", c.runFile(confName))
	set("hba_file", c.runFile(hbaName))
	set("ident_file", c.runFile(identName))
	set("external_pid_file", "")
	// Who can reach it.
	if port == 0 {
		set("listen_addresses", "")
		set("port", serverPort)
	} else {
		set("listen_addresses", loopback)
		set("port", strconv.Itoa(port))
		set("password_encryption", "scram-sha-256")
	}
	set("unix_socket_directories", `"`+strings.ReplaceAll(socketDir, `"`, `""`)+`"`)
	set("unix_socket_group", "")
	set("unix_socket_permissions", "0700")
	set("ssl", "off")
	// What it may do elsewhere: nothing is archived or replicated from a
	// state that may be put back any time.
	set("archive_mode", "off")
	set("max_logical_replication_workers", "0")
	// What it must not do: durability is never relaxed.
	set("fsync", "on")
	set("full_page_writes", "on")
	set("data_sync_retry", "off")
	// Its messages go to our log.
	set("logging_collector", "off")
	set("log_destination", "stderr")
	if runtime.GOOS == "linux" {
		set("recovery_init_sync_method", "syncfs")
	}
	if jitBroken(inst.LibDir) {
		set("jit", "off")
	}
	return args
}

// quoteConf quotes a value for a configuration file.
func quoteConf(s string) string {
	return "'" + strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(s) + "'"
}

// dropSignals removes the files that would make the cluster a standby of, or
// recover it from, some other place.
func (c *cluster) dropSignals(slot engine.Slot) error {
	for _, name := range []string{"standby.signal", "recovery.signal"} {
		path := filepath.Join(c.slotDir(slot), name)
		if _, err := c.opt.FS.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := durable.Remove(c.opt.FS, path); err != nil {
			return &fault.Error{Op: "remove", Path: path, Err: err}
		}
	}
	return nil
}
