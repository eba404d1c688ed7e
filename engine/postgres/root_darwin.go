package postgres

import "syscall"

// attr makes a child a session of its own (a terminal's Ctrl-C is not for the
// server) that runs as id says. There are no user namespaces here: trying one
// fails, so that root gets an account.
func (id identity) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	switch id.Method {
	case Namespace:
		attr.Chroot = "/no user namespaces on this system"
	case Account:
		attr.Credential = &syscall.Credential{Uid: uint32(id.UID), Gid: uint32(id.GID)}
	}
	return attr
}
