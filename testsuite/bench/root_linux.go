package main

import (
	"os"
	"os/exec"
	"syscall"
)

// asAnotherUser runs a program in a user namespace in which it is not root:
// PostgreSQL refuses to run as root.
func asAnotherUser(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
	}
}
