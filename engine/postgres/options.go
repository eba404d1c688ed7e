package postgres

import (
	"os"
	"strings"
	"time"

	"forklift/storage/clock"
	"forklift/storage/vfs"
)

// Options are what the supervisor gets from the process it runs in. The same
// options serve all branches of a project.
type Options struct {
	FS    vfs.FS      // the machine's disk; servers cannot run on another one
	Clock clock.Clock // for what status shows

	// Bin is the directory with initdb and postgres that the user named
	// (forklift.toml); "" looks for one. A branch's own choice
	// (engine.Branch.Installation) goes before it.
	Bin string
	// CacheDir holds the embedded default; made when it is installed.
	CacheDir string
	// RuntimeDir holds the directories of sockets; made with mode 0700.
	// "" is $XDG_RUNTIME_DIR/forklift where that is ours, else forklift-<uid>
	// in the system's shared temporary directory.
	RuntimeDir string
	// Getenv reads the environment; nil is os.Getenv.
	Getenv func(string) string

	// Root says how servers run when Forklift runs as root; "" finds out
	// and remembers it per branch.
	Root RootMethod
	// Account is the unprivileged account for RootMethod Account; "" takes
	// postgres, else nobody.
	Account string
}

// Limits of the supervisor. Each wait says what it waited for when it ends.
const (
	startTimeout   = 60 * time.Second // exec to ready, after a clean stop
	recoverTimeout = 10 * time.Minute // the same with crash recovery before it
	stopTimeout    = 60 * time.Second // SIGINT to a free live lock
	lockTimeout    = 5 * time.Second  // for leftovers of a server that died
	adoptTimeout   = 5 * time.Second  // for the pid file of a server whose starter died
	connectTimeout = 10 * time.Second // to be let in by a running server
	observeTimeout = 2 * time.Second  // a last look before a stop
	queryTimeout   = 5 * time.Minute  // of one statement of ours, CHECKPOINT included
	initTimeout    = 2 * time.Minute  // initdb
	probeTimeout   = 20 * time.Second // postgres -V, pg_config
	installTimeout = 10 * time.Minute // npm

	// signalAgain is how often a server that was asked to end is asked again:
	// one that has just been started by a process that ignores SIGINT (a
	// command in the background of a script) does not hear the first ones.
	// Asking a server that is ending already changes nothing.
	signalAgain = 200 * time.Millisecond
	pollEvery   = time.Millisecond // a start takes 20 of them, a stop 10

	maxPIDFileBytes   = 4 << 10
	maxVersionBytes   = 64
	maxConfBytes      = 1 << 20 // of postgresql.conf and postgresql.auto.conf
	maxControlBytes   = 64 << 10
	maxOutputBytes    = 64 << 10 // of a program that we run, kept for its error
	maxLogBytes       = 8 << 20  // a longer log is set aside at the next start
	logTailBytes      = 4 << 10  // of the log, in an error
	maxSocketBytes    = 103      // sun_path of macOS without its last byte
	maxStatementBytes = 64 << 20 // one statement of a file that is loaded
	maxTables         = 100_000  // that Observe tells about
)

// getenv reads the environment.
func (o Options) getenv(name string) string {
	if o.Getenv != nil {
		return o.Getenv(name)
	}
	return os.Getenv(name)
}

// childEnv is the environment of the programs of an installation: little,
// because code in the database can read it, and nothing that changes what
// they do (PG*, LC_*).
func (o Options) childEnv() []string {
	env := []string{"LC_ALL=C", "TZ=UTC", "PGTZ=UTC"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"} {
		if v := o.getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// pathDirs are the absolute directories of PATH.
func (o Options) pathDirs() []string {
	var dirs []string
	for _, dir := range strings.Split(o.getenv("PATH"), ":") {
		if strings.HasPrefix(dir, "/") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
