package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forklift/storage"
	"forklift/storage/vfs"
)

// RecheckOptions say what Recheck looks at again.
type RecheckOptions struct {
	ChangeOptions          // as for Changes; Limit is not used
	Known         []Change // all changes, as Changes gave them
	Paths         []string // relative paths that may have changed since; nothing else has
	// Lookup finds a path's entry in the manifest.
	Lookup func(ctx context.Context, p string) (storage.Entry, bool, error)
}

// Recheck brings a list of changes up to date by looking at single files. ok
// is false, and nothing was found out, when one of the paths is, was or makes
// a directory or a repository: then only Changes can tell.
func Recheck(ctx context.Context, opt RecheckOptions) (list []Change, ok bool, err error) {
	root, err := opt.FS.OpenRoot(opt.Dir)
	if err != nil {
		return nil, false, fmt.Errorf("look for changes: %w", err)
	}
	defer root.Close()
	r := &rechecker{comparer: comparer{prober: prober{ctx, root, opt.Store}, opt: opt.ChangeOptions}, look: opt.Lookup}
	r.comparer.opt.Limit = len(opt.Paths)
	touched := map[string]bool{}
	for _, p := range opt.Paths {
		if touched[QuotePath(p)] {
			continue
		}
		touched[QuotePath(p)] = true
		if ok, err := r.path(p); !ok || err != nil {
			return nil, false, err
		}
	}
	for _, c := range opt.Known {
		if !touched[c.Path] {
			list = append(list, c)
		}
	}
	list = append(list, r.list...)
	slices.SortStableFunc(list, func(a, b Change) int { return comparePaths(plainPath(a), plainPath(b)) })
	return list, true, nil
}

// plainPath is the path of a change as manifests have it.
func plainPath(c Change) string {
	p, err := UnquotePath(c.Path)
	if err != nil {
		return c.Path
	}
	return strings.TrimSuffix(p, "/")
}

// rechecker compares single files.
type rechecker struct {
	comparer
	look func(ctx context.Context, p string) (storage.Entry, bool, error)
}

// path compares one path, if it can be judged by itself.
func (r *rechecker) path(p string) (ok bool, err error) {
	if p == "." || forbidden(p) {
		return false, nil
	}
	if ok, err := r.inside(p); !ok || err != nil {
		return false, err
	}
	e, found, err := r.look(r.ctx, p)
	if err != nil {
		return false, err
	}
	then := &e
	if !found || e.Type == storage.Omitted {
		then = nil
	} else if e.Type == storage.Directory {
		return false, nil
	}
	info, err := r.root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist) || absent(err):
		if then != nil {
			r.add(p, Removed, false)
		}
		return true, nil
	case err != nil || info.IsDir():
		return false, err
	case !r.counts(p, info):
		if then != nil {
			r.add(p, Removed, false)
		}
		return true, nil
	}
	return true, r.compare(p, info, then)
}

// inside reports that the directory of p is in the manifest, and there.
func (r *rechecker) inside(p string) (bool, error) {
	dir := path.Dir(p)
	if dir == "." {
		return true, nil
	}
	e, found, err := r.look(r.ctx, dir)
	if err != nil || !found || e.Type != storage.Directory {
		return false, err
	}
	info, err := r.root.Lstat(dir)
	return err == nil && info.IsDir(), nil
}

// counts reports that a scan would save the file.
func (r *rechecker) counts(p string, info vfs.Info) bool {
	return (info.IsRegular() || info.IsSymlink()) && Selects(r.opt.Rules, p)
}
