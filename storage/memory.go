package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"forklift/storage/durable"
	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// Memory is what a scan remembers of a tree's files, so that the next scan
// need not open those that have not been touched. It may be given to a scan
// by the same writer, or by any later one if its own writer was committed;
// otherwise it is ignored. It is a cache: losing it costs time only.
//
// A file is trusted without being opened if device, inode, size, and the
// times of change of content and inode are what they were when it was read,
// and if those times were older than the beginning of that read by more than
// a file system's clock can be coarse. Files whose times were too young, or
// moved during the read, are remembered only as a hint: they are
// read again, and pages that are the same as then need no search.
type Memory struct {
	store      string // id of the store
	generation int64
	writer     *Writer // that stored the content; nil if it was loaded
	files      []remembered
	next       atomic.Int64 // index behind the one that was found last: who walks a tree asks for that
}

// remembered is one file.
type remembered struct {
	path    string
	stat    stat
	trusted bool
	rules   uint64 // that it was read by: see readingRules
	holes   bool   // there is a stretch of zeros worth a hole
	content Content
	xattrs  []EntryXattr
	checked bool // the content was found in the store since the memory was loaded
}

// stat is what tells that a file has been touched.
type stat struct {
	dev, ino           uint64
	size, mtime, ctime int64
}

func statOf(i vfs.Info) stat { return stat{i.Dev, i.Ino, i.Size, i.Mtime, i.Ctime} }

// racyWindow is by how much a file's times must be older than the beginning
// of its read. File systems take their times from a clock that ticks every 1
// to 10 ms.
const racyWindow = 20 * time.Millisecond

// settled says whether the times of a file are old enough, seen from a time
// before it was read, to move if it changes again.
func (s stat) settled(now time.Time) bool {
	limit := now.Add(-racyWindow).UnixNano()
	return s.mtime < limit && s.ctime < limit
}

// find gives what is remembered of a path; nil if nothing.
func (m *Memory) find(path string) *remembered {
	if m == nil {
		return nil
	}
	i := int(m.next.Load())
	if i >= len(m.files) || m.files[i].path != path {
		i = sort.Search(len(m.files), func(i int) bool { return comparePaths(m.files[i].path, path) >= 0 })
	}
	if i < len(m.files) && m.files[i].path == path {
		m.next.Store(int64(i) + 1)
		return &m.files[i]
	}
	return nil
}

// Content tells the content that a file is remembered with, if info, of an
// lstat now, shows that the file has not been touched since it was read.
// false also for a nil memory.
func (m *Memory) Content(path string, info vfs.Info) (Content, bool) {
	r := m.find(path)
	if r == nil || !r.trusted || r.stat != statOf(info) || !info.IsRegular() {
		return Content{}, false
	}
	return r.content, true
}

// usable says whether what m says about stored content holds for w.
func (m *Memory) usable(w *Writer) bool {
	if m == nil || m.store != w.s.id || m.generation != w.s.generation.Load() {
		return false
	}
	return m.writer == nil || m.writer == w || m.writer.committed()
}

func (w *Writer) committed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state == writerCommitted
}

// memoryVersion is the version of the file.
const memoryVersion = 1

// memoryMagic begins the file.
const memoryMagic = "flmemory"

// maxMemoryBytes is the largest file that is read: a million files.
const maxMemoryBytes = 256 << 20

// SaveMemory writes a memory to a file that LoadMemory reads, with the boot
// that it belongs to: after a crash of the system an inode's times can be older
// than its content. It fails if the writer of the scan has not been committed.
// Nothing is durable: a file that is torn by a crash is not loaded.
func (s *Store) SaveMemory(name, bootID string, m *Memory) error {
	const op = "save memory"
	if m.writer != nil && !m.writer.committed() {
		return misuse(op, name, "its capture has not been committed")
	}
	b := append([]byte(memoryMagic), memoryVersion)
	b = appendString(b, m.store)
	b = binary.AppendVarint(b, m.generation)
	b = appendString(b, bootID)
	b = binary.AppendUvarint(b, uint64(len(m.files)))
	prev := ""
	for i := range m.files {
		b = m.files[i].append(b, prev)
		prev = m.files[i].path
	}
	sum := pack.Sum(b)
	b = append(b, sum[:]...)
	f, err := s.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return failed(op, name, err)
	}
	n, err := f.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return failed(op, name, err)
}

// The bits of a remembered file's flags.
const (
	memoryTrusted = 1
	memoryHoles   = 2
)

func (r *remembered) append(b []byte, prev string) []byte {
	b = appendPath(b, prev, r.path)
	flags := byte(0)
	if r.trusted {
		flags |= memoryTrusted
	}
	if r.holes {
		flags |= memoryHoles
	}
	b = append(b, flags, byte(r.content.Unit), r.content.Depth)
	b = append(b, r.content.Root[:]...)
	b = binary.AppendUvarint(b, r.rules)
	b = binary.AppendUvarint(b, r.stat.dev)
	b = binary.AppendUvarint(b, r.stat.ino)
	b = binary.AppendUvarint(b, uint64(r.stat.size))
	b = binary.AppendVarint(b, r.stat.mtime)
	b = binary.AppendVarint(b, r.stat.ctime)
	return appendXattrs(b, r.xattrs)
}

// LoadMemory reads what SaveMemory wrote. It gives nil if there is none, if
// it is damaged, or if it is of another store, generation or boot.
func (s *Store) LoadMemory(name, bootID string) *Memory {
	b, err := durable.ReadFile(s.fs, name, maxMemoryBytes)
	if err != nil || bootID == "" {
		return nil
	}
	m, err := decodeMemory(b, bootID)
	if err != nil || m.store != s.id || m.generation != s.generation.Load() {
		return nil
	}
	return m
}

// decodeMemory reads the file of one boot.
func decodeMemory(b []byte, bootID string) (*Memory, error) {
	end := len(b) - len(ID{})
	if end < len(memoryMagic)+1 || pack.Sum(b[:end]) != ID(b[end:]) {
		return nil, errors.New("damaged")
	}
	head := append([]byte(memoryMagic), memoryVersion)
	if !bytes.HasPrefix(b, head) {
		return nil, errors.New("of another format")
	}
	d := decoder{rest: b[len(head):end]}
	m := &Memory{store: d.text(64), generation: d.signed()}
	if d.text(256) != bootID && d.err == nil {
		return nil, errors.New("of another boot")
	}
	n := d.number(uint64(len(b)))
	m.files = make([]remembered, 0, min(n, uint64(len(b)/48)))
	prev := ""
	for range n {
		r := remembered{path: d.path(prev)}
		flags := d.byte()
		r.trusted, r.holes = flags&memoryTrusted != 0, flags&memoryHoles != 0
		r.content = Content{Unit: Unit(d.byte()), Depth: d.byte(), Root: d.id()}
		const max = 1<<64 - 1
		r.rules, r.stat.dev, r.stat.ino = d.number(max), d.number(max), d.number(max)
		r.stat.size, r.stat.mtime, r.stat.ctime = int64(d.number(1<<63-1)), d.signed(), d.signed()
		r.xattrs = d.xattrs()
		if d.err != nil {
			return nil, d.err
		}
		if err := validContent(r.content, r.stat.size); err != nil {
			return nil, err
		}
		m.files = append(m.files, r)
		prev = r.path
	}
	if d.err != nil || len(d.rest) > 0 || !slices.IsSortedFunc(m.files, func(a, b remembered) int { return comparePaths(a.path, b.path) }) {
		return nil, fmt.Errorf("not what was written")
	}
	return m, nil
}

// signed reads a varint.
func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.fail("a number is missing")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}
