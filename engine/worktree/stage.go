package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strconv"

	"forklift/engine/config"
	"forklift/storage"
	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/failpoint"
	"forklift/storage/fault"
	"forklift/storage/progress"
	"forklift/storage/vfs"
)

// StageOptions say what a restore's source half is to do.
type StageOptions struct {
	FS        vfs.FS
	Dir       string // the worktree's top, absolute
	Store     Store
	Clock     clock.Clock // gives installed files their time
	Operation string      // id of the operation; in the staging directory's name

	Saved  storage.SourceState // what is there now: the safety pair's source half
	Target storage.SourceState // what is to be there

	// Only limits the restore to these paths and what is in them; nil does not.
	Only []string

	// Git is asked when Target left out what git ignores and there is
	// something to remove: what git ignores by Target's ignore files stays,
	// and if Saved includes such files what it ignores now, too. nil is a git
	// that has no ignore files of its own and tracks nothing.
	Git Git

	// Switched says that the operation's switch was made already, so that
	// there is no way back without finishing: what is in the way is then not
	// refused but displaced and rescued.
	Switched bool
	// Back makes the install that takes a partly made one of the same
	// operation back: Saved is that one's target, Target its safety pair. It
	// implies Switched, and has a staging directory of its own.
	Back bool

	present iter.Seq2[storage.Entry, error] // see Preview
}

// Install is the source half of a restore, staged and ready to be run. It is
// used by one goroutine.
type Install struct {
	fs      vfs.FS
	dir     string
	store   Store
	clock   clock.Clock
	staging string // name of the staging directory in dir; it is absent when there is nothing to do
	head    head
	steps   []step
	fresh   bool // staged by this process: the staged files are known to be right

	installedAt int64    // the modification time that Run gave to what it installed
	rescued     []Rescue // that the last Run found
	// denied are directories from which the system withheld setgid; see chmod.
	denied map[string]bool
	// judged is what that Run saw of everything that was displaced.
	judged map[string]vfs.Info
}

// Changed are the paths that the install writes, removes or gives another mode.
func (in *Install) Changed() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range in.steps {
			if !yield(in.steps[i].Path) {
				return
			}
		}
	}
}

const (
	newDir = "new" // in the staging directory: what will be installed
	oldDir = "old" // what was displaced
	// extractBatch is how many files are given to the store at once: enough
	// to read each frame once, few enough for progress to be seen.
	extractBatch = 1024
	// syncEach is the number of files up to which each is synced; above, one
	// sync of the whole file system is cheaper.
	syncEach = 64
	// maxOperationBytes limits the id in the directory's name.
	maxOperationBytes = 64
)

// stagingName is the name of an operation's staging directory.
func stagingName(operation string, back bool) (string, error) {
	for _, r := range operation {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_') {
			return "", fmt.Errorf("operation id %q: not of letters and digits", operation)
		}
	}
	if operation == "" || len(operation) > maxOperationBytes {
		return "", fmt.Errorf("operation id %q: not of 1 to %d characters", operation, maxOperationBytes)
	}
	if back {
		operation += "-back"
	}
	return config.StagingPrefix + operation, nil
}

// Stage plans an install and prepares it: every new file is written into the
// staging directory, and what will be done is written into a list there.
// Nothing of the user's is touched. It refuses, by name, what could not be
// carried through: something in the way that is not saved, a directory that
// cannot be written to, names that the file system does not tell apart, too
// little space, an entry that no capture makes.
//
// After nil the staged files and the list are durable. After an error or a
// crash a staging directory without a complete list may be left, which
// RemoveStaging removes. When there is nothing to do there is no directory.
// The operation lock must be held.
func Stage(ctx context.Context, opt StageOptions) (*Install, error) {
	name, err := stagingName(opt.Operation, opt.Back)
	if err != nil {
		return nil, &fault.Error{Op: "stage sources", Err: err}
	}
	root, err := opt.FS.OpenRoot(opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("stage sources: %w", err)
	}
	defer root.Close()
	plan, err := planFor(ctx, root, opt)
	if err != nil {
		return nil, err
	}
	in := &Install{fs: opt.FS, dir: opt.Dir, store: opt.Store, clock: opt.Clock, staging: name, steps: plan.Steps, fresh: true}
	in.head = head{Operation: opt.Operation, Back: opt.Back, Saved: opt.Saved.Manifest, Target: opt.Target.Manifest, Kept: plan.Kept}
	for _, o := range plan.Opens {
		in.head.Opens = append(in.head.Opens, openRecord{pathText(o.Path), o.Mode})
	}
	c := &checks{root: root, dir: opt.Dir, plan: plan, lenient: opt.Switched || opt.Back, caseless: caseless(root)}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	if len(in.steps) == 0 {
		return in, nil
	}
	if err := in.fill(ctx, root); err != nil {
		return nil, fmt.Errorf("stage sources: %w", err)
	}
	return in, nil
}

// planFor makes the plan of the options.
func planFor(ctx context.Context, root vfs.Root, opt StageOptions) (*plan, error) {
	po := planOptions{lenient: opt.Switched || opt.Back, caseless: caseless(root), only: opt.Only, present: opt.present}
	// An install that goes back removes what the safety pair covers.
	if opt.Target.Gitignored != config.Include && !opt.Back {
		po.spare = &sparer{store: opt.Store, root: root, git: opt.Git}
		if opt.Git != nil && opt.Saved.Gitignored == config.Include {
			var err error
			if po.ignored, err = opt.Git.Ignored(ctx, opt.Target.Paths); err != nil {
				return nil, fmt.Errorf("plan restore: %w", err)
			}
		}
	}
	return makePlan(ctx, opt.Store, opt.Saved, opt.Target, po)
}

// caseless reports a file system that finds a name in another case. Every
// worktree has a .git at its top.
func caseless(root vfs.Root) bool {
	a, err := root.Lstat(".git")
	if err != nil {
		return false
	}
	b, err := root.Lstat(".GIT")
	return err == nil && a.Ino == b.Ino && a.Dev == b.Dev
}

// fill makes the staging directory.
func (in *Install) fill(ctx context.Context, root vfs.Root) error {
	if err := in.setAside(root); err != nil {
		return err
	}
	if err := root.Mkdir(in.staging, 0o700); err != nil {
		return err
	}
	// First of all: git does not see what is in here.
	if err := durable.WriteFile(root, path.Join(in.staging, ignoreName), []byte("*\n"), 0o600); err != nil {
		return err
	}
	for _, sub := range []string{newDir, oldDir} {
		if err := root.Mkdir(path.Join(in.staging, sub), 0o700); err != nil {
			return err
		}
	}
	var numbers []int
	for i := range in.steps {
		if in.steps[i].staged() {
			numbers = append(numbers, i)
		}
	}
	if err := in.extract(ctx, root, numbers); err != nil {
		return err
	}
	if err := in.flushStaged(root, numbers); err != nil {
		return err
	}
	return writeList(root, in.staging, in.head, in.steps)
}

// setAside makes room for the staging directory when there is one that has no
// usable list. Displaced files in it are kept, under a name that Leftovers
// finds.
func (in *Install) setAside(root vfs.Root) error {
	if _, err := root.Lstat(in.staging); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	displaced, err := root.ReadDir(path.Join(in.staging, oldDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(displaced) == 0 {
		return durable.RemoveAll(root, in.staging)
	}
	for n := 1; ; n++ {
		aside := in.staging + "-lost" + strconv.Itoa(n)
		if _, err := root.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return durable.Rename(root, in.staging, aside)
		}
	}
}

// stagedPath is where the new file of a step is prepared.
func (in *Install) stagedPath(n int) string {
	return path.Join(in.staging, newDir, strconv.Itoa(n))
}

// extract writes the new files of some steps, with their modes and
// attributes.
func (in *Install) extract(ctx context.Context, root vfs.Root, numbers []int) error {
	// Nobody sees these files before the list is complete.
	defer failpoint.Bulk()()
	var total, done int64
	for _, n := range numbers {
		total += in.steps[n].Want.Size
	}
	for at := 0; at < len(numbers); at += extractBatch {
		batch := numbers[at:min(at+extractBatch, len(numbers))]
		progress.Report(ctx, progress.Event{Phase: "stage sources", DoneBytes: done, TotalBytes: total, DoneFiles: at, TotalFiles: len(numbers)})
		files := make([]storage.ExtractFile, len(batch))
		for i, n := range batch {
			files[i] = storage.ExtractFile{Entry: *in.steps[n].Want, Name: in.stagedPath(n)}
			done += in.steps[n].Want.Size
		}
		if err := in.store.Extract(ctx, root, files); err != nil {
			return err
		}
		for _, n := range batch {
			if err := in.dress(root, n); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// dress gives a staged file its attributes and then its mode, which may
// forbid writing.
func (in *Install) dress(root vfs.Root, n int) error {
	want, name := in.steps[n].Want, in.stagedPath(n)
	for _, x := range want.Xattrs {
		if err := root.SetXattr(name, vfs.Xattr{Name: x.Name, Value: x.Value}); err != nil {
			return &fault.Error{Op: "stage file", Path: QuotePath(want.Path), Kind: fault.Unsupported, Err: err,
				Hint: "The worktree's file system cannot hold the file's extended attributes."}
		}
	}
	if want.Mode&^0o777 == 0 {
		return root.Chmod(name, vfs.FileMode(want.Mode))
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	mode := storage.KeptMode(info, want.Mode)
	if err := root.Chmod(name, vfs.FileMode(mode)); err != nil {
		return err
	}
	if info, err = root.Lstat(name); err == nil && info.Bits() != mode {
		err = &fault.Error{Op: "stage file", Path: QuotePath(want.Path), Kind: fault.Unsupported,
			Err:  fmt.Errorf("mode %04o became %04o", mode, info.Bits()),
			Hint: "The worktree's file system cannot hold the file's mode; nothing was changed."}
	}
	return err
}

// flushStaged makes the staged files and the names that lead to them durable.
func (in *Install) flushStaged(root vfs.Root, numbers []int) error {
	if len(numbers) > syncEach {
		err := root.SyncFS(in.staging)
		if err == nil {
			return root.SyncDir(".") // its name, where syncfs would not
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for _, n := range numbers {
		if err := syncFile(root, in.stagedPath(n)); err != nil {
			return err
		}
	}
	for _, dir := range []string{path.Join(in.staging, newDir), path.Join(in.staging, oldDir), in.staging, "."} {
		if err := root.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// syncFile makes one file durable. A mode that keeps even its owner from
// reading it is in the way of opening it: then the whole file system is
// synced.
func syncFile(root vfs.Root, name string) error {
	err := durable.SyncFile(root, name)
	if errors.Is(err, fs.ErrPermission) {
		return root.SyncFS(".")
	}
	return err
}

// OpenInstall finds what Stage made, after an interruption. It is nil, without
// an error, when there is no complete list: then nothing was staged, there
// was nothing to do, or the directory was removed or damaged, and the caller
// stages again.
func OpenInstall(ctx context.Context, fsys vfs.FS, dir string, store Store, clk clock.Clock, operation string, back bool) (*Install, error) {
	name, err := stagingName(operation, back)
	if err != nil {
		return nil, &fault.Error{Op: "open install", Err: err}
	}
	root, err := fsys.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open install: %w", err)
	}
	defer root.Close()
	h, steps, err := readList(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), fault.KindOf(err) == fault.Corrupt:
		return nil, nil
	case err != nil:
		return nil, err
	case h.Operation != operation || h.Back != back:
		return nil, nil
	}
	return &Install{fs: fsys, dir: dir, store: store, clock: clk, staging: name, head: h, steps: steps}, ctx.Err()
}

// Counts tells what the install changes: files and links written, files
// removed, and files that were right already.
func (in *Install) Counts() (changed, removed, kept int) {
	for i := range in.steps {
		s := &in.steps[i]
		switch {
		case s.Want == nil && s.Have.Type != storage.Directory:
			removed++
		case s.Want != nil && s.Want.Type != storage.Directory:
			changed++
		}
	}
	return changed, removed, in.head.Kept
}
