package storage

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"

	"forklift/storage/durable"
	"forklift/storage/vfs"
)

// writerTries bounds the search for a working directory: another process
// that cleans up can take one that is not locked yet.
const writerTries = 10

// workDir is a directory under tmp/ with its lock. Whoever can take the lock
// of such a directory may remove it: its owner is gone.
type workDir struct {
	fs   vfs.FS
	dir  string
	lock vfs.Lock
}

// workLock is the name of the lock in a working directory.
const workLock = "lock"

// newWorkDir makes a working directory.
func (s *Store) newWorkDir() (*workDir, error) {
	for range writerTries {
		var random [8]byte
		_, _ = rand.Read(random[:])
		dir := s.path(tmpDir, hex.EncodeToString(random[:]))
		// Until the lock is held the directory may be removed at any moment by
		// a writer that cleans up.
		err := s.fs.Mkdir(dir, dirPerm)
		if err == nil {
			var lock vfs.Lock
			if lock, err = s.fs.Lock(path.Join(dir, workLock), true); err == nil {
				return &workDir{s.fs, dir, lock}, nil
			}
		}
		if !errors.Is(err, vfs.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, errors.New("other processes remove each working directory that is made")
}

// remove removes the directory and what is in it. It is never needed again,
// so nothing is synced: a crash leaves it for the next writer to remove.
func (d *workDir) remove() {
	if list, err := d.fs.ReadDir(d.dir); err == nil {
		for _, e := range list {
			_ = d.fs.Remove(path.Join(d.dir, e.Name))
		}
	}
	_ = d.fs.Remove(d.dir)
	_ = d.lock.Unlock()
}

// removeAbandoned removes the working directories whose locks are free.
// What cannot be removed now stays for the next time.
func (s *Store) removeAbandoned() {
	list, err := s.fs.ReadDir(s.path(tmpDir))
	if err != nil {
		return
	}
	for _, e := range list {
		dir := s.path(tmpDir, e.Name)
		if !e.Type.IsDir() {
			continue
		}
		lock, err := s.fs.Lock(path.Join(dir, workLock), true)
		if err != nil {
			continue
		}
		_ = durable.RemoveAll(s.fs, dir)
		_ = lock.Unlock()
	}
}
