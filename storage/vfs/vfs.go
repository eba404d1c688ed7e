// Package vfs makes the file system a parameter.
//
// Everything that Forklift's storage and engine do to files goes through an
// [FS], so that the same code runs on the real disk ([OS]), in memory with a
// model of what a power cut leaves ([Mem]), and with errors injected at every
// call ([Inject]). A failpoint is in front of each state-changing call of OS.
//
// A file system comes in two shapes with the same methods. The one that [OS]
// returns takes absolute names. A [Root], made by OpenRoot, takes
// slash-separated names relative to its directory and cannot leave it,
// whatever symbolic links are planted meanwhile, because it follows none, in
// no element of a name (ELOOP or ENOTDIR); "." is the directory itself, and
// other names have no empty, "." or ".." elements (fs.ErrInvalid). Names hold
// any bytes but NUL. Working in one directory is fastest in a Root of its
// own: a name of one element costs one system call, a longer one three.
// Worktrees and slots are only ever touched through a Root.
//
// Errors are *fs.PathError and satisfy errors.Is with fs.ErrNotExist,
// fs.ErrExist and fs.ErrPermission and the syscall errnos. Methods are safe
// for concurrent use; what concurrent writers of one file leave is undefined.
package vfs

import (
	"io"
	"io/fs"
	"os"
)

// File is an open file or directory.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	// Name is the name it was opened by.
	Name() string
	// Stat describes the open file.
	Stat() (Info, error)
	// Truncate sets the size; bytes that it adds are zero.
	Truncate(size int64) error
	// Sync makes the content (for a directory: its entries) durable. An
	// error is final: what was written may be lost, and must not be retried.
	Sync() error
}

// Bits gives the bits of a mode as chmod(2) takes them, without the type: at
// most 0o7777, with setuid, setgid and sticky where Unix has them. An
// fs.FileMode has these three elsewhere.
func Bits(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for i, bit := range specialBits {
		if m&bit != 0 {
			bits |= 0o1000 << i
		}
	}
	return bits
}

// FileMode gives the mode that has the given bits as chmod(2) takes them. It
// is what Chmod and Mkdir want; others than 0o7777 are ignored.
func FileMode(bits uint32) fs.FileMode {
	m := fs.FileMode(bits) & fs.ModePerm
	for i, bit := range specialBits {
		if bits&(0o1000<<i) != 0 {
			m |= bit
		}
	}
	return m
}

// specialBits are the modes that 0o1000, 0o2000 and 0o4000 stand for.
var specialBits = [...]fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid}

// Info is what lstat tells. Times are in nanoseconds since 1970.
type Info struct {
	Name   string      // base name
	Size   int64       // bytes
	Mode   fs.FileMode // type and permission bits, as os.FileInfo has them
	Mtime  int64       // content changed
	Ctime  int64       // inode changed; no program can set it
	Dev    uint64
	Ino    uint64
	UID    uint32
	GID    uint32
	Blocks int64 // 512-byte blocks allocated; fewer than Size asks for means holes
	Nlink  uint64
}

// Bits are the mode's bits as chmod(2) takes them: see [Bits].
func (i Info) Bits() uint32 { return Bits(i.Mode) }

// IsDir reports a directory.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// IsRegular reports a regular file.
func (i Info) IsRegular() bool { return i.Mode.IsRegular() }

// IsSymlink reports a symbolic link.
func (i Info) IsSymlink() bool { return i.Mode&fs.ModeSymlink != 0 }

// Entry is a directory entry: its base name and its type bits.
type Entry struct {
	Name string
	Type fs.FileMode
}

// Space is the room of a file system, in bytes, for the calling user.
type Space struct {
	FreeBytes  int64
	TotalBytes int64
}

// FS is a file system.
type FS interface {
	// OpenFile opens with os.O_* flags. It never follows a symbolic link in
	// the last element (ELOOP) and never blocks on a FIFO.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Mkdir makes one directory with exactly perm, whatever the umask.
	Mkdir(name string, perm fs.FileMode) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// Rename moves atomically and replaces a file that has the new name.
	Rename(oldname, newname string) error
	// Link makes a hard link; fs.ErrExist if newname exists.
	Link(oldname, newname string) error
	// Symlink makes a symbolic link that says target.
	Symlink(target, name string) error
	// Readlink tells what a symbolic link says.
	Readlink(name string) (string, error)
	// Lstat describes name without following it.
	Lstat(name string) (Info, error)
	// ReadDir lists a directory, sorted by name (bytewise).
	ReadDir(name string) ([]Entry, error)
	// Chmod sets the bits of the mode that Bits tells of. For setgid without
	// the right to it, Linux leaves the bit out; others give an error.
	Chmod(name string, mode fs.FileMode) error
	// Chown sets the owner, without following a link.
	Chown(name string, uid, gid int) error
	// Chtimes sets the modification time (nanoseconds since 1970).
	Chtimes(name string, mtime int64) error
	// Xattrs reads the extended attributes whose names begin with "user.".
	// A file system without them gives none.
	Xattrs(name string) ([]Xattr, error)
	// SetXattr sets one; a file system without them is an error.
	SetXattr(name string, x Xattr) error
	// SyncDir makes the entries of a directory durable. SyncDir, SyncFS and
	// Space change nothing: outside of a Root they follow a link, too.
	SyncDir(name string) error
	// SyncFS makes everything on the file system that holds name durable,
	// files and directory entries; errors.ErrUnsupported where there is no
	// call for that which reports errors.
	SyncFS(name string) error
	// Space tells the room on the file system that holds name.
	Space(name string) (Space, error)
	// Lock takes an advisory lock (flock) on name, which it creates with
	// mode 0600 when it is absent. It does not wait:
	// errors.Is(err, ErrLocked) means that somebody else holds it.
	Lock(name string, exclusive bool) (Lock, error)
	// OpenRoot opens a directory as a file system of its own. The last
	// element must be a real directory, not a link to one.
	OpenRoot(name string) (Root, error)
}

// Root is a file system confined to one directory.
type Root interface {
	FS
	// Close releases the directory.
	Close() error
}

// Lock is an advisory lock that is held.
type Lock interface {
	// Unlock releases it. The file stays.
	Unlock() error
	// File is the open lock file, to be inherited by a child that must keep
	// the lock; nil in memory.
	File() *os.File
}

// Xattr is an extended attribute of a file.
type Xattr struct {
	Name  string
	Value []byte
}

// lockedError is the type of ErrLocked.
type lockedError struct{}

func (lockedError) Error() string { return "locked by another process" }

// ErrLocked is what Lock fails with when somebody else holds the lock.
var ErrLocked error = lockedError{}
