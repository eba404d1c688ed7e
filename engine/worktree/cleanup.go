package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// Remove deletes the staging directory with what was displaced, and that of
// the install that this one took back. It must only be called when the
// operation's journal is gone and what was rescued is in a named checkpoint.
// What could not be saved (Rescue.Unsaved), or was written after Run looked at
// it, stays, and the directory with it: Leftovers lists it then. After an error
// or a crash a part is left, which Leftovers finds too.
func (in *Install) Remove(ctx context.Context) error {
	root, err := in.fs.OpenRoot(in.dir)
	if err != nil {
		return fmt.Errorf("remove staging directory: %w", err)
	}
	defer root.Close()
	names := []string{in.staging}
	if in.head.Back {
		forward, err := stagingName(in.head.Operation, false)
		if err != nil {
			return err
		}
		names = append(names, forward)
	}
	keep := map[string]bool{}
	for _, r := range in.rescued {
		if r.Unsaved != "" {
			keep[r.staged] = true
		}
	}
	for _, name := range names {
		err := in.written(root, path.Join(name, oldDir), keep)
		if err == nil {
			err = removeStaging(root, name, keep)
		}
		if err != nil {
			return fmt.Errorf("remove staging directory: %w", err)
		}
	}
	return ctx.Err()
}

// written adds to keep what of a directory is not as Run saw it: somebody who
// had it open has written to it since.
func (in *Install) written(root vfs.Root, dir string, keep map[string]bool) error {
	list, err := root.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		p := path.Join(dir, e.Name)
		if keep[p] {
			continue
		}
		info, err := root.Lstat(p)
		if err != nil {
			return err
		}
		if info.IsDir() {
			if err := in.written(root, p, keep); err != nil {
				return err
			}
		} else if in.judged[p] != info {
			keep[p] = true
		}
	}
	return err
}

// removeStaging deletes a staging directory but for what is kept. The list
// goes last: as long as it is there a leftover can be judged by it.
func removeStaging(root vfs.Root, name string, keep map[string]bool) error {
	if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := durable.RemoveAll(root, path.Join(name, newDir)); err != nil {
		return err
	}
	kept, err := removeExcept(root, path.Join(name, oldDir), keep)
	if err != nil || kept {
		return err
	}
	return durable.RemoveAll(root, name)
}

// removeExcept deletes what is in a directory and the directory itself, but
// for kept paths and what leads to them; it reports whether any was there.
func removeExcept(root vfs.Root, dir string, keep map[string]bool) (bool, error) {
	leads := false
	for p := range keep {
		leads = leads || below(p, dir)
	}
	if !leads {
		return false, durable.RemoveAll(root, dir)
	}
	list, err := root.ReadDir(dir)
	if err != nil {
		return true, err
	}
	for _, e := range list {
		p := path.Join(dir, e.Name)
		if keep[p] {
			continue
		}
		if _, err := removeExcept(root, p, keep); err != nil {
			return true, err
		}
	}
	return true, nil
}

// RemoveStaging deletes the staging directories of an operation that goes
// back before its switch: nothing was displaced yet. If displaced things are
// there after all it refuses, and nothing is removed. Absent is not an error.
// After nil their absence is durable.
func RemoveStaging(ctx context.Context, fsys vfs.FS, dir, operation string) error {
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("remove staging directory: %w", err)
	}
	defer root.Close()
	for _, back := range []bool{true, false} {
		name, err := stagingName(operation, back)
		if err != nil {
			return &fault.Error{Op: "remove staging directory", Err: err}
		}
		list, err := root.ReadDir(path.Join(name, oldDir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove staging directory: %w", err)
		}
		if len(list) > 0 {
			return &fault.Error{Op: "remove staging directory", Path: name, Kind: fault.Failed, Err: fmt.Errorf("%s holds %d displaced files", name, len(list)),
				Hint: "Look into it, and move away what you need."}
		}
		if err := removeStaging(root, name, nil); err != nil {
			return fmt.Errorf("remove staging directory: %w", err)
		}
	}
	return ctx.Err()
}

// Leftovers lists the staging directories of a worktree, by name. While no
// journal is present each is what a crash left behind, or holds what could not
// be saved.
func Leftovers(ctx context.Context, fsys vfs.FS, dir string) ([]string, error) {
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	defer root.Close()
	list, err := root.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	var names []string
	for _, e := range list {
		if e.Type.IsDir() && strings.HasPrefix(e.Name, config.StagingPrefix) {
			names = append(names, e.Name)
		}
	}
	return names, ctx.Err()
}

// Disposable reports whether a leftover can be removed without losing
// anything: whether each file and link in it is one of the
// manifests, which must be of pairs that exist. If not, unknown names files
// that are in none, at most 20.
func Disposable(ctx context.Context, fsys vfs.FS, dir string, store Store, name string, manifests []storage.ID) (ok bool, unknown []string, err error) {
	root, err := openLeftover(fsys, dir, name)
	if err != nil {
		return false, nil, err
	}
	defer root.Close()
	j := &judge{prober: prober{ctx, root, store}, open: map[storage.Content][]string{}, links: map[string][]string{}}
	if err := j.collect(name, ours); err != nil {
		return false, nil, fmt.Errorf("judge leftover: %w", err)
	}
	for _, manifest := range manifests {
		if len(j.open)+len(j.links) == 0 {
			break
		}
		for e, err := range store.Walk(ctx, manifest) {
			if err != nil {
				return false, nil, fmt.Errorf("judge leftover: %w", err)
			}
			switch e.Type {
			case storage.Regular:
				delete(j.open, e.Content)
			case storage.Symlink:
				delete(j.links, e.Target)
			}
		}
	}
	for _, paths := range j.open {
		j.unknown = append(j.unknown, paths...)
	}
	for _, paths := range j.links {
		j.unknown = append(j.unknown, paths...)
	}
	slices.Sort(j.unknown)
	return len(j.unknown) == 0, j.unknown[:min(len(j.unknown), maxNamed)], nil
}

// Discard removes a leftover with everything in it.
func Discard(ctx context.Context, fsys vfs.FS, dir, name string) error {
	root, err := openLeftover(fsys, dir, name)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := removeStaging(root, name, nil); err != nil {
		return fmt.Errorf("remove leftover: %w", err)
	}
	return ctx.Err()
}

// openLeftover opens the worktree of a name that Leftovers gave.
func openLeftover(fsys vfs.FS, dir, name string) (vfs.Root, error) {
	if !strings.HasPrefix(name, config.StagingPrefix) || strings.ContainsRune(name, '/') {
		return nil, &fault.Error{Op: "open leftover", Path: name, Err: errors.New("not the name of a staging directory")}
	}
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open leftover: %w", err)
	}
	return root, nil
}

// judge collects the files of a leftover.
type judge struct {
	prober
	open    map[storage.Content][]string // contents not yet found in a manifest, with their paths
	links   map[string][]string          // the same for what symbolic links say
	unknown []string                     // what can be in no manifest by its content
}

// ours reports the names at the top of a staging directory that hold nothing
// of the user's.
func ours(name string) bool {
	return name == ignoreName || name == headName || strings.HasPrefix(name, headName+"-") || durable.IsTemp(name)
}

// collect hashes everything in a directory of a leftover but the names that
// skip reports; nil skips none.
func (j *judge) collect(dir string, skip func(name string) bool) error {
	list, err := j.root.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		p := path.Join(dir, e.Name)
		switch {
		case skip != nil && skip(e.Name):
		case e.Type.IsDir():
			if err := j.collect(p, nil); err != nil {
				return err
			}
		case e.Type.IsRegular():
			content, _, err := j.store.HashFile(j.ctx, j.root, p, storage.Chunks)
			if unreadable(err) {
				j.unknown = append(j.unknown, p)
			} else if err != nil {
				return err
			} else {
				j.open[content] = append(j.open[content], p)
			}
		case e.Type&fs.ModeSymlink != 0:
			target, err := j.root.Readlink(p)
			if err != nil {
				return err
			}
			j.links[target] = append(j.links[target], p)
		default:
			j.unknown = append(j.unknown, p)
		}
	}
	return nil
}
