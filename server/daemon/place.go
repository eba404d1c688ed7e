package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

const (
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
	if run := getenv(environ, "XDG_RUNTIME_DIR"); filepath.IsAbs(run) && private(run, uid) == nil {
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
	return private(p.Dir, uid)
}

// private proves that a directory is a real one, of that user, that nobody
// else can enter.
func private(dir string, uid int) error {
	bad := func(err error) error {
		return &fault.Error{Op: "use the daemon's directory", Path: dir, Kind: fault.Untrusted, Err: err,
			Hint: "Others could reach or replace the daemon's socket there; remove the directory if it is not needed, or give it to its owner with mode 0700."}
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return bad(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return bad(errors.New("not a directory"))
	case !ok || int(stat.Uid) != uid:
		return bad(fmt.Errorf("belongs to another user than %d", uid))
	case info.Mode().Perm()&0o077 != 0:
		return bad(fmt.Errorf("mode %04o lets others in", info.Mode().Perm()))
	}
	return nil
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
