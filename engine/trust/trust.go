package trust

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"

	"github.com/zeebo/blake3"
)

const (
	recordKind   = "approval"
	recordFormat = 1
)

// approval is what an approval's file says: what its name is the hash of.
type approval struct {
	Worktree string `json:"worktree"` // id
	Path     string `json:"path"`     // of the worktree, links resolved
	Content  string `json:"content"`  // BLAKE3 of the file's bytes
}

func newApproval(worktreeID, path string, content []byte) approval {
	sum := blake3.Sum256(content)
	return approval{Worktree: worktreeID, Path: path, Content: hex.EncodeToString(sum[:])}
}

// name is the approval's file name. Parts are preceded by their lengths, so
// that no two different approvals are hashed from the same bytes.
func (a approval) name() string {
	h := blake3.New()
	for _, part := range []string{"forklift approval 1", a.Worktree, a.Path, a.Content} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Directory is where the approvals are; it may not be there yet.
func Directory(stateDir string) string { return filepath.Join(stateDir, "trust") }

// Approved reports whether the user approved this content of the file for
// the worktree with this id at this path (absolute, links resolved). A
// directory of approvals that others can write to, or a damaged approval,
// approves nothing and is an error.
func Approved(fsys vfs.FS, stateDir, worktreeID, path string, content []byte) (bool, error) {
	dir := Directory(stateDir)
	info, err := fsys.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = private(dir, info)
	}
	if err != nil {
		return false, &fault.Error{Op: "look up approval", Path: dir, Kind: fault.Untrusted, Err: err, Hint: "The directory must be yours alone: `chmod 700` it, or remove it."}
	}
	want := newApproval(worktreeID, path, content)
	var got approval
	err = record.Read(fsys, filepath.Join(dir, want.name()), recordKind, recordFormat, &got)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up approval: %w", err)
	}
	return got == want, nil
}

// private fails unless the directory is one that only we can have filled.
func private(dir string, info vfs.Info) error {
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case int64(info.UID) != int64(os.Geteuid()):
		return fmt.Errorf("%s belongs to user %d", dir, info.UID)
	case info.Mode.Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others (mode %04o)", dir, info.Mode.Perm())
	}
	return nil
}

// Approve records the user's approval; approving again changes nothing.
// After nil it is durable; after an error or a crash it is there or not.
func Approve(fsys vfs.FS, stateDir, worktreeID, path string, content []byte) error {
	dir := Directory(stateDir)
	if err := durable.MkdirAll(fsys, dir, 0o700); err != nil {
		return fmt.Errorf("record approval: %w", err)
	}
	info, err := fsys.Lstat(dir)
	if err == nil {
		err = private(dir, info)
	}
	if err != nil {
		return &fault.Error{Op: "record approval", Path: dir, Kind: fault.Untrusted, Err: err, Hint: "The directory must be yours alone: `chmod 700` it, or remove it."}
	}
	a := newApproval(worktreeID, path, content)
	if err := record.Write(fsys, filepath.Join(dir, a.name()), recordKind, recordFormat, a); err != nil {
		return fmt.Errorf("record approval: %w", err)
	}
	return nil
}

// Revoke takes an approval back, so that the next use asks again. One that
// is not there is not an error. After nil its absence is durable.
func Revoke(fsys vfs.FS, stateDir, worktreeID, path string, content []byte) error {
	dir := Directory(stateDir)
	if _, err := fsys.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := durable.Remove(fsys, filepath.Join(dir, newApproval(worktreeID, path, content).name())); err != nil {
		return fmt.Errorf("take back approval: %w", err)
	}
	return nil
}
