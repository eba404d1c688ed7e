package storage

import (
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"sync"

	"forklift/storage/fault"
	"forklift/storage/internal/index"
	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// Suffixes of the immutable files.
const (
	packSuffix  = ".pack"
	indexSuffix = ".idx"
)

// maxRows is how many rows of frames are kept in memory: about 10 MiB.
const maxRows = 256 << 10

// blobs finds and reads blobs. It is safe for concurrent use.
type blobs struct {
	fs    vfs.FS
	dir   string
	packs packFiles
	cache frameCache

	mu     sync.RWMutex // guards what follows; held for reading during a look-up
	loaded bool
	files  []*index.File
	blocks index.Cache
	intact map[ID]bool // by pack: it is there with its size
	lost   []string    // names of packs that an index speaks of and that are not intact
	hidden map[ID]bool // packs that are about to go: nothing is found in them
	skip   map[ID]bool // index files that are damaged

	rowsMu   sync.Mutex // guards what follows
	frames   map[frameKey]*frame
	rowCount int
}

// frameKey is where a frame is.
type frameKey struct {
	pack   ID
	offset int64
}

// frame is a frame with its rows.
type frame struct {
	pack ID
	pack.Frame
	rows []pack.Row
}

func (f *frame) key() frameKey { return frameKey{f.pack, f.Offset} }

// place is where a blob is.
type place struct {
	*frame
	slot int
}

// nearby remembers where the last blob was: what is looked up next mostly
// lies behind it. One goroutine uses it.
type nearby struct{ last place }

// next says whether a blob lies behind the last one.
func (n *nearby) next(id ID) (place, bool) {
	if n.last.frame == nil || n.last.slot+1 >= len(n.last.rows) || n.last.rows[n.last.slot+1].ID != id {
		return place{}, false
	}
	n.last.slot++
	return n.last, true
}

// find finds a blob that must be there.
func (n *nearby) find(b *blobs, id ID) (place, error) {
	if p, ok := n.next(id); ok {
		return p, nil
	}
	p, err := b.find(id)
	if err == nil {
		n.last = p
	}
	return p, err
}

// known says whether a blob is stored, as blobs.known does.
func (n *nearby) known(b *blobs, id ID) (bool, error) {
	if _, ok := n.next(id); ok {
		return true, nil
	}
	p, ok, err := b.locate(id)
	if fault.KindOf(err) == fault.Corrupt {
		return false, nil
	}
	if ok {
		n.last = p
	}
	return ok, err
}

func (b *blobs) init(fsys vfs.FS, dir string) {
	b.fs, b.dir = fsys, dir
	b.packs.init(fsys, dir)
	b.frames = map[frameKey]*frame{}
}

func (b *blobs) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.files {
		_ = x.Close()
	}
	b.files, b.loaded = nil, false
	b.packs.close()
	b.cache.clear()
}

// packName gives the name of a pack's file.
func packName(dir string, id ID) string {
	name := id.String()
	return path.Join(dir, packsDir, name[:2], name+packSuffix)
}

// indexName gives the name of an index file.
func indexName(dir string, id ID) string {
	return path.Join(dir, indexDir, id.String()+indexSuffix)
}

// locate finds a blob, confirmed by its whole id in the frame's rows.
func (b *blobs) locate(id ID) (place, bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.loaded {
		b.mu.RUnlock()
		err := b.load()
		b.mu.RLock()
		if err != nil {
			return place{}, false, err
		}
	}
	var buf [4]index.Place
	var damage error
	for _, x := range b.files {
		places, err := x.Find(id, buf[:0])
		if err != nil {
			return place{}, false, err
		}
		for _, p := range places {
			f, err := b.frameOf(x, p.Frame)
			if fault.KindOf(err) == fault.Corrupt {
				damage = err // perhaps it is stored elsewhere too
				continue
			}
			if err != nil {
				return place{}, false, err
			}
			if f != nil && int(p.Slot) < len(f.rows) && f.rows[p.Slot].ID == id {
				return place{f, int(p.Slot)}, true, nil
			}
		}
	}
	return place{}, false, damage
}

// frameOf gives frame n of an index file with its rows; nil if its pack is
// lost.
func (b *blobs) frameOf(x *index.File, n uint32) (*frame, error) {
	loc, err := x.Frame(n)
	if err != nil {
		return nil, err
	}
	id := x.Packs()[loc.Pack].ID
	if !b.intact[id] {
		return nil, nil
	}
	key := frameKey{id, loc.Offset}
	b.rowsMu.Lock()
	f := b.frames[key]
	b.rowsMu.Unlock()
	if f != nil {
		return f, nil
	}
	r, err := b.packs.open(id)
	if err != nil {
		return nil, err
	}
	defer b.packs.release(id)
	rows, err := r.Rows(loc.Frame)
	if err != nil {
		return nil, err
	}
	f = &frame{pack: id, Frame: loc.Frame, rows: rows}
	b.rowsMu.Lock()
	defer b.rowsMu.Unlock()
	if b.rowCount += len(rows); b.rowCount > maxRows {
		clear(b.frames)
		b.rowCount = len(rows)
	}
	b.frames[key] = f
	return f, nil
}

// known says whether a blob is stored and intact as far as the index and the
// packs' sizes tell. Damage counts as not stored: it is stored again.
func (b *blobs) known(id ID) (bool, error) {
	var n nearby
	return n.known(b, id)
}

// find finds a blob that must be there. Another process can have stored it
// since the indexes were read.
func (b *blobs) find(id ID) (place, error) {
	p, ok, err := b.locate(id)
	if err == nil && !ok {
		if err = b.load(); err == nil {
			p, ok, err = b.locate(id)
		}
	}
	if err != nil {
		return place{}, err
	}
	if !ok {
		return place{}, b.missing(id)
	}
	return p, nil
}

// missing is the error for a blob that is in no intact pack.
func (b *blobs) missing(id ID) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	err := fmt.Errorf("blob %s is not in the store", hex.EncodeToString(id[:]))
	if len(b.lost) > 0 {
		err = fmt.Errorf("blob %s is not in the store; missing or cut off: %s", hex.EncodeToString(id[:]), strings.Join(b.lost, ", "))
	}
	return &fault.Error{Op: "read store", Path: b.dir, Kind: fault.Corrupt, Err: err}
}

// get reads a blob and verifies it. The bytes are shared: not to be changed.
func (b *blobs) get(id ID) ([]byte, error) {
	p, err := b.find(id)
	if err != nil {
		return nil, err
	}
	data, ok := b.cache.get(p.key())
	if !ok {
		r, err := b.packs.open(p.pack)
		if err != nil {
			return nil, err
		}
		defer b.packs.release(p.pack)
		var buf pack.Buffer
		if data, err = r.Frame(p.Frame, &buf); err != nil {
			return nil, err
		}
		b.cache.put(p.key(), data)
	}
	return pack.Blob(packName(b.dir, p.pack), data, p.rows, p.slot)
}
