package storage

import (
	"context"
	"io/fs"
	"iter"
	"strings"

	"forklift/storage/vfs"
)

// presentPath is a path that is in the directory.
type presentPath struct {
	path string
	kind fs.FileMode // type bits
	mode uint32      // bits, of a directory
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
		if it.mode = Mode(info); it.mode&0o700 != 0o700 {
			it.mode |= 0o700
			if err := d.Chmod(e.Name, vfs.FileMode(it.mode)); err != nil {
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
	mode := Mode(info)
	if mode&0o700 != 0o700 {
		mode |= 0o700
		if err := p.top.Chmod(".", vfs.FileMode(mode)); err != nil {
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
