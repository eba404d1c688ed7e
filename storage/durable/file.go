package durable

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"

	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// tempPrefix begins the names of temporary files.
const tempPrefix = ".tmp-"

// tempDigits is how many hexadecimal digits follow.
const tempDigits = 16

// tempTries bounds the search for a free temporary name.
const tempTries = 100

// IsTemp says whether a base name is one that this package gives to
// temporary files.
func IsTemp(name string) bool {
	digits, ok := strings.CutPrefix(name, tempPrefix)
	return ok && len(digits) == tempDigits && strings.Trim(digits, "0123456789abcdef") == ""
}

// WriteFile makes name a file with the content data, replacing what was
// there. perm holds before the umask.
//
// After nil the new content is durable. After an error name holds the old or
// the new content, whole, and which one survives a power cut is not known.
// After a crash it holds the old or the new content, whole, and a temporary
// file may be left.
func WriteFile(fsys vfs.FS, name string, data []byte, perm fs.FileMode) error {
	temp, err := writeTemp(fsys, path.Dir(name), data, perm)
	if err != nil {
		return err
	}
	if err := fsys.Rename(temp, name); err != nil {
		_ = fsys.Remove(temp)
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// CreateFile makes the file name with the content data; fs.ErrExist if the
// name exists, and then nothing is changed. Of several that create one name
// at the same time exactly one succeeds. perm holds before the umask.
//
// After nil the file is durable. After an error other than fs.ErrExist and
// after a crash the file is absent or whole; a temporary file may be left
// after a crash, which may be a second link to the file.
func CreateFile(fsys vfs.FS, name string, data []byte, perm fs.FileMode) error {
	if _, err := fsys.Lstat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	temp, err := writeTemp(fsys, path.Dir(name), data, perm)
	if err != nil {
		return err
	}
	if err := fsys.Link(temp, name); err != nil {
		_ = fsys.Remove(temp)
		return err
	}
	if err := fsys.Remove(temp); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// writeTemp makes a synced temporary file in dir. After an error it is gone.
func writeTemp(fsys vfs.FS, dir string, data []byte, perm fs.FileMode) (string, error) {
	f, err := createTemp(fsys, dir, perm)
	if err != nil {
		return "", err
	}
	if err := closed(f, writeSync(f, data)); err != nil {
		_ = fsys.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// TempName gives a new random name of a temporary file.
func TempName() string {
	var digits [tempDigits / 2]byte
	binary.BigEndian.PutUint64(digits[:], rand.Uint64())
	return tempPrefix + hex.EncodeToString(digits[:])
}

func createTemp(fsys vfs.FS, dir string, perm fs.FileMode) (vfs.File, error) {
	for try := 0; ; try++ {
		f, err := fsys.OpenFile(path.Join(dir, TempName()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil || !errors.Is(err, fs.ErrExist) || try == tempTries {
			return f, err
		}
	}
}

// writeSync writes all of data and makes it durable.
func writeSync(f vfs.File, data []byte) error {
	if len(data) > 0 {
		n, err := f.Write(data)
		if err == nil && n < len(data) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return err
		}
	}
	return f.Sync()
}

// closed closes a file and gives the first error: err, or what closing says.
func closed(f vfs.File, err error) error {
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Append adds data at the end of name, which it makes with perm (before the
// umask) when it is absent. Appenders must exclude each other.
//
// After nil the data is durable. After an error, and after a crash, any part
// of data can be there, also with zeros in place of other parts; what was
// there before stays. The next Append does not repair that: records that
// are appended need a checksum (package record has them).
func Append(fsys vfs.FS, name string, data []byte, perm fs.FileMode) error {
	f, err := openAppend(fsys, name, perm)
	if err != nil {
		return err
	}
	return closed(f, appendTo(fsys, f, data))
}

func openAppend(fsys vfs.FS, name string, perm fs.FileMode) (vfs.File, error) {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = fsys.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, perm)
	}
	return f, err
}

// appendTo makes the name of an empty file durable before its first bytes:
// so a file that is not empty needs no sync of its directory.
func appendTo(fsys vfs.FS, f vfs.File, data []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size == 0 {
		if err := fsys.SyncDir(path.Dir(f.Name())); err != nil {
			return err
		}
	}
	return writeSync(f, data)
}

// SyncFile makes the content of an existing file durable, but not its name.
//
// After nil it is. After an error any part of what was not durable before
// may be lost.
func SyncFile(fsys vfs.FS, name string) error {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return closed(f, f.Sync())
}

// Truncate cuts the file name at size bytes.
//
// After nil the new size is durable. After an error or a crash the file has
// the old or the new size; with the old one, what is behind the new size may
// have become zeros.
func Truncate(fsys vfs.FS, name string, size int64) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil {
		err = f.Sync()
	}
	return closed(f, err)
}

// ReadFile reads the whole file name, a regular one of at most limit bytes;
// anything else there is a fault of kind Corrupt.
func ReadFile(fsys vfs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.IsRegular() {
		return nil, &fault.Error{Op: "read", Path: name, Kind: fault.Corrupt, Err: errors.New("not a regular file")}
	}
	// One byte more than expected shows a file that has grown, and the end.
	data := make([]byte, 0, min(info.Size, limit)+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, &fault.Error{Op: "read", Path: name, Kind: fault.Corrupt, Err: fmt.Errorf("larger than %d bytes", limit)}
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}
