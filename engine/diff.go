package engine

import (
	"context"
	"iter"
	"slices"
	"strings"

	"forklift/engine/config"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
)

const (
	// MaxDiffFiles bounds the list of files that differ; FileCount has the
	// whole number.
	MaxDiffFiles = 10_000
	// maxDiffFileBytes is the size up to which the lines of a file are compared.
	maxDiffFileBytes = 4 << 20
	// maxPatchBytes bounds the text of all patches of a diff.
	maxPatchBytes = 64 << 20
)

// How much a diff tells of files.
const (
	DiffPatch = ""      // each with its patch
	DiffStat  = "stat"  // each with the lines that came and went
	DiffNames = "names" // only which
)

// DiffOptions say what is compared.
type DiffOptions struct {
	A     string   // NAME or WORKTREE:NAME; "" is what the worktree rests on
	B     string   // the same; "" is the working state
	Paths []string // from the worktree's top; nil is all, and tables too
	Files string   // one of the Diff constants
}

// DiffSide is one side of a diff.
type DiffSide struct {
	ID      storage.PairID `json:"id,omitempty"`
	Name    string         `json:"name,omitempty"`
	Working bool           `json:"working,omitempty"` // the files and the database as they are now
}

// FileDiff is a file that differs.
type FileDiff struct {
	Path    string `json:"path"`   // quoted where it is not UTF-8; a directory ends in "/"
	Change  string `json:"change"` // added, modified, removed, mode
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	OldSize int64  `json:"old_size"`
	NewSize int64  `json:"new_size"`
	// Binary: it holds a NUL byte, is too large, or is no file: its lines are
	// not compared. Why says which.
	Binary    bool   `json:"binary,omitempty"`
	Why       string `json:"why,omitempty"`
	Inserted  int    `json:"inserted"` // lines
	Deleted   int    `json:"deleted"`
	Patch     string `json:"patch,omitempty"` // hunks of a unified diff, as `git apply` takes them below their header
	Truncated bool   `json:"truncated,omitempty"`
}

// TableDiff is a table that differs.
type TableDiff struct {
	Database string `json:"database"`
	Table    string `json:"table"`              // schema.table
	Change   string `json:"change"`             // rows, created, dropped, rewritten, or files: its files differ, and no more is known
	RowsOK   bool   `json:"rows_known"`         // the next three are known
	Inserted int64  `json:"inserted,omitempty"` // rows
	Updated  int64  `json:"updated,omitempty"`
	Deleted  int64  `json:"deleted,omitempty"`
}

// DiffResult is what differs from From to To.
type DiffResult struct {
	From      DiffSide    `json:"from"`
	To        DiffSide    `json:"to"`
	Files     []FileDiff  `json:"files"` // at most MaxDiffFiles
	FileCount int         `json:"file_count"`
	Inserted  int         `json:"inserted"` // lines
	Deleted   int         `json:"deleted"`
	Tables    []TableDiff `json:"tables"`
	// RowsKnown: the counters of both sides are of one history, so that a
	// table that is not listed has the same rows.
	RowsKnown bool `json:"rows_known"`
	// DefinitionsKnown: Definitions is all that is defined otherwise, but for
	// tables that were made or dropped, which are among Tables.
	DefinitionsKnown bool               `json:"definitions_known"`
	Definitions      []DefinitionChange `json:"definitions"`
	Catalogs         bool               `json:"catalogs"` // files of system tables differ, as they do after CREATE or ALTER, and after mere statistics
	Problems         []string           `json:"problems,omitempty"`
}

// Diff compares two checkpoints, or one with the working state. It changes
// nothing and runs nothing of the repository.
func (w *Worktree) Diff(ctx context.Context, opt DiffOptions) (*DiffResult, error) {
	a, err := w.diffFrom(ctx, opt.A)
	if err != nil {
		return nil, err
	}
	d := &differ{w: w, opt: opt, old: a, res: &DiffResult{From: DiffSide{ID: a.ID, Name: a.Name}, Files: []FileDiff{}, Tables: []TableDiff{}, Definitions: []DefinitionChange{}}}
	d.res.To.Working = opt.B == ""
	if opt.B != "" {
		if d.now, err = w.resolve(ctx, opt.B); err != nil {
			return nil, err
		}
		d.res.To = DiffSide{ID: d.now.ID, Name: d.now.Name}
	}
	if err := d.files(ctx); err != nil {
		return nil, err
	}
	if len(opt.Paths) == 0 {
		err = d.tables(ctx)
	}
	if d.blind { // an empty answer would read as "nothing differs"
		d.res.Problems = append(d.res.Problems, "whether tables differ is not known: the server told no counts that can be compared with those of "+a.Name)
	}
	return d.res, err
}

// diffFrom is the checkpoint of a reference, or the one the files rest on.
func (w *Worktree) diffFrom(ctx context.Context, ref string) (*storage.Pair, error) {
	if ref != "" {
		return w.resolve(ctx, ref)
	}
	current, err := w.readSelection()
	if err != nil {
		return nil, err
	}
	at := current.source()
	if at.Project == "" {
		return nil, &fault.Error{Op: "diff", Path: w.rec.Path, Kind: fault.NotFound, Err: errNoCheckpoint,
			Hint: "Make one with `forklift capture`, or name one of another worktree."}
	}
	return w.store.Pair(ctx, at.Project, at.Pair)
}

// differ is a diff under way. now is nil for the working state.
type differ struct {
	w        *Worktree
	opt      DiffOptions
	old, now *storage.Pair
	res      *DiffResult
	blind    bool // whether the working tables differ could not be told
	text     textDiffer
}

// files compares the source halves.
func (d *differ) files(ctx context.Context) error {
	now := d.w.store.Walk(ctx, storage.ID{})
	if d.now != nil {
		now = d.w.store.Walk(ctx, d.now.Source.Manifest)
		d.text.now = d.w.pairContent(ctx)
	} else {
		var err error
		if now, err = d.w.present(ctx, d.old.Source); err != nil {
			return err
		}
		root, err := d.w.fs.OpenRoot(d.w.rec.Path)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		d.text.now = workingContent(root)
	}
	d.text.old = d.w.pairContent(ctx)
	d.text.room = maxPatchBytes
	known := map[string]bool{}
	old := d.wanted(d.w.store.Walk(ctx, d.old.Source.Manifest), known)
	for diff, err := range worktree.Differences(old, d.wanted(now, known)) {
		if err != nil {
			return err
		}
		if err := d.file(diff); err != nil {
			return err
		}
	}
	for _, p := range d.opt.Paths {
		if !known[p] && p != "." {
			return d.w.unknownPath(ctx, d.old, p)
		}
	}
	return nil
}

// wanted leaves out what no path of the options speaks for, and notes which
// of them do.
func (d *differ) wanted(seq iter.Seq2[storage.Entry, error], known map[string]bool) iter.Seq2[storage.Entry, error] {
	if len(d.opt.Paths) == 0 {
		return seq
	}
	return func(yield func(storage.Entry, error) bool) {
		for e, err := range seq {
			if err == nil {
				i := slices.IndexFunc(d.opt.Paths, func(p string) bool { return p == "." || config.Within(e.Path, p) })
				if i < 0 {
					continue
				}
				known[d.opt.Paths[i]] = true
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// file adds one path that differs. A directory that came or went is only
// listed by what is in it, unless it is empty, which git cannot say at all.
func (d *differ) file(x worktree.Difference) error {
	f := FileDiff{Path: worktree.QuotePath(x.Path()), Change: worktree.Modified}
	for i, e := range []*storage.Entry{x.Old, x.New} {
		if e == nil {
			continue
		}
		mode, size := []*string{&f.OldMode, &f.NewMode}[i], []*int64{&f.OldSize, &f.NewSize}[i]
		*mode, *size = octal(e.Mode), e.Size
		if e.Type == storage.Symlink {
			*mode, *size = "symlink", int64(len(e.Target))
		}
		if e.Type == storage.Directory {
			f.Path, f.Binary, f.Why = strings.TrimSuffix(f.Path, "/")+"/", true, "directory"
		}
	}
	switch {
	case x.Old == nil:
		f.Change = worktree.Added
	case x.New == nil:
		f.Change = worktree.Removed
	case x.Old.Type != x.New.Type:
		f.Binary, f.Why = true, "another type"
	case x.Old.Content == x.New.Content && x.Old.Target == x.New.Target:
		f.Change = worktree.ModeModified
		if x.Old.Mode == x.New.Mode {
			f.Change, f.Binary, f.Why = worktree.Modified, true, "extended attributes"
		}
	}
	if f.Why == "directory" && f.Change != worktree.ModeModified {
		return nil
	}
	d.res.FileCount++
	if len(d.res.Files) >= MaxDiffFiles {
		return nil
	}
	if d.opt.Files != DiffNames && f.Why == "" && f.Change != worktree.ModeModified {
		if err := d.text.compare(&f, x, d.opt.Files == DiffPatch); err != nil {
			return err
		}
	}
	d.res.Inserted += f.Inserted
	d.res.Deleted += f.Deleted
	d.res.Files = append(d.res.Files, f)
	return nil
}

// present lists what the worktree holds now: what the present rules select,
// and every path that the source half holds, or knows to be absent.
func (w *Worktree) present(ctx context.Context, src storage.SourceState) (iter.Seq2[storage.Entry, error], error) {
	cfg, err := w.Config(ctx)
	if err != nil {
		return nil, err
	}
	sel := cfg.Selection()
	ignored, err := w.ignored(ctx, sel)
	if err != nil {
		return nil, err
	}
	extra, err := worktree.Unselected(ctx, w.store, worktree.RuleOptions{Selection: sel, Ignored: ignored}, src.Manifest)
	if err != nil {
		return nil, err
	}
	rules, err := w.sourceRules(sel, ignored, append(extra, src.Covered...))
	if err != nil {
		return nil, err
	}
	return worktree.Present(ctx, worktree.PresentOptions{FS: w.fs, Dir: w.rec.Path, Store: w.store, Rules: rules,
		Memory: w.loadMemory(memoryOfSources)}), nil
}
