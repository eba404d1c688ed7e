package gitdir

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"forklift/storage/fault"
)

// checkOwner fails with kind Untrusted unless path belongs to the user: the
// effective one, or for root also the one who called sudo. The rule is git's
// (safe.directory), without its list of exceptions.
func checkOwner(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at owner: %w", err)
	}
	st := stat(info)
	if ownedBy(st.Uid, os.Geteuid(), os.Getenv("SUDO_UID")) {
		return nil
	}
	return &fault.Error{
		Op: "find repository", Path: path, Kind: fault.Untrusted,
		Err:  fmt.Errorf("%s belongs to user %d, not to you (%d)", path, st.Uid, os.Geteuid()),
		Hint: "Work in a repository of your own, or change its owner.",
	}
}

// stat is what the system itself says of a file; on every Unix os.Lstat has it.
func stat(info os.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

// ownedBy says whether a file of owner is one's own for the effective user.
func ownedBy(owner uint32, effective int, sudo string) bool {
	if int64(owner) == int64(effective) {
		return true
	}
	if effective != 0 || sudo == "" {
		return false
	}
	caller, err := strconv.ParseUint(sudo, 10, 32)
	return err == nil && uint32(caller) == owner
}
