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

// ChangeOptions say what Changes compares.
type ChangeOptions struct {
	FS       vfs.FS
	Dir      string // the worktree's top, absolute
	Store    Store
	Rules    storage.Rules // what of the worktree counts: as Rules gives them
	Manifest storage.ID    // what it is compared with
	Memory   Remembered    // what the last scan remembers; may be nil
	Limit    int           // how many changes are listed; all are counted
	// Follow, if it is set, is told of every directory that counts before it is
	// read, of every repository that is left out, and of every .gitignore: so
	// that somebody can keep watch from then on.
	Follow func(path string, info vfs.Info, repository bool)
}

// Remembered knows the content of files that have not been touched since a
// scan; *storage.Memory is one.
type Remembered interface {
	// Content is the content that the file at path has if it is still the
	// one that info describes.
	Content(path string, info vfs.Info) (storage.Content, bool)
}

// Change is a path that differs from a manifest.
type Change struct {
	Path   string // quoted where it is not UTF-8; a directory ends in "/"
	Change string // one of the Change constants
}

// The ways in which a path can differ.
const (
	Added        = "added"
	Modified     = "modified" // other content or type
	Removed      = "removed"
	ModeModified = "mode" // another mode, the same content
)

// Changes lists what differs now between the worktree and a manifest, in the
// order of the paths, at most Limit of them, and counts all. Directories are
// listed when their mode differs, and when they came or went without anything
// in them.
//
// A file of the same size is read, unless the memory proves that it was not
// touched; its modification time alone proves nothing. Files that vanish or
// cannot be read meanwhile count as changed.
func Changes(ctx context.Context, opt ChangeOptions) ([]Change, int, error) {
	root, err := opt.FS.OpenRoot(opt.Dir)
	if err != nil {
		return nil, 0, fmt.Errorf("look for changes: %w", err)
	}
	defer root.Close()
	then := readAhead(ctx, func(ctx context.Context) iter.Seq2[storage.Entry, error] { return opt.Store.Walk(ctx, opt.Manifest) })
	c := &comparer{prober: prober{ctx, root, opt.Store}, opt: opt, then: then}
	defer c.then.stop()
	if err := c.walk(); err != nil {
		return nil, 0, fmt.Errorf("look for changes: %w", err)
	}
	return c.list, c.count, nil
}

// comparer walks the worktree beside the manifest.
type comparer struct {
	prober
	opt   ChangeOptions
	then  *cursor
	list  []Change
	count int
	// dir is a directory that came or went and is listed unless something in
	// it is.
	dir Change
}

// walk visits the starts and what leads to them, and then what is left of
// the manifest.
func (c *comparer) walk() error {
	starts := c.opt.Rules.Starts
	if starts == nil {
		starts = []string{"."}
	}
	visited := map[string]bool{}
	for _, start := range starts {
		ok := true
		prefixes(start, func(dir string) bool {
			if !visited[dir] {
				visited[dir] = true
				info, err := c.root.Lstat(dir)
				if ok = err == nil && info.IsDir(); ok {
					c.follow(dir, info, storage.Decision{})
					c.lead(dir)
				}
			}
			return ok
		})
		info, err := c.root.Lstat(start)
		if absent(err) || !ok {
			continue
		}
		if err != nil {
			return err
		}
		if err := c.visit(c.root, start, start, info, nil); err != nil {
			return err
		}
	}
	c.gone("")
	c.flushDir("")
	return c.then.err
}

// lead passes over the manifest's entry of a directory that leads to a start.
func (c *comparer) lead(dir string) {
	c.gone(dir)
	if e := c.then.at; e != nil && e.Path == dir {
		c.then.advance()
	}
}

// gone reports the manifest's entries before path, all of them for "".
func (c *comparer) gone(path string) {
	for e := c.then.at; e != nil && (path == "" || comparePaths(e.Path, path) < 0); e = c.then.at {
		if e.Type != storage.Omitted && e.Path != "." {
			c.add(e.Path, Removed, e.Type == storage.Directory)
		}
		c.then.advance()
	}
}

// visit compares one path and, for a directory, what is in it. The path is
// called name in dir: names in a directory that is held open need one system call.
// known is what was found out about it before; nil if nothing was.
func (c *comparer) visit(dir vfs.Root, name, p string, info vfs.Info, known *sibling) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.gone(p)
	if c.then.err != nil {
		return c.then.err
	}
	var then *storage.Entry
	if e := c.then.at; e != nil && e.Path == p {
		then = e
		c.then.advance()
	}
	var d storage.Decision
	if known != nil {
		d = known.decision
	} else {
		d = c.choose(p, info)
	}
	if d.Action == storage.Skip || d.Action == storage.Omit {
		if then != nil && then.Type != storage.Omitted {
			c.add(p, Removed, then.Type == storage.Directory)
		}
		return nil
	}
	if err := c.compare(p, info, then); err != nil {
		return err
	}
	if !info.IsDir() || d.Action == storage.KeepEmpty {
		return nil
	}
	var l *listing
	var err error
	if known != nil {
		l, err = known.take()
	} else {
		l, err = readListing(dir, name, 0)
	}
	defer l.close()
	if err != nil {
		return err
	}
	return c.enter(l, p)
}

// choose decides about a path, and tells whoever keeps watch.
func (c *comparer) choose(p string, info vfs.Info) storage.Decision {
	d := c.decide(p, info)
	c.follow(p, info, d)
	return d
}

// follow tells whoever keeps watch.
func (c *comparer) follow(p string, info vfs.Info, d storage.Decision) {
	repository := d.Action == storage.Omit && d.Reason == ReasonRepository
	counts := d.Action != storage.Skip && d.Action != storage.Omit
	if c.opt.Follow != nil && (repository || counts && (info.IsDir() || path.Base(p) == ".gitignore")) {
		c.opt.Follow(p, info, repository)
	}
}

// enter visits what is in a directory. While one directory in it is looked at, the
// next one is read.
func (c *comparer) enter(l *listing, p string) error {
	next := c.readSibling(l, p, 0)
	defer func() { next.drop() }()
	for i, e := range l.entries {
		var known *sibling
		if next != nil && next.index == i {
			known, next = next, c.readSibling(l, p, i+1)
		}
		info, err := l.info(i)
		if known != nil {
			info, err = known.info, nil
		}
		if absent(err) {
			continue
		}
		if err == nil {
			err = c.visit(l.dir, e.Name, join(p, e.Name), info, known)
		}
		known.drop() // unless it was visited
		if err != nil {
			return err
		}
	}
	return nil
}

// decide asks the rules, as a scan does.
func (c *comparer) decide(p string, info vfs.Info) storage.Decision {
	if !info.IsDir() && !info.IsRegular() && !info.IsSymlink() {
		return storage.Decision{Action: storage.Omit}
	}
	if c.opt.Rules.Filter == nil {
		return storage.Decision{Action: storage.Keep}
	}
	return c.opt.Rules.Filter(p, info)
}

// compare compares one path that counts with its entry in the manifest.
func (c *comparer) compare(p string, info vfs.Info, then *storage.Entry) error {
	switch {
	case p == ".":
	case then == nil || then.Type == storage.Omitted:
		c.add(p, Added, info.IsDir())
	default:
		same, err := c.same(p, info, then)
		if err != nil && !absent(err) && !unreadable(err) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !same || err != nil {
			c.add(p, Modified, info.IsDir())
		} else if then.Type != storage.Symlink && !sameMode(info, then.Mode) {
			c.flushDir(p)
			c.append(Change{QuotePath(slash(p, info.IsDir())), ModeModified})
		}
	}
	return nil
}

// same reports that type and content are those of the entry.
func (c *comparer) same(p string, info vfs.Info, then *storage.Entry) (bool, error) {
	if then.Type != storage.Regular {
		return c.matches(p, info, then, false)
	}
	if !info.IsRegular() || info.Size != then.Size {
		return false, nil
	}
	if c.opt.Memory != nil {
		if content, ok := c.opt.Memory.Content(p, info); ok {
			return content == then.Content, nil
		}
	}
	return c.matches(p, info, then, false)
}

// add reports a path. A directory that came or went waits until it is clear
// whether anything in it did.
func (c *comparer) add(p, change string, dir bool) {
	c.flushDir(p)
	if dir && change != Modified {
		c.dir = Change{p, change}
		return
	}
	c.append(Change{QuotePath(slash(p, dir)), change})
}

// flushDir reports the waiting directory, unless p is in it.
func (c *comparer) flushDir(p string) {
	if d := c.dir; d.Path != "" && !below(p, d.Path) {
		c.append(Change{QuotePath(d.Path + "/"), d.Change})
	}
	c.dir = Change{}
}

func slash(p string, dir bool) string {
	if dir {
		return p + "/"
	}
	return p
}

func (c *comparer) append(change Change) {
	c.count++
	if len(c.list) < c.opt.Limit {
		c.list = append(c.list, change)
	}
}
