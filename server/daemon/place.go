package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"forklift/storage/fault"
	"forklift/storage/privatedir"
	"forklift/storage/vfs"
)

const (
	// directoryName is what errors call the daemon's directory.
	directoryName = "the daemon's directory"
	// maxSocketBytes is the longest name of a socket that every system takes
	// (macOS: 104 with the zero at its end).
	maxSocketBytes = 103
	// sharedTemp is where the daemons of users without a runtime directory
	// are. TMPDIR is too long a name on macOS, and differs between logins.
	sharedTemp = "/tmp"
)

// Place is where a user's daemon is found.
type Place struct {
	Dir    string // 0700; only its owner can reach the socket
	Socket string
	Lock   string // flock: held by the daemon while it lives; never removed
	Spawn  string // flock: held by the one front that starts a daemon
	Log    string // its log; Log+".1" is the part before
}

// PlaceOf tells the place for an environment, the user that Forklift runs as,
// and the directory of Forklift's state. Nothing is made.
func PlaceOf(environ []string, uid int, stateDir string) (Place, error) {
	dir := filepath.Join(sharedTemp, fmt.Sprintf("forklift-%d", uid))
	if run := getenv(environ, "XDG_RUNTIME_DIR"); filepath.IsAbs(run) && privatedir.Check(directoryName, run, uid) == nil {
		dir = filepath.Join(run, "forklift")
	}
	name := filepath.Join(dir, fmt.Sprintf("d%d", wireFormat))
	p := Place{Dir: dir, Socket: name + ".sock", Lock: name + ".lock", Spawn: name + ".spawn", Log: filepath.Join(stateDir, "daemon.log")}
	if n := len(p.Socket); n > maxSocketBytes {
		return Place{}, &fault.Error{Op: "choose the daemon's socket", Path: p.Socket, Kind: fault.Unsupported,
			Err:  fmt.Errorf("its name would have %d bytes, %d is the most", n, maxSocketBytes),
			Hint: "Set XDG_RUNTIME_DIR to a directory with a shorter name."}
	}
	return p, nil
}

// ensure makes the directory, or proves that it is private.
func (p Place) ensure(disk vfs.FS, uid int) error {
	err := disk.Mkdir(p.Dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return &fault.Error{Op: "make the daemon's directory", Path: p.Dir, Err: err}
	}
	return privatedir.Check(directoryName, p.Dir, uid)
}

// getenv finds a variable; of two the last counts.
func getenv(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}
