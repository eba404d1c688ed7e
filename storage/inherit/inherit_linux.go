package inherit

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Nothing marks every descriptor above the standard three, so that a program
// started from now on inherits only what it is given.
func Nothing() error {
	err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Kernels before 5.11 do not know the flag, or the call.
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list open files: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
