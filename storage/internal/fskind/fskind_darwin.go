package fskind

import (
	"strings"

	"golang.org/x/sys/unix"
)

func ofDescriptor(fd int) Kind {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return Local
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	switch {
	case name == "tmpfs":
		return Memory
	case strings.Contains(name, "fuse"):
		return User
	case st.Flags&unix.MNT_LOCAL == 0:
		return Network
	}
	return Local
}
