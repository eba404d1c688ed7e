package basebackup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"forklift/storage/failpoint"
	"forklift/storage/vfs"
)

// Limits of an archive.
const (
	maxFiles     = 20_000_000
	maxNameBytes = 512 // PostgreSQL's have 100 at most
	maxDepth     = 16
	maxFileBytes = 1 << 40 // segments have 1 GiB; other builds allow more
	maxSkipped   = 100     // names that are remembered
	roomEvery    = 256 << 20
	copyBytes    = 256 << 10
)

// tops are the names that a data directory has at its top, as far as they are
// its state. Everything else is somebody's configuration, key or log.
var tops = []string{"base", "global", "pg_commit_ts", "pg_dynshmem", "pg_logical", "pg_multixact", "pg_notify", "pg_replslot", "pg_serial",
	"pg_snapshots", "pg_stat", "pg_stat_tmp", "pg_subtrans", "pg_tblspc", "pg_twophase", "pg_wal", "pg_xact"}

// topFiles are the regular ones.
var topFiles = []string{"PG_VERSION", "backup_label"}

// unpacker makes files from an archive.
type unpacker struct {
	ctx     context.Context
	root    vfs.Root
	opt     Options
	total   int64
	bytes   int64
	checked int64 // bytes when room was asked for last
	files   int
	members int
	skipped []string
	made    map[string]bool // directories
	buf     []byte
}

// unpack reads the whole archive.
func (u *unpacker) unpack(in io.Reader) error {
	defer failpoint.Bulk()()
	u.made, u.buf = map[string]bool{".": true}, make([]byte, copyBytes)
	archive := tar.NewReader(in)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return u.complete()
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if u.members++; u.members > maxFiles {
			return fmt.Errorf("the archive has more than %d members", maxFiles)
		}
		if err := u.member(h, archive); err != nil {
			return err
		}
	}
}

// complete checks that what no cluster can do without was there.
func (u *unpacker) complete() error {
	for _, name := range []string{"PG_VERSION", "backup_label", "global/pg_control"} {
		if info, err := u.root.Lstat(name); err != nil || !info.IsRegular() {
			return fmt.Errorf("the archive has no %s", name)
		}
	}
	return nil
}

// member makes one file or directory.
func (u *unpacker) member(h *tar.Header, in io.Reader) error {
	name, err := safeName(h.Name)
	if err != nil {
		return err
	}
	if name == "." {
		return nil
	}
	top, below, nested := strings.Cut(name, "/")
	switch {
	case name == "tablespace_map" && h.Size > 0, top == "pg_tblspc" && nested:
		return fmt.Errorf("a tablespace is outside the data directory: %q", below)
	case h.Typeflag == tar.TypeDir && slices.Contains(tops, top):
		return u.directory(name)
	case h.Typeflag == tar.TypeReg && (nested && slices.Contains(tops, top) || slices.Contains(topFiles, name)):
		return u.file(name, h.Size, in)
	case slices.Contains(tops, top):
		return fmt.Errorf("the archive has %q of type %q, which a data directory has not", name, h.Typeflag)
	}
	u.skip(top)
	return nil
}

// safeName gives the name of a member, refused unless it stays below.
func safeName(name string) (string, error) {
	clean := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	if clean == "" || clean == "." {
		return ".", nil
	}
	if len(clean) > maxNameBytes || strings.Count(clean, "/") >= maxDepth || strings.ContainsRune(clean, 0) ||
		path.IsAbs(clean) || path.Clean(clean) != clean || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("the archive has a member %q, which is no name in a data directory", clean[:min(len(clean), maxNameBytes)])
	}
	return clean, nil
}

// directory makes a directory and those above it.
func (u *unpacker) directory(name string) error {
	if u.made[name] {
		return nil
	}
	if err := u.directory(path.Dir(name)); err != nil {
		return err
	}
	u.made[name] = true
	return u.root.Mkdir(name, 0o700)
}

// file makes one file, which must be new.
func (u *unpacker) file(name string, size int64, in io.Reader) (err error) {
	if size < 0 || size > maxFileBytes {
		return fmt.Errorf("the archive has %q with %d bytes", name, size)
	}
	if err := u.directory(path.Dir(name)); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	u.files++
	for {
		n, err := in.Read(u.buf)
		if n > 0 {
			if _, err := f.Write(u.buf[:n]); err != nil {
				return err
			}
			if err := u.wrote(int64(n)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
	}
}

// wrote counts, and asks for room now and then.
func (u *unpacker) wrote(n int64) error {
	u.bytes += n
	if u.opt.Room == nil || u.bytes-u.checked < roomEvery {
		return nil
	}
	u.checked = u.bytes
	return u.opt.Room(u.total, u.bytes)
}

// skip remembers a name at the top that was left out.
func (u *unpacker) skip(top string) {
	if len(u.skipped) < maxSkipped && !slices.Contains(u.skipped, top) {
		u.skipped = append(u.skipped, top)
	}
}

func (u *unpacker) skippedNames() []string {
	slices.Sort(u.skipped)
	return u.skipped
}
