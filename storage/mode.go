package storage

import (
	"os"

	"forklift/storage/vfs"
)

// MaxMode has all bits of a mode that an entry can have: those of owner,
// group and others, setuid, setgid and sticky.
const MaxMode = 0o7777

// The bits of a mode that give whoever runs a file the rights of its owner or
// of its group.
const (
	setuidBit = 0o4000
	setgidBit = 0o2000
	plainBits = 0o777
)

// Mode gives the bits that an entry has of the mode of what info describes; see
// KeptMode.
func Mode(info vfs.Info) uint32 { return KeptMode(info, info.Bits()) }

// KeptMode gives those bits of a mode that are saved of, and given to, what
// info describes. They are all, but for setuid and setgid of a regular file of
// somebody else, and setgid of one that does not have the group which new
// files get. Owners are not saved: what is restored is ours. If it kept the bits,
// then whoever could put a program of his own among our files had it run with our
// rights after a restore. Where such a bit is wanted and this leaves it
// out, it is taken for right without.
func KeptMode(info vfs.Info, mode uint32) uint32 {
	if mode&(setuidBit|setgidBit) == 0 || !info.IsRegular() {
		return mode
	}
	if int64(info.UID) != int64(os.Geteuid()) {
		return mode &^ (setuidBit | setgidBit)
	}
	if int64(info.GID) != int64(os.Getegid()) {
		return mode &^ setgidBit
	}
	return mode
}
