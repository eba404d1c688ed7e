// Package fskind tells what kind of file system an open file is on.
//
// Two things depend on it: a store is not made where a lock or a flush may
// not mean what it says, and the times of a file are not trusted where they
// need not move when its content changes.
package fskind

import (
	"os"

	"forklift/storage/vfs"
)

// Kind is what matters about a file system.
type Kind uint8

// The kinds.
const (
	Local     Kind = iota // a disk; also what cannot be told
	Simulated             // another implementation of vfs.FS than the disk, in tests
	Memory                // tmpfs: stores through mmap never change a file's times
	Network               // NFS, SMB, 9P and the like
	User                  // served by a program (FUSE)
)

// String is the kind in an error's words.
func (k Kind) String() string {
	return [...]string{"a local disk", "simulated", "in memory", "a network file system", "a FUSE file system"}[k]
}

// TimesMove says whether the times of a file move whenever its content is
// changed by a system call.
func (k Kind) TimesMove() bool { return k == Local || k == Simulated }

// Of tells the kind of the file system that f is on.
func Of(f vfs.File) Kind {
	disk, ok := f.(interface{ OSFile() *os.File })
	if !ok {
		return Simulated
	}
	return ofDescriptor(int(disk.OSFile().Fd()))
}

// OfDir tells the kind of the file system that holds a directory; Local
// where that cannot be told.
func OfDir(fsys vfs.FS, dir string) Kind {
	f, err := fsys.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return Local
	}
	defer f.Close()
	return Of(f)
}
