package storage

import (
	"errors"
	"io/fs"
	"sync"

	"forklift/storage/fault"
	"forklift/storage/internal/pack"
	"forklift/storage/vfs"
)

// maxOpenPacks is how many packs are kept open for reading.
const maxOpenPacks = 64

// packFiles keeps packs open.
type packFiles struct {
	fs  vfs.FS
	dir string

	mu    sync.Mutex
	files map[ID]*openPack
	tick  int64
}

type openPack struct {
	*pack.Reader
	users int
	used  int64
}

func (p *packFiles) init(fsys vfs.FS, dir string) {
	p.fs, p.dir, p.files = fsys, dir, map[ID]*openPack{}
}

// open gives a reader; release must follow.
func (p *packFiles) open(id ID) (*pack.Reader, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick++
	if o := p.files[id]; o != nil {
		o.users++
		o.used = p.tick
		return o.Reader, nil
	}
	name := packName(p.dir, id)
	r, err := pack.Open(p.fs, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: "read pack", Path: name, Kind: fault.Corrupt, Err: err}
	}
	if err != nil {
		return nil, failed("read pack", name, err)
	}
	p.makeRoom()
	p.files[id] = &openPack{Reader: r, users: 1, used: p.tick}
	return r, nil
}

func (p *packFiles) release(id ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.files[id]; o != nil {
		o.users--
	}
}

// makeRoom closes the pack that was used least recently, if there are many.
func (p *packFiles) makeRoom() {
	if len(p.files) < maxOpenPacks {
		return
	}
	var oldest ID
	var found *openPack
	for id, o := range p.files {
		if o.users == 0 && (found == nil || o.used < found.used) {
			oldest, found = id, o
		}
	}
	if found != nil {
		_ = found.Close()
		delete(p.files, oldest)
	}
}

func (p *packFiles) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, o := range p.files {
		_ = o.Close()
		delete(p.files, id)
	}
}

// maxCachedFrames is how many decoded frames are kept: what is read next is
// mostly beside what was read last. At most 8 MiB, but for single larger blobs.
const maxCachedFrames = 32

// frameCache keeps decoded frames, the last used ones.
type frameCache struct {
	mu    sync.Mutex
	data  map[frameKey]*cachedFrame
	clock int64
}

type cachedFrame struct {
	data []byte
	used int64
}

func (c *frameCache) get(key frameKey) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.data[key]
	if f == nil {
		return nil, false
	}
	c.clock++
	f.used = c.clock
	return f.data, true
}

func (c *frameCache) put(key frameKey, data []byte) {
	if len(data) > pack.FrameBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.data == nil {
		c.data = map[frameKey]*cachedFrame{}
	}
	if len(c.data) >= maxCachedFrames {
		var oldest frameKey
		least := c.clock + 1
		for k, f := range c.data {
			if f.used < least {
				oldest, least = k, f.used
			}
		}
		delete(c.data, oldest)
	}
	c.clock++
	c.data[key] = &cachedFrame{data, c.clock}
}

func (c *frameCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data = nil
}
