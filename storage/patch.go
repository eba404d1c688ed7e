package storage

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Patch makes a directory exactly the tree of a manifest: it writes what
// differs, creates what is missing, removes what the manifest does not name
// (except below what it says was omitted), and sets modes. Files are changed
// in place, so nothing may use the directory meanwhile; after an error or a
// crash it holds neither the old nor the new tree, and a Patch without Have
// makes it right.
//
// Nothing is flushed: the caller does that (durable.SyncTree).
func (s *Store) Patch(ctx context.Context, fsys vfs.FS, dir string, want ID, opt PatchOptions) (PatchStats, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return PatchStats{}, err
	}
	defer release()
	defer failpoint.Bulk()()
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return PatchStats{}, failed("patch", dir, err)
	}
	top := &openDir{Root: root, path: "."}
	top.use()
	defer top.leave()
	p := &patcher{s: s, ctx: ctx, top: top, opt: opt}
	err = p.plan(want)
	if fault.KindOf(err) == fault.Corrupt && !opt.Have.IsZero() {
		// Perhaps it is what is known that cannot be read: do without.
		p = &patcher{s: s, ctx: ctx, top: top, opt: PatchOptions{Verify: opt.Verify}}
		err = p.plan(want)
	}
	if err != nil {
		return p.stats, failed("patch", dir, err)
	}
	if err := p.apply(); err != nil {
		return p.stats, failed("patch", dir, err)
	}
	return p.stats, nil
}

// patcher is one patch.
type patcher struct {
	s     *Store
	ctx   context.Context
	top   *openDir
	opt   PatchOptions
	stats PatchStats

	present []presentPath // what is there, in order
	at      int           // of present: what the plan has come to

	remove []string // in order; removed from the end
	dirs   []dirPlan
	links  []*Entry
	files  []filePlan
}

// presentPath is a path that is in the directory.
type presentPath struct {
	path string
	kind fs.FileMode // type bits
	mode uint32      // permissions, of a directory
}

// dirPlan is a directory of the new tree.
type dirPlan struct {
	path   string
	mode   uint32
	create bool
	chmod  bool
}

// filePlan is a regular file of the new tree that is not as it should be, or
// not known to be.
type filePlan struct {
	entry  *Entry
	old    *Entry // what is known to be there; nil if nothing is
	exists bool
}

// list reads what is below a directory. Directories that their modes protect
// are opened up; the plan sets all modes in the end.
func (p *patcher) list(d *openDir) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	names, err := d.ReadDir(".")
	if err != nil {
		return failed("list", d.path, err)
	}
	for _, e := range names {
		it := presentPath{path: d.join(e.Name), kind: e.Type.Type()}
		if !e.Type.IsDir() {
			p.present = append(p.present, it)
			continue
		}
		info, err := d.Lstat(e.Name)
		if err != nil {
			return failed("list", it.path, err)
		}
		if it.mode = permissions(info); it.mode&0o700 != 0o700 {
			it.mode |= 0o700
			if err := d.Chmod(e.Name, fs.FileMode(it.mode)); err != nil {
				return failed("change mode", it.path, err)
			}
		}
		p.present = append(p.present, it)
		root, err := d.OpenRoot(e.Name)
		if err != nil {
			return failed("list", it.path, err)
		}
		sub := &openDir{Root: root, path: it.path}
		sub.use()
		err = p.list(sub)
		sub.leave()
		if err != nil {
			return err
		}
	}
	return nil
}

// plan merges what is there, what is known about it and what is wanted.
func (p *patcher) plan(want ID) error {
	info, err := p.top.Lstat(".")
	if err != nil {
		return err
	}
	mode := permissions(info)
	if mode&0o700 != 0o700 {
		mode |= 0o700
		if err := p.top.Chmod(".", fs.FileMode(mode)); err != nil {
			return err
		}
	}
	p.present = []presentPath{{path: ".", kind: fs.ModeDir, mode: mode}}
	if err := p.list(p.top); err != nil {
		return err
	}
	olds := p.s.newKnownEntries(p.ctx, p.opt.Have)
	defer olds.stop()
	err = p.s.walk(p.ctx, want, func(e *Entry) error {
		old, err := olds.at(e.Path)
		if err != nil {
			return err
		}
		there := p.advance(e.Path)
		if e.Type == Omitted {
			p.skipBelow(e.Path)
			return nil
		}
		p.planEntry(e, old, there)
		return nil
	})
	if err != nil {
		return err
	}
	for ; p.at < len(p.present); p.at++ {
		p.drop(&p.present[p.at])
	}
	return nil
}

// drop plans the removal of something; the top itself stays.
func (p *patcher) drop(there *presentPath) {
	if there.path != "." {
		p.remove = append(p.remove, there.path)
	}
}

// advance plans the removal of what comes before path, and gives what is at
// path; nil if nothing is.
func (p *patcher) advance(path string) *presentPath {
	for ; p.at < len(p.present); p.at++ {
		there := &p.present[p.at]
		switch order := comparePaths(there.path, path); {
		case order == 0:
			p.at++
			return there
		case order > 0:
			return nil
		}
		p.drop(there)
	}
	return nil
}

// skipBelow leaves what is below a path alone.
func (p *patcher) skipBelow(path string) {
	for p.at < len(p.present) && strings.HasPrefix(p.present[p.at].path, path+"/") {
		p.at++
	}
}

// planEntry plans one wanted entry.
func (p *patcher) planEntry(e, old *Entry, there *presentPath) {
	kinds := map[EntryType]fs.FileMode{Directory: fs.ModeDir, Regular: 0, Symlink: fs.ModeSymlink}
	if there != nil && there.kind != kinds[e.Type] {
		p.drop(there)
		there = nil
	}
	switch e.Type {
	case Directory:
		p.dirs = append(p.dirs, dirPlan{path: e.Path, mode: e.Mode, create: there == nil, chmod: there != nil && there.mode != e.Mode})
	case Symlink:
		if there != nil {
			if target, err := p.top.Readlink(e.Path); err == nil && target == e.Target {
				return
			}
			p.drop(there)
		}
		p.links = append(p.links, e)
	case Regular:
		if old != nil && (old.Type != Regular || p.opt.Inexact[e.Path] || p.opt.Verify >= 1) {
			old = nil
		}
		if there != nil && old != nil && equalEntries(old, e) {
			return
		}
		p.files = append(p.files, filePlan{entry: e, old: old, exists: there != nil})
	}
}

// knownEntries gives the entries of a manifest to who asks in order.
type knownEntries struct {
	next func() (Entry, error, bool)
	stop func()
	head *Entry
	done bool
}

func (s *Store) newKnownEntries(ctx context.Context, manifest ID) *knownEntries {
	next, stop := iter.Pull2(s.Walk(ctx, manifest))
	return &knownEntries{next: next, stop: stop}
}

// at gives the entry of a path; nil if there is none.
func (k *knownEntries) at(path string) (*Entry, error) {
	for !k.done {
		if k.head == nil {
			e, err, ok := k.next()
			if err != nil {
				return nil, err
			}
			if k.done = !ok; k.done {
				break
			}
			k.head = &e
		}
		order := comparePaths(k.head.Path, path)
		if order > 0 {
			break
		}
		e := k.head
		k.head = nil
		if order == 0 {
			return e, nil
		}
	}
	return nil, nil
}

// apply does what was planned.
func (p *patcher) apply() error {
	for _, path := range slices.Backward(p.remove) {
		if err := p.top.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed("remove", path, err)
		}
		p.stats.Removed++
	}
	for _, d := range p.dirs {
		if d.create {
			if err := p.top.Mkdir(d.path, fs.FileMode(d.mode|0o700)); err != nil {
				return failed("create", d.path, err)
			}
		}
	}
	for _, e := range p.links {
		if err := p.top.Symlink(e.Target, e.Path); err != nil {
			return failed("create", e.Path, err)
		}
		p.stats.Files++
	}
	if err := p.fill(); err != nil {
		return err
	}
	for _, d := range slices.Backward(p.dirs) {
		if d.chmod || (d.create && d.mode&0o700 != 0o700) {
			if err := p.top.Chmod(d.path, fs.FileMode(d.mode)); err != nil {
				return failed("change mode", d.path, err)
			}
		}
	}
	return nil
}

// fill writes the files.
func (p *patcher) fill() error {
	w := &filler{s: p.s, ctx: p.ctx, verify: p.opt.Verify, report: newReporter(p.ctx)}
	defer func() { p.stats.WrittenBytes, p.stats.ReadBytes = w.written.Load(), w.read.Load() }()
	dir := p.top
	dir.use()
	defer func() { dir.leave() }()
	for i := range p.files {
		f := &p.files[i]
		parent := parentPath(f.entry.Path)
		if parent != dir.path {
			root, err := p.top.OpenRoot(parent)
			if err != nil {
				w.close()
				return failed("open", parent, err)
			}
			dir.leave()
			dir = &openDir{Root: root, path: parent}
			dir.use()
		}
		if err := p.fillFile(w, dir, f); err != nil {
			w.close()
			return err
		}
	}
	if err := w.flush(true); err != nil {
		w.close()
		return err
	}
	p.stats.Files += w.changed
	w.report.done()
	return nil
}

// fillFile gives one file to the filler.
func (p *patcher) fillFile(w *filler, dir *openDir, f *filePlan) error {
	e := f.entry
	o := &outFile{dir: dir, name: baseName(e.Path), path: e.Path, entry: e,
		create: !f.exists, exact: true, perm: fs.FileMode(e.Mode) | 0o600}
	known := false
	if f.exists {
		var err error
		if known, err = o.openThere(f.old); err != nil {
			return failed("open", e.Path, err)
		}
	}
	dir.use()
	if err := w.begin(o); err != nil {
		return err
	}
	if known {
		var changed []leaf
		err := p.s.pageLeaves(e.Content, e.Size, f.old.Content, f.old.Size, func(l leaf) error {
			changed = append(changed, l)
			return nil
		})
		if err == nil {
			for _, l := range changed {
				if err := w.add(l, f.old.Content.Unit == Chunks); err != nil {
					return err
				}
			}
			return nil
		}
		if fault.KindOf(err) != fault.Corrupt {
			return err
		}
		// What is wrong may be what the old manifest says; compare by reading.
	}
	return p.s.leaves(e.Content, e.Size, func(l leaf) error { return w.add(l, !o.create) })
}

// openThere opens a file that exists. It gives false if what is known of it
// cannot be right. A file with other names, which must not change, becomes
// one to create.
func (o *outFile) openThere(old *Entry) (bool, error) {
	f, err := o.dir.OpenFile(o.name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		if err = o.dir.Chmod(o.name, 0o600); err == nil {
			f, err = o.dir.OpenFile(o.name, os.O_RDWR, 0)
		}
	}
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err == nil && info.Nlink > 1 {
		_ = f.Close()
		o.create = true
		return false, o.dir.Remove(o.name)
	}
	if err == nil && info.Size > o.entry.Size {
		err = f.Truncate(o.entry.Size)
	}
	if err != nil {
		_ = f.Close()
		return false, err
	}
	o.f = f
	return old != nil && info.Size == old.Size, nil
}
