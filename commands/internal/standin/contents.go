package standin

import (
	"context"
	"io"

	"forklift/engine"
)

// catText is the file that Cat answers with.
const catText = "print(1)\n"

// Cat answers with a small file, or, for a path that ends in a colon, with a
// directory of every sort of entry.
func (w worktree) Cat(_ context.Context, opt engine.CatOptions) (*engine.CatResult, error) {
	raw := opt.Raw
	opt.Raw = nil
	r := &engine.CatResult{ID: "01jbc3", Name: "after", Path: "src/app.py", Type: "file", Mode: "0644", Size: int64(len(catText)), Mtime: Now}
	if opt.Ref[len(opt.Ref)-1] == ':' {
		r = &engine.CatResult{ID: "01jbc3", Name: "after", Path: ".", Type: "directory", Mode: "0755", Entries: []engine.CatEntry{
			{Name: "link\x1b", Type: "symlink", Mode: "0777", Target: "src/a"}, {Name: "setup.py", Type: "file", Mode: "0755", Size: 12},
			{Name: "src", Type: "directory", Mode: "0755"}, {Name: "vendor", Type: "omitted", Reason: "repository"},
		}}
	} else if raw == nil {
		r.Content = []byte(catText)
	} else if _, err := io.WriteString(raw, catText); err != nil {
		return nil, err
	}
	return r, w.e.call("cat", opt)
}

// PathsBelow answers with a directory and a file.
func (w worktree) PathsBelow(_ context.Context, word string) []string {
	if word != "after:s" {
		return nil
	}
	return []string{"after:src/", "after:setup.py"}
}

// Diff answers with files and tables of every sort.
func (w worktree) Diff(_ context.Context, opt engine.DiffOptions) (*engine.DiffResult, error) {
	d := &engine.DiffResult{
		From: engine.DiffSide{ID: "01jbc1", Name: "before-migration"}, To: engine.DiffSide{Working: true}, FileCount: 6, Inserted: 2, Deleted: 1,
		Files: []engine.FileDiff{
			{Path: "src/app.py", Change: "modified", OldMode: "0644", NewMode: "0644", OldSize: 9, NewSize: 18, Inserted: 1, Deleted: 1, Patch: "@@ -1 +1 @@\n-print(1)\n+print(2)\x1b[2J\n"},
			{Path: "src/img.png", Change: "modified", OldMode: "0644", NewMode: "0600", OldSize: 2048, NewSize: 4096, Binary: true, Why: "binary"},
			{Path: "src/new.py", Change: "added", NewMode: "0755", NewSize: 2, Inserted: 1, Patch: "@@ -0,0 +1 @@\n+x\n"},
			{Path: "\"src/old\\n.py\"", Change: "removed", OldMode: "0644"},
			{Path: "src/run.sh", Change: "mode", OldMode: "0644", NewMode: "0755"},
			{Path: "src/dir/", Change: "mode", OldMode: "0755", NewMode: "0700", Binary: true, Why: "directory"},
		},
		Tables: []engine.TableDiff{
			{Database: "app", Table: "public.invoices", Change: "rows", RowsOK: true, Inserted: 3, Updated: 1},
			{Database: "app", Table: "public.log", Change: engine.TableTouched}, {Database: "app", Table: "public.old", Change: engine.TableDropped},
		},
		Catalogs: true, DefinitionsKnown: true,
		Definitions: []engine.DefinitionChange{{Database: "app", Kind: "view", Name: "public.totals", Change: engine.DefinitionChanged}},
	}
	if opt.Files != engine.DiffPatch {
		for i := range d.Files {
			d.Files[i].Patch = ""
		}
	}
	return d, w.e.call("diff", opt)
}

// PlanRestore answers with a plan that somebody is in the way of.
func (w worktree) PlanRestore(_ context.Context, opt engine.RestoreOptions) (*engine.RestorePlan, error) {
	return &engine.RestorePlan{
		PlanID: "1f0c6a2b9d3e", ID: "01jbc1", Name: "before-migration", Written: 2, Removed: 1, Modes: 1, Kept: 38, Bytes: 4 << 10,
		Files: []engine.FileChange{{Path: "src/app.py", Change: "modified"}, {Path: "src/b.py", Change: "added"}, {Path: "src/new.py", Change: "removed"}},
		Database: &engine.DatabasePlan{Bytes: 32 << 20, Stops: true, RowsKnown: true, Tables: []engine.TableDiff{
			{Database: "app", Table: "public.invoices", Change: "rows", RowsOK: true, Deleted: 3, Updated: 1}}},
		Safety: "before-restore-", InTheWay: []string{"managed command, pid 4242: npm run dev"},
	}, w.e.call("plan restore", opt)
}
