package durable

import (
	"path"

	"forklift/storage/vfs"
)

// Publish gives a file that was written under a working name its final name.
// f is open for writing under its working name, usually in another directory
// of the same file system, whose content may vanish; it is closed in any case.
//
// After nil the file is durable under name; what name held before is
// replaced. After an error or a crash it has the working name, name, or both;
// a file under name is whole. The working directory is not synced: its own
// owner removes what a crash left there.
func Publish(fsys vfs.FS, f vfs.File, name string) error {
	if err := closed(f, f.Sync()); err != nil {
		return err
	}
	if err := fsys.Rename(f.Name(), name); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// WriteOut asks for everything on the file system of dir to be written out,
// so that a later store through a memory map moves the file's times again.
// It is no promise: nothing is durable by it, and where the system cannot do
// it at reasonable cost nothing happens.
func WriteOut(fsys vfs.FS, dir string) { _ = fsys.SyncFS(dir) }

// EndSync makes the content of a file durable whose write-out BeginSync may
// have started, and tells what went wrong with it.
//
// After nil the content is; the file's name is not. After an error any part of
// what was written since the last sync may be lost.
func EndSync(f vfs.File) error { return f.Sync() }
