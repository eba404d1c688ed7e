package daemon

import "golang.org/x/sys/unix"

// peerUser asks the kernel who is at the other end of a socket.
func peerUser(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

// replace makes the file descriptor to another name of from.
func replace(from, to int) error { return unix.Dup2(from, to) }

// resident would be the memory of this process; this system tells only its
// maximum.
func resident() int64 { return 0 }
