package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// memLock is a lock that is held.
type memLock struct {
	m    *Mem
	name string
	node *memNode // nil once released
	n    int      // what releasing adds to locks
}

// Lock takes a lock.
func (v *memView) Lock(name string, exclusive bool) (Lock, error) {
	l := &memLock{m: v.m, name: name, n: -1}
	call := func(s memSpot) error {
		switch {
		case s.node == nil:
			return errNoLockFile
		case s.node.typ == fs.ModeSymlink:
			return syscall.ELOOP
		case s.node.typ.IsDir():
			return syscall.EISDIR
		case s.node.locks < 0 || exclusive && s.node.locks > 0:
			return ErrLocked
		}
		if exclusive {
			l.n = 1
		}
		l.node = s.node
		l.node.locks -= l.n
		return nil
	}
	err := v.on(OpLock, name, call)
	if errors.Is(err, errNoLockFile) {
		err = v.on(OpCreate, name, func(s memSpot) error {
			if s.node == nil {
				if err := s.put(); err != nil {
					return err
				}
				s.node = v.m.newIn(s.dir, 0, 0o600)
				v.m.enact(memChange{s.dir, s.base, s.node})
			}
			return call(s)
		})
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// errNoLockFile tells Lock that it has to make the file.
var errNoLockFile = errors.New("no lock file")

// Unlock releases the lock.
func (l *memLock) Unlock() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.node == nil {
		return pathError("unlock", l.name, fs.ErrClosed)
	}
	l.node.locks += l.n
	l.node = nil
	return nil
}

// File is nil.
func (l *memLock) File() *os.File { return nil }
