package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Patch makes a directory exactly the tree of a manifest: it writes what
// differs, creates what is missing, removes what the manifest does not name
// (except below what it says was omitted), and sets modes, as far as KeptMode
// lets it. Files are changed
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
		p = &patcher{s: s, ctx: ctx, top: top, opt: PatchOptions{Verify: opt.Verify, Near: opt.Near}}
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
			if err := p.top.Mkdir(d.path, vfs.FileMode(d.mode|0o700)); err != nil {
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
			if err := p.top.Chmod(d.path, vfs.FileMode(d.mode)); err != nil {
				return failed("change mode", d.path, err)
			}
		}
	}
	return nil
}

// fill writes the files.
func (p *patcher) fill() error {
	w := &filler{s: p.s, ctx: p.ctx, near: p.opt.Near, verify: p.opt.Verify, report: newReporter(p.ctx)}
	defer func() {
		p.stats.WrittenBytes, p.stats.ReadBytes, p.stats.NearBytes = w.written.Load(), w.read.Load(), w.borrowed.Load()
	}()
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
		create: !f.exists, exact: true, perm: vfs.FileMode(e.Mode&plainBits | 0o600)}
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
