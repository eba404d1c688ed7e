package postgres

import (
	"os"
	"syscall"
)

// insideID is the number that our user has inside a user namespace: any but 0.
const insideID = 1000

// attr makes a child a session of its own (a terminal's Ctrl-C is not for the
// server) that runs as id says.
func (id identity) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	switch id.Method {
	case Namespace:
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: insideID, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: insideID, HostID: os.Getegid(), Size: 1}}
	case Account:
		attr.Credential = &syscall.Credential{Uid: uint32(id.UID), Gid: uint32(id.GID)}
	}
	return attr
}
