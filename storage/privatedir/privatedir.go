// Package privatedir proves that a directory is private: the sockets of
// servers and of the daemon are only as safe as the directory they are in.
//
// The proof is about the present moment. It holds on, because only the owner
// (and root) can change what it looks at; the directories above must be such
// that nobody else may rename entries of theirs (sticky, or the user's own).
package privatedir

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"forklift/storage/fault"
)

// Check proves that dir is a real directory (no symbolic link) of the user
// uid, that nobody else can enter. what names its use in the error, such as
// "socket directory"; an error has kind Untrusted.
func Check(what, dir string, uid int) error {
	bad := func(err error) error {
		return &fault.Error{Op: "use " + what, Path: dir, Kind: fault.Untrusted, Err: err,
			Hint: "Others could reach or replace what listens there; remove the directory if it is not needed, or give it to its owner with mode 0700."}
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
