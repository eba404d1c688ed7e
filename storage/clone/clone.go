// Package clone copies files the cheapest way their file system has.
//
// On a copy-on-write file system (XFS, btrfs, bcachefs) the copy shares the
// blocks of the original and takes no time in proportion to its size, only to
// the number of its extents (about 13 µs each). Elsewhere the kernel copies
// (copy_file_range), or we do.
//
// Nothing here is durable: the caller syncs the copy. macOS can clone only to
// a name, not into an open file, so there we copy.
package clone

import (
	"io"
	"os"

	"forklift/storage/failpoint"
	"forklift/storage/vfs"
)

// copyBytes is the size of one read and write.
const copyBytes = 1 << 20

// method is a way to copy. It gives the bytes that dst has from its
// beginning, and whether the rest has to be copied in another way.
type method func(dst, src *os.File, size int64) (done int64, next bool, err error)

// File makes the content of dst, an empty file open for writing, that of
// src, a regular file open for reading. Their positions do not matter and may
// be moved. src must not change meanwhile.
//
// After nil dst has all the bytes. After an error or a crash any of them.
func File(dst, src vfs.File) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	done := int64(0)
	if to, from := osFile(dst), osFile(src); to != nil && from != nil {
		for _, copyBy := range methods {
			failpoint.Hit("clone", dst.Name())
			n, next, err := copyBy(to, from, info.Size)
			if err != nil {
				return err
			}
			done = n
			if !next {
				return nil
			}
		}
	}
	return byHand(dst, src, done)
}

// osFile is the operating system's file behind f, nil if there is none.
func osFile(f vfs.File) *os.File {
	if o, ok := f.(interface{ OSFile() *os.File }); ok {
		return o.OSFile()
	}
	return nil
}

// byHand copies from off on by reading and writing.
func byHand(dst, src vfs.File, off int64) error {
	buf := make([]byte, copyBytes)
	for {
		n, err := src.ReadAt(buf, off)
		if n > 0 {
			if _, err := dst.WriteAt(buf[:n], off); err != nil {
				return err
			}
			off += int64(n)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// probeBytes is the size of the file that Probe clones: one block.
const probeBytes = 4096

// Probe says whether files in dir can share blocks. It makes two small
// files there for that and removes them; an error is a no.
func Probe(fsys vfs.FS, dir string) bool {
	shares := false
	err := withTemp(fsys, dir, func(src vfs.File) error {
		if _, err := src.Write(make([]byte, probeBytes)); err != nil {
			return err
		}
		return withTemp(fsys, dir, func(dst vfs.File) error {
			to, from := osFile(dst), osFile(src)
			shares = to != nil && from != nil && canShare(to, from)
			return nil
		})
	})
	return shares && err == nil
}
