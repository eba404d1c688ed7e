package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Rescue is something that an install displaced and that is in no checkpoint:
// it was changed, or came, after the present state had been saved.
type Rescue struct {
	Path    string // where it was, relative to the worktree; quoted where it is not UTF-8
	Staged  string // where it is now, relative to the worktree; quoted likewise
	Saved   string // its path in the manifest that Rescues makes, quoted likewise; "" for what cannot be saved
	Unsaved string // why it cannot go into a checkpoint: "fifo", "repository", "unreadable", ...; "" for files and links

	path, staged, saved string // the same, not quoted
	info                vfs.Info
}

// find lists what was displaced and is neither what was saved nor what is
// wanted, by path; of several of one path the oldest first. What the forward
// install displaced belongs to the one that takes it back, too. The list is
// remembered for Rescues and Remove.
func (in *Install) find(ctx context.Context) ([]Rescue, error) {
	root, err := in.fs.OpenRoot(in.dir)
	if err != nil {
		return nil, fmt.Errorf("look for displaced files: %w", err)
	}
	defer root.Close()
	judged := map[string]vfs.Info{}
	list, err := in.displaced(ctx, root, judged)
	if err == nil && in.head.Back {
		var forward *Install
		forward, err = OpenInstall(ctx, in.fs, in.dir, in.store, in.clock, in.head.Operation, false)
		if err == nil && forward != nil {
			var more []Rescue
			more, err = forward.displaced(ctx, root, judged)
			list = append(more, list...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look for displaced files: %w", err)
	}
	slices.SortStableFunc(list, func(a, b Rescue) int { return comparePaths(a.path, b.path) })
	nameRescues(list)
	in.rescued, in.judged = list, judged
	return list, nil
}

// displaced looks at the displaced things of this install and notes in judged
// what it saw.
func (in *Install) displaced(ctx context.Context, root vfs.Root, judged map[string]vfs.Info) ([]Rescue, error) {
	old := path.Join(in.staging, oldDir)
	list, err := root.ReadDir(old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := &finder{prober: prober{ctx, root, in.store}, steps: map[string]*step{}, judged: judged}
	for i := range in.steps {
		f.steps[in.steps[i].Path] = &in.steps[i]
	}
	slices.SortFunc(list, func(a, b vfs.Entry) int { return compareDisplaced(a.Name, b.Name) })
	for _, e := range list {
		n, _, ok := displacedNumber(e.Name)
		if !ok || n >= len(in.steps) {
			f.found = append(f.found, Rescue{path: e.Name, staged: path.Join(old, e.Name), Unsaved: "unknown"})
			continue
		}
		if err := f.look(in.steps[n].Path, path.Join(old, e.Name)); err != nil {
			return nil, err
		}
	}
	return f.found, nil
}

// displacedNumber reads the name of a displaced thing: its step and how
// often that one's path was cleared before.
func displacedNumber(name string) (n, again int, ok bool) {
	first, second, more := strings.Cut(name, ".")
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 {
		return 0, 0, false
	}
	if more {
		again, err = strconv.Atoi(second)
	}
	return n, again, err == nil
}

func compareDisplaced(a, b string) int {
	an, aa, _ := displacedNumber(a)
	bn, ba, _ := displacedNumber(b)
	if an != bn {
		return an - bn
	}
	return aa - ba
}

// finder collects rescues.
type finder struct {
	prober
	steps  map[string]*step // by path
	found  []Rescue
	judged map[string]vfs.Info // what was looked at, by where it is now
}

// look judges one displaced thing; p is where it was, at where it is.
func (f *finder) look(p, at string) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	info, err := f.root.Lstat(at)
	if err != nil {
		return err
	}
	f.judged[at] = info
	r := Rescue{path: p, staged: at, info: info}
	switch {
	case info.IsDir():
		return f.directory(r)
	case !info.IsRegular() && !info.IsSymlink():
		r.Unsaved = specialName(info.Mode)
	default:
		known, err := f.known(p, at, info)
		if unreadable(err) {
			known, err, r.Unsaved = false, nil, "unreadable"
		}
		if known || err != nil {
			return err
		}
	}
	f.found = append(f.found, r)
	return nil
}

// known reports that a displaced thing is what the safety pair or the target
// has at its path.
func (f *finder) known(p, at string, info vfs.Info) (bool, error) {
	s := f.steps[p]
	if s == nil {
		return false, nil
	}
	for _, e := range []*storage.Entry{s.Have, s.Want} {
		if ok, err := f.matches(at, info, e, true); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// directory judges what is in a displaced directory. An empty one is nothing
// to rescue; another repository is one thing.
func (f *finder) directory(r Rescue) error {
	list, err := f.root.ReadDir(r.staged)
	if unreadable(err) {
		if err = f.root.Chmod(r.staged, writable); err == nil {
			list, err = f.root.ReadDir(r.staged)
		}
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if strings.EqualFold(e.Name, ".git") {
			r.Unsaved = ReasonRepository
			f.found = append(f.found, r)
			return nil
		}
	}
	for _, e := range list {
		if err := f.look(path.Join(r.path, e.Name), path.Join(r.staged, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// specialName is what users call a kind of file that cannot be saved.
func specialName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "fifo"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// Rescues stores what the last Run rescued and gives the manifest that has it
// at its old paths; of several of one path the newest has it and the older ones
// have "~1~" and so on added. What cannot be saved is left out. The zero ID
// means that there was nothing to save. Nothing is durable before the writer
// commits.
func (in *Install) Rescues(ctx context.Context, w Writer) (manifest storage.ID, files int, bytes int64, err error) {
	root, err := in.fs.OpenRoot(in.dir)
	if err != nil {
		return storage.ID{}, 0, 0, fmt.Errorf("save rescued files: %w", err)
	}
	defer root.Close()
	entries, dirs := []storage.Entry{{Path: ".", Type: storage.Directory, Mode: 0o755}}, map[string]bool{}
	for _, r := range in.rescued {
		if r.saved == "" {
			continue
		}
		e, err := rescueEntry(ctx, root, w, r)
		if err != nil {
			return storage.ID{}, 0, 0, &fault.Error{Op: "save rescued file", Path: r.Path, Err: err}
		}
		prefixes(e.Path, func(dir string) bool {
			if !dirs[dir] {
				dirs[dir] = true
				entries = append(entries, storage.Entry{Path: dir, Type: storage.Directory, Mode: 0o755})
			}
			return true
		})
		entries = append(entries, e)
		files, bytes = files+1, bytes+e.Size
	}
	if files == 0 {
		return storage.ID{}, 0, 0, nil
	}
	slices.SortFunc(entries, func(a, b storage.Entry) int { return comparePaths(a.Path, b.Path) })
	manifest, err = w.Entries(ctx, func(yield func(storage.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	return manifest, files, bytes, err
}

// nameRescues gives each rescued thing its path in the manifest, and the forms
// of its paths that are shown.
func nameRescues(list []Rescue) {
	dirs, used := map[string]bool{}, map[string]bool{}
	for _, r := range list {
		if r.Unsaved == "" {
			prefixes(r.path, func(dir string) bool { dirs[dir] = true; return true })
		}
	}
	for i := len(list) - 1; i >= 0; i-- { // the newest first: it keeps the path
		r := &list[i]
		r.Path, r.Staged = QuotePath(r.path), QuotePath(r.staged)
		if r.Unsaved != "" {
			continue
		}
		r.saved = r.path
		for again := 1; used[r.saved] || dirs[r.saved]; again++ {
			r.saved = fmt.Sprintf("%s~%d~", r.path, again)
		}
		used[r.saved], r.Saved = true, QuotePath(r.saved)
	}
}

// rescueEntry stores one rescued file.
func rescueEntry(ctx context.Context, root vfs.Root, w Writer, r Rescue) (storage.Entry, error) {
	e := storage.Entry{Path: r.saved, Mode: storage.Mode(r.info), Mtime: r.info.Mtime}
	if r.info.IsSymlink() {
		target, err := root.Readlink(r.staged)
		e.Type, e.Target = storage.Symlink, target
		return e, err
	}
	attrs, err := root.Xattrs(r.staged)
	if err != nil {
		return e, err
	}
	for _, x := range attrs {
		e.Xattrs = append(e.Xattrs, storage.EntryXattr{Name: x.Name, Value: x.Value})
	}
	f, err := root.OpenFile(r.staged, os.O_RDONLY, 0)
	if err != nil {
		return e, err
	}
	defer f.Close()
	e.Type = storage.Regular
	e.Content, e.Size, err = w.Content(ctx, f, storage.Chunks)
	return e, err
}
