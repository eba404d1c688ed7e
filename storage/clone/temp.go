package clone

import (
	"os"
	"path"

	"forklift/storage/durable"
	"forklift/storage/vfs"
)

// withTemp gives use a new temporary file in dir and removes it afterwards.
func withTemp(fsys vfs.FS, dir string, use func(vfs.File) error) error {
	name := path.Join(dir, durable.TempName())
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = use(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if removeErr := fsys.Remove(name); err == nil {
		err = removeErr
	}
	return err
}
