package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
)

// MaxCatBytes bounds the content that a CatResult carries; Raw has no bound.
const MaxCatBytes = 16 << 20

// CatOptions say what to read.
type CatOptions struct {
	Ref string // NAME:PATH or WORKTREE:NAME:PATH
	// Here is the directory that "./" and "../" at the beginning of PATH
	// start at, relative to the worktree's top; "" is the top.
	Here string
	// Raw receives the bytes of a file as they are; nil puts them into the
	// result, up to MaxCatBytes.
	Raw io.Writer
}

// CatResult is a path of a checkpoint's source half.
type CatResult struct {
	ID      storage.PairID `json:"id"`
	Name    string         `json:"name"`              // of the checkpoint
	Path    string         `json:"path"`              // from the worktree's top; "." is the top. Quoted where it is not UTF-8
	Type    string         `json:"type"`              // file, directory or symlink
	Mode    string         `json:"mode"`              // in octal: "0644", "4755"
	Size    int64          `json:"size"`              // bytes of a file, or of what a symlink says
	Mtime   time.Time      `json:"mtime,omitzero"`    // of a file, when it was captured
	Target  string         `json:"target,omitempty"`  // what a symlink says
	Content []byte         `json:"content,omitempty"` // of a file, in base64, unless it was written to Raw
	Entries []CatEntry     `json:"entries,omitempty"` // of a directory
}

// CatEntry is one name in a directory of a checkpoint.
type CatEntry struct {
	Name   string `json:"name"` // quoted where it is not UTF-8
	Type   string `json:"type"` // file, directory, symlink, or omitted: it was there, and was left out
	Mode   string `json:"mode,omitempty"`
	Size   int64  `json:"size"`
	Target string `json:"target,omitempty"`
	Reason string `json:"reason,omitempty"` // why it was left out
}

// typeNames are the types of entries in words.
var typeNames = map[storage.EntryType]string{
	storage.Directory: "directory", storage.Regular: "file", storage.Symlink: "symlink", storage.Omitted: "omitted"}

func octal(mode uint32) string { return fmt.Sprintf("%04o", mode) }

// Cat reads a file of a checkpoint, each byte verified, or lists a directory.
// What the checkpoint does not hold is of kind NotFound.
func (w *Worktree) Cat(ctx context.Context, opt CatOptions) (*CatResult, error) {
	pair, name, err := w.resolvePath(ctx, opt.Ref, opt.Here)
	if err != nil {
		return nil, err
	}
	e, found, err := w.lookup(ctx, pair, name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, w.unknownPath(ctx, pair, name)
	}
	res := &CatResult{ID: pair.ID, Name: pair.Name, Path: worktree.QuotePath(name), Type: typeNames[e.Type], Mode: octal(e.Mode), Size: e.Size}
	switch e.Type {
	case storage.Omitted:
		return nil, leftOut("cat", pair, e)
	case storage.Symlink:
		res.Target, res.Size = worktree.QuotePath(e.Target), int64(len(e.Target))
		if opt.Raw != nil {
			_, err = io.WriteString(opt.Raw, e.Target)
		}
	case storage.Directory:
		res.Entries, err = w.listDirectory(ctx, pair, name)
	default:
		res.Mtime = time.Unix(0, e.Mtime).UTC()
		res.Content, err = w.content(ctx, e, opt.Raw)
	}
	return res, err
}

// content writes a file's bytes to raw, or gives them.
func (w *Worktree) content(ctx context.Context, e storage.Entry, raw io.Writer) ([]byte, error) {
	if raw == nil && e.Size > MaxCatBytes {
		return nil, &fault.Error{Op: "cat", Path: worktree.QuotePath(e.Path), Kind: fault.Unsupported,
			Err:  fmt.Errorf("it has %d bytes; at most %d fit into a JSON answer", e.Size, MaxCatBytes),
			Hint: "Leave --json out, and the bytes are written as they are."}
	}
	r, err := w.store.Reader(ctx, e)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	if raw == nil {
		return io.ReadAll(r)
	}
	_, err = io.Copy(raw, r)
	return nil, err
}

// listDirectory lists what is in a directory of a pair's source half.
func (w *Worktree) listDirectory(ctx context.Context, pair *storage.Pair, dir string) ([]CatEntry, error) {
	list := []CatEntry{}
	for e, err := range w.store.Walk(ctx, pair.Source.Manifest) {
		if err != nil {
			return nil, err
		}
		if e.Path == "." || path.Dir(e.Path) != dir {
			continue
		}
		c := CatEntry{Name: worktree.QuotePath(path.Base(e.Path)), Type: typeNames[e.Type], Size: e.Size, Target: worktree.QuotePath(e.Target), Reason: e.Reason}
		if e.Type != storage.Omitted {
			c.Mode = octal(e.Mode)
		}
		list = append(list, c)
	}
	return list, nil
}

// lookup finds a path of a pair's source half; "." is always there.
func (w *Worktree) lookup(ctx context.Context, pair *storage.Pair, name string) (storage.Entry, bool, error) {
	if pair.Source.Manifest.IsZero() {
		return storage.Entry{}, false, nil
	}
	return w.store.Lookup(ctx, pair.Source.Manifest, name)
}

// resolvePath reads NAME:PATH or WORKTREE:NAME:PATH. A checkpoint of this
// worktree comes before a worktree of the same name, if it has the path.
func (w *Worktree) resolvePath(ctx context.Context, ref, here string) (*storage.Pair, string, error) {
	first, rest, ok := strings.Cut(ref, ":")
	if !ok {
		return nil, "", &fault.Error{Op: "cat", Path: ref, Kind: fault.Usage, Err: errors.New("it names no path"),
			Hint: fmt.Sprintf("Write NAME:PATH, such as `%s:README`; `%s:` lists what the checkpoint holds.", first, first)}
	}
	pair, err := w.resolve(ctx, first)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, "", err
	}
	second, below, qualified := strings.Cut(rest, ":")
	if err == nil {
		name, pathErr := cleanPath(rest, here)
		if !qualified {
			return pair, name, pathErr
		}
		_, found, lookErr := w.lookup(ctx, pair, name)
		if found || pathErr != nil || lookErr != nil {
			return pair, name, errors.Join(pathErr, lookErr)
		}
		if other, err := w.resolve(ctx, first+":"+second); err == nil {
			name, err = cleanPath(below, here)
			return other, name, err
		}
		return pair, name, nil
	}
	if _, siblingErr := w.sibling(first); !qualified || siblingErr != nil {
		return nil, "", err
	}
	if pair, err = w.resolve(ctx, first+":"+second); err != nil {
		return nil, "", err
	}
	name, err := cleanPath(below, here)
	return pair, name, err
}

// cleanPath makes what a user wrote a path of a manifest. It starts at the
// worktree's top, or at here when it begins with "./" or "../".
func cleanPath(p, here string) (string, error) {
	if strings.HasPrefix(p, `"`) {
		if unquoted, err := worktree.UnquotePath(p); err == nil {
			p = unquoted
		}
	}
	given := p
	if p == "." || p == ".." || strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../") {
		p = path.Join(here, p)
	}
	p = path.Clean(p)
	if path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") {
		return "", &fault.Error{Op: "read path", Path: worktree.QuotePath(given), Kind: fault.Usage, Err: errors.New("it is outside the worktree"),
			Hint: "Write paths as they are below the worktree's top directory."}
	}
	return p, nil
}

// unknownPath is the error for a path that a pair does not hold, with near
// matches: of its name and of the whole path.
func (w *Worktree) unknownPath(ctx context.Context, pair *storage.Pair, name string) error {
	e := &fault.Error{Path: worktree.QuotePath(name), Kind: fault.NotFound, Err: fmt.Errorf("checkpoint %s has no such file or directory", pair.Name),
		Hint: fmt.Sprintf("`forklift cat %s:` lists what it holds.", pair.Name)}
	var same, like []string
	for entry, err := range w.store.Walk(ctx, pair.Source.Manifest) {
		if err != nil {
			return err
		}
		switch {
		case entry.Path == "." || entry.Type == storage.Omitted:
		case path.Base(entry.Path) == path.Base(name):
			same = append(same, entry.Path)
		case path.Dir(entry.Path) == path.Dir(name), path.Base(path.Dir(entry.Path)) == path.Base(name):
			like = append(like, entry.Path)
		}
	}
	near := append(nearest(name, like), same...)
	if len(near) == 0 {
		return e
	}
	for i, p := range near[:min(len(near), maxNear)] {
		near[i] = worktree.QuotePath(p)
	}
	e.Hint = "Did you mean " + strings.Join(near[:min(len(near), maxNear)], " or ") + "?"
	return e
}

// PathsBelow completes NAME:PATH and WORKTREE:NAME:PATH: what is in the
// directory that word has come to, a directory with a slash behind it. It is
// nil for a word without a colon, and whatever goes wrong.
func (w *Worktree) PathsBelow(ctx context.Context, word string) []string {
	cut := strings.LastIndexAny(word, ":/")
	if cut < 0 {
		return nil
	}
	pair, dir, err := w.resolvePath(ctx, word[:cut+1], "")
	if err != nil {
		return nil
	}
	entries, err := w.listDirectory(ctx, pair, dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		name := word[:cut+1] + e.Name
		switch e.Type {
		case "directory":
			list = append(list, name+"/")
		case "file", "symlink":
			list = append(list, name)
		}
	}
	return list
}
