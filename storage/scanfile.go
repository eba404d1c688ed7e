package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"forklift/storage/clock"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// readTries is how often a file that changes while it is read is read again.
const readTries = 3

// fileJob is a file to read.
type fileJob struct {
	s     *scanner
	dir   *openDir
	name  string
	path  string
	info  vfs.Info // as it was when it was read
	zero  []Range
	rules uint64
	hints *hints

	done chan struct{}

	// The result, when done is closed.
	xattrs []EntryXattr
	result remembered
	gone   bool

	// Of a file that is read in parts.
	open    sync.Once
	file    vfs.File
	openErr error
	start   time.Time
	spans   [][]contentRef // by part
	short   atomic.Bool    // a part had fewer bytes than the file had
	left    atomic.Int32
}

// finish hands the result to the collector.
func (j *fileJob) finish(err error) error {
	if err != nil {
		return err
	}
	j.s.readFiles.Add(1)
	j.s.ended(j)
	close(j.done)
	return nil
}

// errGone says that a file is not there any more.
var errGone = errors.New("the file is gone")

// begin opens the file and notes what it is before it is read.
func (j *fileJob) begin() (vfs.File, vfs.Info, error) {
	f, err := j.dir.OpenFile(j.name, os.O_RDONLY, 0)
	if vanished(err) || errors.Is(err, syscall.ENXIO) {
		return nil, vfs.Info{}, errGone
	}
	if err != nil {
		return nil, vfs.Info{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsRegular() {
		err = errGone
	}
	if err != nil {
		_ = f.Close()
		return nil, vfs.Info{}, err
	}
	return f, info, nil
}

// readWhole reads the file until it did not change meanwhile.
func (j *fileJob) readWhole(c *cutter) error {
	for try := 1; ; try++ {
		start := clock.System{}.Now()
		f, info, err := j.begin()
		if err == errGone {
			j.gone = true
			return nil
		}
		if err != nil {
			return err
		}
		content, n, err := c.stream(j.section(f, info, 0, info.Size), j.hints)
		if err == nil {
			err = j.readXattrs()
		}
		after, statErr := f.Stat()
		_ = f.Close()
		if err = errors.Join(err, statErr); err != nil {
			return err
		}
		steady := statOf(info) == statOf(after)
		// Moving files may be torn, but not shorter than they are said to be.
		if n == info.Size && (steady || j.s.rules.Moving) {
			j.settle(info, content, c.holes, steady && statOf(info).settled(start))
			return nil
		}
		if try == readTries {
			return j.unsteady()
		}
	}
}

// unsteady is what becomes of a file that never holds still.
func (j *fileJob) unsteady() error {
	if j.s.rules.Moving {
		j.gone = true
		return nil
	}
	return &fault.Error{Op: "scan", Path: j.path, Kind: fault.Busy, Err: fmt.Errorf("%s changes while it is read", j.path),
		Hint: "Stop what writes to it, or leave it out of the selection, and try again."}
}

// settle notes the result.
func (j *fileJob) settle(info vfs.Info, content Content, holes, trusted bool) {
	j.info = info
	j.result = remembered{path: j.path, stat: statOf(info), trusted: trusted && j.s.trust, rules: j.rules,
		holes: holes, content: content, xattrs: j.xattrs, checked: true}
}

// readXattrs reads the attributes: after the file was opened and before it
// is looked at again, so that it shows if they change meanwhile.
func (j *fileJob) readXattrs() error {
	if !j.s.rules.Xattrs {
		return nil
	}
	list, err := j.dir.Xattrs(j.name)
	if vanished(err) {
		return nil // it is gone from its name only now
	}
	j.xattrs = nil
	for _, x := range list {
		j.xattrs = append(j.xattrs, EntryXattr(x))
	}
	slices.SortFunc(j.xattrs, func(a, b EntryXattr) int { return strings.Compare(a.Name, b.Name) })
	return err
}

// readPart reads part n of a file of pages.
func (j *fileJob) readPart(c *cutter, n int) error {
	j.open.Do(func() {
		j.start = clock.System{}.Now()
		var info vfs.Info
		j.file, info, j.openErr = j.begin()
		if j.openErr == nil && info.Size != j.info.Size {
			j.short.Store(true) // it changed since it was listed: read it as a whole
		}
		if j.openErr == nil {
			j.info = info
		}
	})
	if j.openErr == errGone || j.short.Load() {
		return nil
	}
	if j.openErr != nil {
		return j.openErr
	}
	off := int64(n) * partBytes
	end := min(off+partBytes, j.info.Size)
	got, err := c.pages(j.section(j.file, j.info, off, end), n*partBytes/spanBytes, j.hints,
		func(_ int, ref contentRef) error {
			j.spans[n] = append(j.spans[n], ref)
			return nil
		})
	if got != end-off {
		j.short.Store(true)
	}
	return err
}

// joinParts puts the parts together; false if the file must be read again.
func (j *fileJob) joinParts(c *cutter) (bool, error) {
	if j.openErr == errGone {
		j.gone = true
		return true, nil
	}
	if err := j.readXattrs(); err != nil {
		return false, err
	}
	after, err := j.file.Stat()
	if err != nil {
		return false, err
	}
	steady := statOf(j.info) == statOf(after)
	if j.short.Load() || !(steady || j.s.rules.Moving) {
		return false, nil
	}
	b := contentBuilder{unit: Pages, put: c.sink.node}
	for _, spans := range j.spans {
		for _, ref := range spans {
			if err := b.add(1, ref); err != nil {
				return false, err
			}
		}
	}
	content, err := b.finish()
	if err != nil {
		return false, err
	}
	j.settle(j.info, content, false, steady && statOf(j.info).settled(j.start))
	return true, nil
}

// section reads a stretch of the file, with zeros where the rules say.
func (j *fileJob) section(f vfs.File, info vfs.Info, off, end int64) io.Reader {
	return &section{f: f, off: off, end: min(end, info.Size), zero: j.zero, count: &j.s.readBytes}
}

// section is a stretch of a file as a Reader.
type section struct {
	f        vfs.File
	off, end int64
	zero     []Range
	count    *atomic.Int64
}

// Read reads on.
func (s *section) Read(p []byte) (int, error) {
	if s.off >= s.end {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), s.end-s.off)]
	n, err := s.f.ReadAt(p, s.off)
	for _, r := range s.zero {
		from, to := max(r.Off, s.off), min(r.End, s.off+int64(n))
		if from < to {
			clear(p[from-s.off : to-s.off])
		}
	}
	s.off += int64(n)
	if s.count != nil {
		s.count.Add(int64(n))
	}
	if n > 0 && err == io.EOF {
		err = nil // the end is told by the next read
	}
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	return n, err
}
