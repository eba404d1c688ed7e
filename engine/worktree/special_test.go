package worktree

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func mkfifo(t testing.TB, name string) {
	t.Helper()
	check(t, unix.Mkfifo(name, 0o644))
}

// mksocket leaves a socket at name; the name must be short.
func mksocket(t testing.TB, name string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	check(t, err)
	l.SetUnlinkOnClose(false)
	check(t, l.Close())
}
