package storage

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"forklift/storage/clock"
	"forklift/storage/vfs"
)

// openDir is a directory of the tree that is held open while its files are
// read: names in it need one system call, and cannot be redirected.
type openDir struct {
	vfs.Root
	path  string
	users atomic.Int32
}

// use keeps the directory open until leave.
func (d *openDir) use() { d.users.Add(1) }

func (d *openDir) leave() {
	if d.users.Add(-1) == 0 {
		_ = d.Close()
	}
}

// join gives the path of a name in the directory.
func (d *openDir) join(name string) string {
	if d.path == "." {
		return name
	}
	return d.path + "/" + name
}

// enter opens a directory in d; nil if it is not there any more.
func (s *scanner) enter(d *openDir, name string) (*openDir, error) {
	root, err := d.OpenRoot(name)
	if vanished(err) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("scan", d.join(name), err)
	}
	sub := &openDir{Root: root, path: d.join(name)}
	sub.use()
	return sub, nil
}

// vanished says that a name that was listed is gone, or is something else
// now.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// walk emits the tree in order.
func (s *scanner) walk() error {
	root, err := s.root.OpenRoot(".")
	if err != nil {
		return failed("scan", ".", err)
	}
	top := &openDir{Root: root, path: "."}
	top.use()
	defer top.leave()
	info, err := top.Lstat(".")
	if err != nil {
		return failed("scan", ".", err)
	}
	if err := s.emit(&item{entry: Entry{Path: ".", Type: Directory, Mode: Mode(info)}}); err != nil {
		return err
	}
	starts, err := cleanStarts(s.rules.Starts)
	if err != nil {
		return err
	}
	if starts == nil {
		return s.list(top)
	}
	led := map[string]bool{}
	for _, start := range starts {
		if err := s.lead(top, start, led); err != nil {
			return err
		}
	}
	return nil
}

// cleanStarts puts the starts in order and drops those inside others. nil is
// the whole tree.
func cleanStarts(starts []string) ([]string, error) {
	if starts == nil {
		return nil, nil
	}
	sorted := make([]string, 0, len(starts))
	for _, p := range starts {
		p = path.Clean(p)
		if p == "." {
			return nil, nil
		}
		if err := validPath(p); err != nil {
			return nil, misuse("scan", p, "%w", err)
		}
		sorted = append(sorted, p)
	}
	slices.SortFunc(sorted, comparePaths)
	kept := sorted[:0]
	for _, p := range sorted {
		if n := len(kept); n > 0 && (p == kept[n-1] || strings.HasPrefix(p, kept[n-1]+"/")) {
			continue
		}
		kept = append(kept, p)
	}
	return kept, nil
}

// lead goes from the top to a start, emits the directories on the way that
// were not emitted, and visits the start. A start that is not there, or
// behind something that is not a directory, is absent.
func (s *scanner) lead(top *openDir, start string, led map[string]bool) error {
	dir := top
	dir.use()
	defer func() { dir.leave() }()
	elems := strings.Split(start, "/")
	for _, name := range elems[:len(elems)-1] {
		info, err := dir.Lstat(name)
		if vanished(err) || (err == nil && !info.IsDir()) {
			return nil
		}
		if err != nil {
			return failed("scan", dir.join(name), err)
		}
		sub, err := s.enter(dir, name)
		if err != nil || sub == nil {
			return err
		}
		dir.leave()
		dir = sub
		if led[dir.path] {
			continue
		}
		led[dir.path] = true
		if err := s.emit(&item{entry: Entry{Path: dir.path, Type: Directory, Mode: Mode(info)}}); err != nil {
			return err
		}
	}
	return s.visit(dir, elems[len(elems)-1])
}

// list visits everything in a directory.
func (s *scanner) list(d *openDir) error {
	names, err := d.ReadDir(".")
	if err != nil {
		return failed("scan", d.path, err)
	}
	for _, e := range names {
		if err := s.visit(d, e.Name); err != nil {
			return err
		}
	}
	return nil
}

// visit emits one name and all below it.
func (s *scanner) visit(d *openDir, name string) error {
	p := d.join(name)
	info, err := d.Lstat(name)
	if vanished(err) {
		return nil
	}
	if err != nil {
		return failed("scan", p, err)
	}
	if reason := specialReason(info.Mode); reason != "" {
		return s.emit(&item{entry: Entry{Path: p, Type: Omitted, Reason: reason}})
	}
	decision := Decision{}
	if s.rules.Filter != nil {
		decision = s.rules.Filter(p, info)
	}
	switch {
	case decision.Action == Skip:
		return nil
	case decision.Action == Omit:
		return s.emit(&item{entry: Entry{Path: p, Type: Omitted, Reason: decision.Reason}})
	case info.IsSymlink():
		return s.visitLink(d, name)
	case info.IsRegular():
		return s.visitFile(d, name, info)
	}
	sub, err := s.enter(d, name)
	if err != nil || sub == nil {
		return err
	}
	defer sub.leave()
	if err := s.emit(&item{entry: Entry{Path: p, Type: Directory, Mode: Mode(info)}}); err != nil {
		return err
	}
	if decision.Action == KeepEmpty {
		return nil
	}
	return s.list(sub)
}

// specialReason names what is neither file, directory nor link; "" for those.
func specialReason(mode fs.FileMode) string {
	switch mode.Type() {
	case 0, fs.ModeDir, fs.ModeSymlink:
		return ""
	case fs.ModeSocket:
		return "socket"
	case fs.ModeNamedPipe:
		return "fifo"
	}
	return "device"
}

// linkMode is the mode of all symbolic links: systems tell different ones,
// and none can be set.
const linkMode = 0o777

func (s *scanner) visitLink(d *openDir, name string) error {
	target, err := d.Readlink(name)
	if vanished(err) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	if err != nil {
		return failed("scan", d.join(name), err)
	}
	return s.emit(&item{entry: Entry{Path: d.join(name), Type: Symlink, Mode: linkMode, Target: target}})
}

// visitFile emits a regular file, and has it read if that is needed.
func (s *scanner) visitFile(d *openDir, name string, info vfs.Info) error {
	p := d.join(name)
	it := &item{entry: Entry{Path: p, Type: Regular}, info: info}
	zero, rules := s.rules.Zero[p], s.plain
	if len(zero) > 0 {
		rules = readingRules(&s.rules, zero)
	}
	var err error
	if it.known, err = s.remembers(p, info, rules); err != nil {
		return err
	}
	if it.known != nil {
		return s.emit(it)
	}
	s.letSettle(info)
	it.job = s.newJob(d, name, info, zero, rules)
	// The collector must know of the item before a worker can be waited for.
	if err := s.emit(it); err != nil {
		return err
	}
	return s.send(it.job)
}

// settleBytes is the size from which a file is worth a wait of racyWindow.
const settleBytes = 1 << 20

// letSettle waits before a large file of a moving tree is read that was written
// to just before the scan began, as a CHECKPOINT does: read too early, its
// times would tell nothing, and it were read a second time while the
// database is away. Nobody waits longer than until what was written before the
// scan has settled.
func (s *scanner) letSettle(info vfs.Info) {
	now := clock.System{}.Now()
	if !s.rules.Moving || !s.trust || info.Size < settleBytes || statOf(info).settled(now) {
		return
	}
	timer := time.NewTimer(s.since.Add(racyWindow + time.Millisecond).Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}
