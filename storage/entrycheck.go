package storage

import (
	"errors"
	"fmt"
	"strings"
)

// comparePaths is the order of a manifest: "." first, then bytewise with the
// slash below every other byte, so that a directory is followed by what is
// in it.
func comparePaths(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == ".":
		return -1
	case b == ".":
		return 1
	}
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x == '/' || (y != '/' && x < y) {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

// validPath says what is wrong with the path of an entry.
func validPath(path string) error {
	switch {
	case path == ".":
		return nil
	case path == "":
		return errors.New("an empty path")
	case len(path) > MaxPathBytes:
		return fmt.Errorf("a path of %d bytes", len(path))
	case strings.IndexByte(path, 0) >= 0:
		return fmt.Errorf("a zero byte in path %q", path)
	}
	for elem := range strings.SplitSeq(path, "/") {
		if elem == "" || elem == "." || elem == ".." {
			return fmt.Errorf("an element %q in path %q", elem, path)
		}
	}
	return nil
}

// validEntry says what is wrong with an entry by itself.
func validEntry(e *Entry) error {
	if err := validPath(e.Path); err != nil {
		return err
	}
	if e.Mode > MaxMode || e.Mode > plainBits && e.Type != Directory && e.Type != Regular {
		return fmt.Errorf("%q has mode %o", e.Path, e.Mode)
	}
	if e.Type != Regular && (e.Size != 0 || e.Sparse || len(e.Xattrs) > 0 || e.Content != Content{}) {
		return fmt.Errorf("%q is no regular file but has content", e.Path)
	}
	if (e.Type != Symlink && e.Target != "") || (e.Type != Omitted && e.Reason != "") {
		return fmt.Errorf("%q has a target or reason that its type has not", e.Path)
	}
	switch e.Type {
	case Directory:
		if e.Mtime != 0 {
			return fmt.Errorf("directory %q has a time", e.Path)
		}
		return nil
	case Regular:
		if e.Path == "." {
			return errors.New("the top is no directory")
		}
		if err := validContent(e.Content, e.Size); err != nil {
			return fmt.Errorf("%q: %w", e.Path, err)
		}
		return validXattrs(e)
	case Symlink:
		if e.Target == "" || len(e.Target) > MaxTargetBytes || strings.IndexByte(e.Target, 0) >= 0 || e.Path == "." {
			return fmt.Errorf("symbolic link %q has an impossible target", e.Path)
		}
		return nil
	case Omitted:
		if len(e.Reason) > maxReasonBytes || e.Mode != 0 || e.Mtime != 0 {
			return fmt.Errorf("omitted %q has more than a reason", e.Path)
		}
		return nil
	}
	return fmt.Errorf("%q has unknown type %d", e.Path, e.Type)
}

// validXattrs says what is wrong with the attributes of an entry.
func validXattrs(e *Entry) error {
	size := 0
	for i, x := range e.Xattrs {
		size += len(x.Name) + len(x.Value)
		if x.Name == "" || strings.IndexByte(x.Name, 0) >= 0 || size > MaxXattrBytes {
			return fmt.Errorf("%q has extended attributes that cannot be kept", e.Path)
		}
		if i > 0 && e.Xattrs[i-1].Name >= x.Name {
			return fmt.Errorf("%q has extended attributes out of order", e.Path)
		}
	}
	return nil
}
