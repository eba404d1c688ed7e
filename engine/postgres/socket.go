package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/privatedir"
	"forklift/storage/record"
)

// socketRecord keeps where a branch's socket is, so that the URL stays the
// same when the environment that it was derived from changes.
type socketRecord struct {
	Dir    string `json:"dir"`    // absolute
	Branch string `json:"branch"` // the branch's directory: a copied one gets a socket of its own
}

// The record's place and format.
const (
	socketName   = "socket.json"
	socketKind   = "postgres-socket"
	socketFormat = 1
)

// sharedTemp is where the sockets of users without a runtime directory are.
// TMPDIR would be too long a name on macOS, and differ between logins.
const sharedTemp = "/tmp"

// socketPrefix begins what PostgreSQL calls its socket; the port follows, of
// at most five digits.
const socketPrefix = ".s.PGSQL."

// maxPortBytes is the length of the longest port.
const maxPortBytes = 5

// socketFile is the socket of a server that does not listen on TCP.
const socketFile = socketPrefix + serverPort

// socketDir is the directory of the branch's socket: the recorded one, or one
// that is chosen and recorded now. It need not exist.
func (c *cluster) socketDir(ctx context.Context) (string, error) {
	var rec socketRecord
	err := record.Read(c.opt.FS, c.runFile(socketName), socketKind, socketFormat, &rec)
	if err == nil && rec.Branch == c.branch.Dir {
		return rec.Dir, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && fault.KindOf(err) != fault.Corrupt {
		return "", err
	}
	id, err := c.identity(ctx)
	if err != nil {
		return "", err
	}
	return c.chooseSocket(id)
}

// chooseSocket derives the socket's directory from the environment and
// records it.
func (c *cluster) chooseSocket(id identity) (string, error) {
	sum := sha256.Sum256([]byte(c.branch.ID + "\x00" + c.branch.Dir))
	dir := filepath.Join(c.socketParent(id), hex.EncodeToString(sum[:8]))
	if n := len(dir) + 1 + len(socketPrefix) + maxPortBytes; n > maxSocketBytes {
		return "", &fault.Error{Op: "choose socket", Path: dir, Kind: fault.Unsupported,
			Err:  fmt.Errorf("its name would have %d bytes, %d is the most", n, maxSocketBytes),
			Hint: "Set XDG_RUNTIME_DIR to a directory with a shorter name."}
	}
	if err := c.ensureRunDir(); err != nil {
		return "", err
	}
	rec := socketRecord{Dir: dir, Branch: c.branch.Dir}
	return dir, record.Write(c.opt.FS, c.runFile(socketName), socketKind, socketFormat, rec)
}

// socketParent is where the directories of sockets are.
func (c *cluster) socketParent(id identity) string {
	if c.opt.RuntimeDir != "" {
		return c.opt.RuntimeDir
	}
	if dir := c.opt.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && id.Method != Account {
		if privatedir.Check("socket directory", dir, id.UID) == nil {
			return filepath.Join(filepath.Clean(dir), "forklift")
		}
	}
	return c.sharedParent(id)
}

// sharedParent is the place of users without a runtime directory.
func (c *cluster) sharedParent(id identity) string {
	return sharedTemp + fmt.Sprintf("/forklift-%d", id.UID)
}

// makeSocketDir makes the socket's directory and the one above it, or proves
// that they are private. Where the recorded place is gone for good (the
// runtime directory of a login that ended) another one is chosen.
func (c *cluster) makeSocketDir(ctx context.Context, id identity) (string, error) {
	dir, err := c.socketDir(ctx)
	if err != nil {
		return "", err
	}
	if err = c.makePrivate(dir, id); errors.Is(err, fs.ErrNotExist) {
		if dir, err = c.chooseSocket(id); err == nil {
			err = c.makePrivate(dir, id)
		}
	}
	return dir, err
}

// makePrivate makes dir and its parent with mode 0700.
func (c *cluster) makePrivate(dir string, id identity) error {
	for _, d := range []string{filepath.Dir(dir), dir} {
		err := c.opt.FS.Mkdir(d, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return &fault.Error{Op: "make socket directory", Path: d, Err: err}
		}
		if err == nil && id.UID != os.Geteuid() {
			if err := c.opt.FS.Chown(d, id.UID, id.GID); err != nil {
				return &fault.Error{Op: "make socket directory", Path: d, Err: err}
			}
		}
		if err := privatedir.Check("socket directory", d, id.UID); err != nil {
			return err
		}
	}
	return nil
}

// clearSocket removes a dead server's socket and its lock file. The caller
// holds the live lock, and the directory is this branch's alone. PostgreSQL
// would refuse to start if the lock file's pid had been taken by another
// process since.
func (c *cluster) clearSocket(dir string) error {
	entries, err := c.opt.FS.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Op: "remove old socket", Path: dir, Err: err}
	}
	for _, e := range entries {
		name := e.Name
		if !strings.HasPrefix(name, socketPrefix) { // whatever port it had
			continue
		}
		err := c.opt.FS.Remove(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &fault.Error{Op: "remove old socket", Path: filepath.Join(dir, name), Err: err}
		}
	}
	return nil
}

// Remove removes the socket's directory, when the branch goes. The server
// must be stopped.
func (c *cluster) Remove(ctx context.Context) error {
	s, err := c.see()
	if err != nil {
		return err
	}
	if !s.free {
		return &fault.Error{Op: "remove database", Path: c.branch.Dir, Kind: fault.Busy, Err: errors.New("its server runs"),
			Hint: "Stop it first: `forklift db stop`."}
	}
	var rec socketRecord
	err = record.Read(c.opt.FS, c.runFile(socketName), socketKind, socketFormat, &rec)
	if err != nil || rec.Branch != c.branch.Dir {
		return nil // none was ever made
	}
	if err := c.clearSocket(rec.Dir); err != nil {
		return err
	}
	err = c.opt.FS.Remove(rec.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Op: "remove socket directory", Path: rec.Dir, Err: err}
	}
	// The directory above is shared by all branches; the last one that
	// leaves removes it.
	if strings.HasSuffix(filepath.Dir(rec.Dir), "forklift") || strings.HasPrefix(filepath.Dir(rec.Dir), sharedTemp+"/forklift-") {
		_ = c.opt.FS.Remove(filepath.Dir(rec.Dir))
	}
	return nil
}

// ensureRunDir makes the directory of our own files.
func (c *cluster) ensureRunDir() error {
	dir := c.branch.RunDir()
	if info, err := c.opt.FS.Lstat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := durable.MkdirAll(c.opt.FS, dir, 0o700); err != nil {
		return &fault.Error{Op: "make directory", Path: dir, Err: err}
	}
	return nil
}
