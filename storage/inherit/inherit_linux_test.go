package inherit

import (
	"syscall"
	"testing"
)

func TestNothing(t *testing.T) {
	open, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(open)
	if err := Nothing(); err != nil {
		t.Fatal(err)
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(open), syscall.F_GETFD, 0)
	if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
		t.Errorf("descriptor %d has flags %d (%v)", open, flags, errno)
	}
	for _, fd := range []int{0, 1, 2} {
		if flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); errno == 0 && flags&syscall.FD_CLOEXEC != 0 {
			t.Errorf("descriptor %d would be closed", fd)
		}
	}
}
