package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"forklift/storage/fault"
	"forklift/storage/privatedir"
)

// socketHashBytes is the length of the name of a socket's own directory.
const socketHashBytes = 16

// SocketPlace is where the sockets of new databases would be.
type SocketPlace struct {
	Dir   string // holds the directories of the sockets; need not exist
	Bytes int    // of a socket's whole name
	Limit int    // that the system allows
	Err   error  // why no socket can be there, apart from its length
}

// Socket tells where sockets would be, and whether the system allows them. It
// makes nothing.
func Socket(opt Options) SocketPlace {
	c := &cluster{opt: opt}
	p := SocketPlace{Dir: c.socketParent(identity{Method: Own, UID: os.Geteuid(), GID: os.Getegid()}), Limit: maxSocketBytes}
	p.Bytes = len(p.Dir) + 1 + socketHashBytes + 1 + len(socketFile)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		p.Err = &fault.Error{Op: "make unix socket", Kind: fault.Unsupported, Err: err}
		return p
	}
	_ = syscall.Close(pair[0])
	_ = syscall.Close(pair[1])
	if info, err := os.Lstat(p.Dir); err == nil {
		if err := privatedir.Check("socket directory", p.Dir, os.Geteuid()); err != nil {
			p.Err = err
		} else if !info.IsDir() {
			p.Err = fmt.Errorf("%s is not a directory", p.Dir)
		}
	} else if parent, err := os.Stat(filepath.Dir(p.Dir)); err != nil || !parent.IsDir() {
		p.Err = fmt.Errorf("%s is not there", filepath.Dir(p.Dir))
	}
	return p
}
