package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/record"
	"forklift/storage/vfs"
)

// The install list on disk is one head record and as many part records as
// its steps fill. The head is written last: a list without it does not exist.
const (
	// ignoreName makes git ignore a staging directory.
	ignoreName = ".gitignore"
	headName   = "list"
	headKind   = "install"
	partKind   = "install-steps"
	listFormat = 1
	// partSteps is how many steps are in a part; with the longest paths and
	// typical attributes it stays below the limit of a record.
	partSteps = 4096
	// maxParts limits a list to what fits in memory: 16 million steps.
	maxParts = 4096
)

// head is the head record of an install list.
type head struct {
	Operation string       `json:"operation"`
	Back      bool         `json:"back"`
	Saved     storage.ID   `json:"saved"`  // manifest of what was there
	Target    storage.ID   `json:"target"` // manifest of what is to be there
	Steps     int          `json:"steps"`
	Parts     int          `json:"parts"`
	Kept      int          `json:"kept"`
	Opens     []openRecord `json:"opens,omitempty"`
}

type openRecord struct {
	Path pathText `json:"path"`
	Mode uint32   `json:"mode"`
}

// part is a part record.
type part struct {
	First int          `json:"first"` // number of its first step
	Steps []stepRecord `json:"steps"`
}

// stepRecord is a step. Its number is the name of its files in the staging
// directory: new/<number> is what will be installed, old/<number> what was
// displaced.
type stepRecord struct {
	Path pathText     `json:"path"`
	Want *entryRecord `json:"want,omitempty"`
	Have *entryRecord `json:"have,omitempty"`
}

// entryRecord is what of an entry is needed to make it and to know it again.
type entryRecord struct {
	Type   storage.EntryType `json:"type"`
	Mode   uint32            `json:"mode"`
	Size   int64             `json:"size,omitempty"`
	Sparse bool              `json:"sparse,omitempty"`
	Target pathText          `json:"target,omitempty"`
	Unit   storage.Unit      `json:"unit,omitempty"`
	Depth  uint8             `json:"depth,omitempty"`
	Root   storage.ID        `json:"root"`
	Xattrs []xattrRecord     `json:"xattrs,omitempty"`
}

type xattrRecord struct {
	Name  pathText `json:"name"`
	Value []byte   `json:"value"`
}

// pathText is a string of any bytes in JSON.
type pathText string

// MarshalText writes what QuotePath does.
func (p pathText) MarshalText() ([]byte, error) { return []byte(QuotePath(string(p))), nil }

// UnmarshalText reads what MarshalText wrote.
func (p *pathText) UnmarshalText(text []byte) error {
	s, err := UnquotePath(string(text))
	*p = pathText(s)
	return err
}

func encodeEntry(e *storage.Entry) *entryRecord {
	if e == nil {
		return nil
	}
	r := &entryRecord{
		Type: e.Type, Mode: e.Mode, Size: e.Size, Sparse: e.Sparse, Target: pathText(e.Target),
		Unit: e.Content.Unit, Depth: e.Content.Depth, Root: e.Content.Root,
	}
	for _, x := range e.Xattrs {
		r.Xattrs = append(r.Xattrs, xattrRecord{pathText(x.Name), x.Value})
	}
	return r
}

func (r *entryRecord) decode(p string) *storage.Entry {
	if r == nil {
		return nil
	}
	e := &storage.Entry{
		Path: p, Type: r.Type, Mode: r.Mode, Size: r.Size, Sparse: r.Sparse, Target: string(r.Target),
		Content: storage.Content{Unit: r.Unit, Depth: r.Depth, Root: r.Root},
	}
	for _, x := range r.Xattrs {
		e.Xattrs = append(e.Xattrs, storage.EntryXattr{Name: string(x.Name), Value: x.Value})
	}
	return e
}

func partName(n int) string { return headName + "-" + strconv.Itoa(n) }

// writeList stores the list in the staging directory. After nil it is
// durable; after an error or a crash there is no head.
func writeList(root vfs.Root, staging string, h head, steps []step) error {
	for first := 0; first < len(steps); first += partSteps {
		p := part{First: first}
		for _, s := range steps[first:min(first+partSteps, len(steps))] {
			p.Steps = append(p.Steps, stepRecord{pathText(s.Path), encodeEntry(s.Want), encodeEntry(s.Have)})
		}
		if err := record.Write(root, path.Join(staging, partName(h.Parts)), partKind, listFormat, p); err != nil {
			return fmt.Errorf("write install list: %w", err)
		}
		h.Parts++
	}
	if h.Parts > maxParts {
		return &fault.Error{Op: "write install list", Kind: fault.Unsupported, Err: fmt.Errorf("%d files are to be changed", len(steps))}
	}
	h.Steps = len(steps)
	if err := record.Write(root, path.Join(staging, headName), headKind, listFormat, h); err != nil {
		return fmt.Errorf("write install list: %w", err)
	}
	return nil
}

// readList reads a list back; fs.ErrNotExist when there is none. Its steps
// are checked as those of a manifest are.
func readList(root vfs.Root, staging string) (head, []step, error) {
	var h head
	if err := record.Read(root, path.Join(staging, headName), headKind, listFormat, &h); err != nil {
		return head{}, nil, fmt.Errorf("read install list: %w", err)
	}
	var steps []step
	for n := range min(h.Parts, maxParts) {
		var p part
		err := record.Read(root, path.Join(staging, partName(n)), partKind, listFormat, &p)
		if err == nil && p.First != len(steps) {
			err = errors.New("its parts do not fit together")
		}
		if errors.Is(err, fs.ErrNotExist) || err != nil && fault.KindOf(err) == fault.Failed {
			err = &fault.Error{Op: "read install list", Path: partName(n), Kind: fault.Corrupt, Err: errors.New(err.Error())}
		}
		if err != nil {
			return head{}, nil, err
		}
		for _, r := range p.Steps {
			if err := checkPath(string(r.Path)); err != nil {
				return head{}, nil, err
			}
			steps = append(steps, step{Path: string(r.Path), Want: r.Want.decode(string(r.Path)), Have: r.Have.decode(string(r.Path))})
		}
	}
	if len(steps) != h.Steps {
		return head{}, nil, &fault.Error{Op: "read install list", Path: headName, Kind: fault.Corrupt, Err: fmt.Errorf("%d steps, not %d", len(steps), h.Steps)}
	}
	return h, steps, nil
}
