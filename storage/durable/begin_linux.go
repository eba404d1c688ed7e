package durable

import (
	"os"

	"forklift/storage/vfs"

	"golang.org/x/sys/unix"
)

// BeginSync starts to write out what was written to f so far, and does not
// wait for it, so that a Sync that follows later has little left to do. It
// promises nothing, and takes no error away from that Sync. Where the system
// cannot do it nothing happens.
func BeginSync(f vfs.File) {
	disk, ok := f.(interface{ OSFile() *os.File })
	if !ok {
		return
	}
	if file := disk.OSFile(); file != nil {
		_ = unix.SyncFileRange(int(file.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) // of the whole file
	}
}
