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
