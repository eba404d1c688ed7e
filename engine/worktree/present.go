package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"

	"forklift/storage"
	"forklift/storage/vfs"
)

// PresentOptions say what Present lists.
type PresentOptions struct {
	FS     vfs.FS
	Dir    string // absolute
	Store  Store
	Rules  storage.Rules // what counts: as Rules gives them, or a database's
	Memory Remembered    // what the last scan remembers; may be nil
}

// Present gives what is in a directory now as the entries of the manifest that
// a scan would make, in their order, without storing anything. Files that the
// memory does not know are read for their content's reference. What vanishes
// meanwhile is left out; what cannot be read ends it.
func Present(ctx context.Context, opt PresentOptions) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		root, err := opt.FS.OpenRoot(opt.Dir)
		if err == nil {
			defer func() { _ = root.Close() }()
			p := &presenter{prober: prober{ctx, root, opt.Store}, opt: opt, yield: yield}
			err = p.walk()
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(storage.Entry{}, fmt.Errorf("look at present files: %w", err))
		}
	}
}

// errEnough ends a walk whose consumer has seen enough.
var errEnough = errors.New("enough")

// presenter walks a directory for Present.
type presenter struct {
	prober
	opt   PresentOptions
	yield func(storage.Entry, error) bool
}

// walk visits the starts, and the directories that lead to them.
func (p *presenter) walk() error {
	top, err := p.root.Lstat(".")
	if err != nil {
		return err
	}
	starts := p.opt.Rules.Starts
	if starts == nil {
		return p.visit(".", top)
	}
	if err := p.give(storage.Entry{Path: ".", Type: storage.Directory, Mode: storage.Mode(top)}); err != nil {
		return err
	}
	led := map[string]bool{}
	for _, start := range starts {
		reached := true
		prefixes(start, func(dir string) bool {
			info, lstatErr := p.root.Lstat(dir)
			reached = lstatErr == nil && info.IsDir()
			if reached && !led[dir] {
				led[dir] = true
				err = p.give(storage.Entry{Path: dir, Type: storage.Directory, Mode: storage.Mode(info)})
			}
			return reached && err == nil
		})
		if err != nil {
			return err
		}
		info, lstatErr := p.root.Lstat(start)
		if !reached || absent(lstatErr) {
			continue
		}
		if lstatErr != nil {
			return lstatErr
		}
		if err := p.visit(start, info); err != nil {
			return err
		}
	}
	return nil
}

func (p *presenter) give(e storage.Entry) error {
	if !p.yield(e, nil) {
		return errEnough
	}
	return nil
}

// visit gives one path and, of a directory, what is in it.
func (p *presenter) visit(name string, info vfs.Info) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if !info.IsDir() && !info.IsRegular() && !info.IsSymlink() {
		return p.give(storage.Entry{Path: name, Type: storage.Omitted, Reason: "special file"})
	}
	d := storage.Decision{Action: storage.Keep}
	if p.opt.Rules.Filter != nil {
		d = p.opt.Rules.Filter(name, info)
	}
	switch d.Action {
	case storage.Skip:
		return nil
	case storage.Omit:
		return p.give(storage.Entry{Path: name, Type: storage.Omitted, Reason: d.Reason})
	}
	e, err := p.entry(name, info)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.give(e); err != nil || !info.IsDir() || d.Action == storage.KeepEmpty {
		return err
	}
	list, err := p.root.ReadDir(name)
	if err != nil {
		return err
	}
	for _, child := range list {
		at := path.Join(name, child.Name)
		info, err := p.root.Lstat(at)
		if absent(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := p.visit(at, info); err != nil {
			return err
		}
	}
	return nil
}

// entry describes one path as a scan would.
func (p *presenter) entry(name string, info vfs.Info) (storage.Entry, error) {
	e := storage.Entry{Path: name, Mode: storage.Mode(info)}
	switch {
	case info.IsDir():
		e.Type = storage.Directory
		return e, nil
	case info.IsSymlink():
		e.Type = storage.Symlink
		var err error
		e.Target, err = p.root.Readlink(name)
		return e, err
	}
	e.Type, e.Size = storage.Regular, info.Size
	if p.opt.Rules.Mtimes {
		e.Mtime = info.Mtime
	}
	if p.opt.Rules.Xattrs {
		attrs, err := p.root.Xattrs(name)
		if err != nil {
			return e, err
		}
		for _, a := range attrs {
			e.Xattrs = append(e.Xattrs, storage.EntryXattr{Name: a.Name, Value: a.Value})
		}
	}
	if p.opt.Memory != nil {
		if content, ok := p.opt.Memory.Content(name, info); ok {
			e.Content = content
			return e, nil
		}
	}
	var err error
	e.Content, e.Size, err = p.store.HashFile(p.ctx, p.root, name, p.opt.Rules.Unit)
	return e, err
}

// Difference is a path at which two trees differ: Old is nil where it came,
// New where it went. Neither is Omitted.
type Difference struct{ Old, New *storage.Entry }

// Path is where the difference is.
func (d Difference) Path() string {
	if d.Old != nil {
		return d.Old.Path
	}
	return d.New.Path
}

// Differences compares two trees that come in the order of manifests, such as
// Store.Walk and Present give them. Times do not count, and what either left
// out counts as absent. Directories are given when they came, went or
// changed their mode.
func Differences(old, now iter.Seq2[storage.Entry, error]) iter.Seq2[Difference, error] {
	return func(yield func(Difference, error) bool) {
		for pair, err := range merge(pullFrom(old), pullFrom(now)) {
			if err != nil {
				yield(Difference{}, err)
				return
			}
			for i, e := range pair {
				if kind(e) == storage.Omitted || e != nil && e.Path == "." {
					pair[i] = nil
				}
			}
			a, b := pair[0], pair[1]
			if a == nil && b == nil || a != nil && b != nil && sameContent(a, b) && (a.Mode == b.Mode || a.Type == storage.Symlink) {
				continue
			}
			if !yield(Difference{a, b}, nil) {
				return
			}
		}
	}
}

// Unselected lists the paths of a manifest that the rules of a scan may leave
// out, in the form of RuleOptions.Extra: with them a scan, or Present, looks at
// every path that the manifest has.
func Unselected(ctx context.Context, store Store, opt RuleOptions, manifest storage.ID) ([]string, error) {
	sel, err := newSelection(opt.Selection, opt.Ignored, nil)
	if err != nil {
		return nil, err
	}
	var list []string
	for e, err := range store.Walk(ctx, manifest) {
		if err != nil {
			return nil, err
		}
		dir := e.Type == storage.Directory
		if e.Type != storage.Omitted && e.Path != "." && !sel.selects(e.Path, dir) && !(dir && sel.lead[e.Path]) {
			list = append(list, coveredPath(e.Path, dir))
		}
	}
	return list, nil
}
