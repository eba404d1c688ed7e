package storage

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forklift/storage/fault"
	"forklift/storage/internal/index"
)

// loadTries bounds how often the directory of indexes is read again because
// a file of it was merged into another meanwhile.
const loadTries = 20

// listIndexes reads which index files there are.
func (b *blobs) listIndexes() ([]ID, error) {
	dir := path.Join(b.dir, indexDir)
	list, err := b.fs.ReadDir(dir)
	if err != nil {
		return nil, failed("read index", dir, err)
	}
	var ids []ID
	for _, e := range list {
		digits, ok := strings.CutSuffix(e.Name, indexSuffix)
		if !ok {
			continue
		}
		id, err := ParseID(digits)
		if err != nil {
			return nil, corrupt("read index", path.Join(dir, e.Name), "not a name of an index")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// load opens the index files that are there now and forgets the others.
func (b *blobs) load() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range loadTries {
		gone, err := b.loadOnce()
		if err != nil || !gone {
			return err
		}
	}
	return b.unsteady()
}

// unsteady is the error of whoever met one merge of indexes after the other.
func (b *blobs) unsteady() error {
	return &fault.Error{Op: "read index", Path: path.Join(b.dir, indexDir), Kind: fault.Busy,
		Err: errors.New("the index files keep changing")}
}

// loadOnce is one attempt; gone says that a file vanished between the list
// and its opening.
func (b *blobs) loadOnce() (gone bool, err error) {
	ids, err := b.listIndexes()
	if err != nil {
		return false, err
	}
	var files, opened []*index.File
	for _, id := range ids {
		if b.skip[id] {
			continue
		}
		i := slices.IndexFunc(b.files, func(x *index.File) bool { return x.ID() == id })
		if i >= 0 {
			files = append(files, b.files[i])
			continue
		}
		x, err := index.Open(b.fs, indexName(b.dir, id), id, &b.blocks)
		if err != nil {
			for _, x := range opened {
				_ = x.Close()
			}
			return errors.Is(err, fs.ErrNotExist), ignoreNotExist(err)
		}
		files, opened = append(files, x), append(opened, x)
	}
	for _, x := range b.files {
		if !slices.Contains(files, x) {
			_ = x.Close()
		}
	}
	// The smallest first: the newest captures are in them.
	slices.SortFunc(files, func(x, y *index.File) int { return x.Len() - y.Len() })
	b.files, b.loaded = files, true
	return false, b.checkPacks()
}

// ignoreNotExist drops an error about absence.
func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkPacks looks whether every pack that the indexes speak of is there
// with its size. What is not is as good as not stored: nothing may rest on
// it, and what it held is stored again when it is met.
func (b *blobs) checkPacks() error {
	b.intact, b.lost = map[ID]bool{}, nil
	for _, x := range b.files {
		for _, p := range x.Packs() {
			if _, seen := b.intact[p.ID]; seen {
				continue
			}
			if b.hidden[p.ID] {
				b.intact[p.ID] = false
				continue
			}
			name := packName(b.dir, p.ID)
			info, err := b.fs.Lstat(name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return failed("read pack", name, err)
			}
			b.intact[p.ID] = err == nil && info.IsRegular() && info.Size == p.Size
			if !b.intact[p.ID] {
				b.lost = append(b.lost, name)
			}
		}
	}
	return nil
}

// hide makes as if packs were not there.
func (b *blobs) hide(packs map[ID]bool) error {
	b.mu.Lock()
	b.hidden = packs
	b.mu.Unlock()
	return b.load()
}

// damaged says whether a pack is missing: then nothing that was remembered
// about stored things counts.
func (b *blobs) damaged() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.lost) > 0
}
