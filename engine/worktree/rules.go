package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// The reasons for which a path is left out, as entries and users see them.
// Sockets, FIFOs and devices are named by the scan itself.
const (
	ReasonIgnored    = "ignored"    // by the file's patterns or by git
	ReasonRepository = "repository" // a directory that holds a .git of its own
	ReasonReserved   = "reserved"   // a name that some file system takes for .git
)

// RuleOptions say what of a worktree a scan saves.
type RuleOptions struct {
	FS        vfs.FS
	Dir       string // the worktree's top, absolute
	Selection config.Selection
	Ignored   []string // what git ignores below the sources, unquoted; used unless Selection includes it
	Extra     []string // covered paths, as Covered gives them: saved whatever the selection says
	Exclude   []string // absolute directories that are never entered, such as the store
}

// Rules gives the rules of a scan of the worktree's source files. It fails
// with kind Usage when a source is reached through a symbolic link.
//
// The filter leaves out, beside what the selection ignores: `.git` in any
// spelling, staging directories, .forklift.json unless a source names it, and
// every directory below the top that holds a `.git`: that is another
// repository, with all that is in it. What is ignored, and other repositories,
// are recorded as Omitted, so that a restore leaves them alone.
func Rules(opt RuleOptions) (storage.Rules, error) {
	sel, err := newSelection(opt.Selection, opt.Ignored, opt.Extra)
	if err != nil {
		return storage.Rules{}, err
	}
	r := &scanRules{selection: sel, fs: opt.FS, dir: opt.Dir, exclude: map[string]bool{}}
	for _, abs := range opt.Exclude {
		if rel, ok := strings.CutPrefix(path.Clean(abs), path.Clean(opt.Dir)+"/"); ok {
			r.exclude[rel] = true
		}
	}
	starts, err := r.startList()
	if err != nil {
		return storage.Rules{}, err
	}
	return storage.Rules{Starts: starts, Filter: r.filter, Unit: storage.Chunks, Mtimes: true, Xattrs: true}, nil
}

// scanRules is a selection bound to a worktree.
type scanRules struct {
	*selection
	fs      vfs.FS
	dir     string
	exclude map[string]bool // relative paths that are never entered
}

// startList is the list of paths to walk: the sources and the covered paths
// that are not inside another of the list, sorted. nil is the whole tree.
func (r *scanRules) startList() ([]string, error) {
	list := []string{}
	for _, p := range r.starts {
		reached, err := r.reach(p)
		if err != nil {
			return nil, err
		}
		if reached == p {
			list = append(list, p)
			continue
		}
		// A file in the place of a directory means that the source is absent.
		if info, err := r.fs.Lstat(path.Join(r.dir, reached)); err == nil && info.IsSymlink() {
			return nil, &fault.Error{Op: "scan sources", Path: p, Kind: fault.Usage, Err: fmt.Errorf("source %q: %q is a symbolic link", p, reached),
				Hint: "Name the real path: symbolic links are saved as links and never followed."}
		}
	}
	for p := range r.covered {
		reached, err := r.reach(p)
		if err != nil {
			return nil, err
		}
		list = append(list, reached)
	}
	if slices.Contains(list, ".") {
		return nil, nil
	}
	sort.Slice(list, func(i, j int) bool { return comparePaths(list[i], list[j]) < 0 })
	out := list[:0]
	for _, p := range list {
		if len(out) == 0 || !config.Within(p, out[len(out)-1]) {
			out = append(out, p)
		}
	}
	return out, nil
}

// reach is p, or the first of the directories that lead to it that exists
// and is not one.
func (r *scanRules) reach(p string) (string, error) {
	reached, failed := p, error(nil)
	prefixes(p, func(q string) bool {
		info, err := r.fs.Lstat(path.Join(r.dir, q))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false // nothing below it exists either
		case err != nil:
			failed = fmt.Errorf("look at source directory: %w", err)
		case !info.IsDir():
			reached = q
		default:
			return true
		}
		return false
	})
	return reached, failed
}

// filter decides about one path; see Rules.
func (r *scanRules) filter(p string, info vfs.Info) storage.Decision {
	base := p[strings.LastIndexByte(p, '/')+1:]
	dir := info.IsDir()
	switch {
	case p == ".":
		return storage.Decision{Action: storage.Keep}
	case strings.EqualFold(base, ".git"), strings.HasPrefix(p, config.StagingPrefix), r.exclude[p]:
		return storage.Decision{Action: storage.Skip}
	case config.Reserved(base):
		return storage.Decision{Action: storage.Omit, Reason: ReasonReserved}
	case p == config.Name && !r.named(p) && !r.covers(p):
		return storage.Decision{Action: storage.Skip}
	case dir && r.repository(p):
		return storage.Decision{Action: storage.Omit, Reason: ReasonRepository}
	case dir && r.lead[p], r.covers(p), r.selects(p, dir):
		return storage.Decision{Action: storage.Keep}
	}
	if _, inside := r.start(p); inside {
		return storage.Decision{Action: storage.Omit, Reason: ReasonIgnored}
	}
	return storage.Decision{Action: storage.Skip} // beside what is covered
}

// repository reports a directory with a `.git` in it. One that cannot be
// looked into is none: the scan itself will say so.
func (r *scanRules) repository(p string) bool {
	_, err := r.fs.Lstat(path.Join(r.dir, p, ".git"))
	return err == nil
}
