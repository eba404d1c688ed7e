package storage

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"forklift/storage/fault"
	"forklift/storage/internal/index"
	"forklift/storage/internal/pack"
	"forklift/storage/progress"
	"forklift/storage/record"
)

// maxProblems is how many problems a check lists.
const maxProblems = 1000

// CheckOptions say how much a check reads.
type CheckOptions struct {
	// ReadData reads every byte of the packs and verifies every blob;
	// without it only indexes, tables, manifests and records are read.
	ReadData bool
	// Subset, when it is between 0 and 1, reads about that share of the
	// packs' bytes, chosen by chance. It implies ReadData.
	Subset float64
}

// CheckReport is what a check found.
type CheckReport struct {
	Packs    int       `json:"packs"`
	Read     int       `json:"read"`       // packs of which every byte was read
	ReadSize int64     `json:"read_bytes"` // bytes of those
	Indexes  int       `json:"indexes"`
	Blobs    int64     `json:"blobs"` // entries of the indexes
	Pairs    int       `json:"pairs"`
	Names    int       `json:"names"`
	Unused   []string  `json:"unused,omitempty"`   // packs that no index speaks of, left by a crash; no problem
	Problems []Problem `json:"problems,omitempty"` // empty: the store is as it should be; at most 1000
}

// Problem is something in the store that is not as it was written.
type Problem struct {
	Path  string `json:"path"` // the file, or the id of the blob
	Error string `json:"error"`
	// Pairs are those that cannot be restored because of it, as far as known.
	Pairs []PairID `json:"pairs,omitempty"`
}

// Check looks for damage: whether the indexes and the tables of the packs are
// what was written and agree, whether all that the pairs of all projects name is stored, and
// whether every name leads to a pair. With ReadData it reads every byte and
// verifies every blob. Problems are in the report; an error means that the
// check could not be made. Nothing is changed.
//
// Others may write meanwhile, but prune: they write packs, then indexes, then a
// pair, then its name, and remove a name before its pair. So what is written last
// is read first, and what is missing is no damage if its name has gone meanwhile.
func (s *Store) Check(ctx context.Context, opt CheckOptions) (CheckReport, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return CheckReport{}, err
	}
	defer release()
	c := &checker{s: s, ctx: ctx, opt: opt, packs: map[ID]*packCheck{}}
	for _, step := range []func() error{c.names, c.list, c.indexes, c.packFiles, c.pairs, c.lead} {
		if err := step(); err != nil {
			return c.report, failed("check store", s.dir, err)
		}
	}
	return c.report, nil
}

// checker is one check.
type checker struct {
	s        *Store
	ctx      context.Context
	opt      CheckOptions
	progress *reporter
	report   CheckReport
	packs    map[ID]*packCheck
	named    []namedPair
	stored   map[string]map[string]bool // files of pairs, by directory
}

// namedPair is a name that was read.
type namedPair struct {
	file, project string // project: its directory
	pair          PairID
}

// packCheck is what the indexes say about a pack.
type packCheck struct {
	size   int64
	frames map[int64]pack.Frame // by offset
}

// problem notes damage. Other errors end the check.
func (c *checker) problem(path string, err error, pairs ...PairID) error {
	if ctxErr := c.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	switch fault.KindOf(err) {
	case fault.Corrupt, fault.Unsupported, fault.NotFound:
	default:
		return err
	}
	if len(c.report.Problems) < maxProblems {
		c.report.Problems = append(c.report.Problems, Problem{path, err.Error(), pairs})
	}
	return nil
}

// indexes reads every index file as a whole.
func (c *checker) indexes() error {
	if err := c.s.blobs.load(); err != nil {
		if err := c.problem(c.s.path(indexDir), err); err != nil {
			return err
		}
	}
	found := len(c.report.Problems)
	for range loadTries {
		c.report.Problems = c.report.Problems[:found]
		gone, err := c.indexesOnce()
		if err != nil || !gone {
			return err
		}
	}
	return c.s.blobs.unsteady()
}

// indexesOnce is one attempt; gone says that a file was merged into another
// between the list and its opening.
func (c *checker) indexesOnce() (gone bool, err error) {
	c.report.Indexes, c.report.Blobs = 0, 0
	clear(c.packs)
	ids, err := c.s.blobs.listIndexes()
	if err != nil {
		return false, c.problem(c.s.path(indexDir), err)
	}
	for _, id := range ids {
		name := indexName(c.s.dir, id)
		x, err := index.Open(c.s.fs, name, id, &index.Cache{})
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if err == nil {
			c.report.Indexes++
			c.report.Blobs += int64(x.Len())
			err = x.Verify(c.indexed)
			_ = x.Close()
		}
		if err != nil {
			if err := c.problem(name, err); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// indexed notes what an index says about a frame.
func (c *checker) indexed(p index.Pack, f pack.Frame) {
	known := c.packs[p.ID]
	if known == nil {
		known = &packCheck{size: p.Size, frames: map[int64]pack.Frame{}}
		c.packs[p.ID] = known
	}
	known.frames[f.Offset] = f
}

// packFiles looks at every pack that is there or should be.
func (c *checker) packFiles() error {
	read := c.choose()
	for id, known := range c.packs {
		c.report.Packs++
		name := packName(c.s.dir, id)
		if err := c.onePack(name, id, known, read[id]); err != nil {
			if err := c.problem(name, err); err != nil {
				return err
			}
		}
	}
	dirs, err := c.s.list(c.s.path(packsDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		files, err := c.s.list(c.s.path(packsDir, dir))
		if err != nil {
			return err
		}
		for _, file := range files {
			name := c.s.path(packsDir, dir, file)
			id, err := ParseID(strings.TrimSuffix(file, packSuffix))
			if err != nil || packName(c.s.dir, id) != name {
				if err := c.problem(name, corrupt("read pack", name, "not a name of a pack")); err != nil {
					return err
				}
			} else if c.packs[id] == nil {
				c.report.Unused = append(c.report.Unused, name)
			}
		}
	}
	return nil
}

// choose says which packs are read as a whole.
func (c *checker) choose() map[ID]bool {
	chosen := map[ID]bool{}
	if !c.opt.ReadData && c.opt.Subset == 0 {
		return chosen
	}
	var all int64
	var ids []ID
	for id, known := range c.packs {
		all += known.size
		ids = append(ids, id)
	}
	want := all
	if c.opt.Subset > 0 && c.opt.Subset < 1 {
		want = int64(float64(all) * c.opt.Subset)
		rand.Shuffle(len(ids), func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
	}
	total := int64(0)
	for _, id := range ids {
		if total >= want {
			break
		}
		total += c.packs[id].size
		chosen[id] = true
	}
	c.progress = newReporter(c.ctx)
	c.progress.event = progress.Event{Phase: "read packs", TotalBytes: total, TotalFiles: len(chosen)}
	return chosen
}

// onePack holds a pack against what the indexes say.
func (c *checker) onePack(name string, id ID, known *packCheck, read bool) error {
	r, err := pack.Open(c.s.fs, name)
	if errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Op: "read pack", Path: name, Kind: fault.Corrupt, Err: err}
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Size() != known.size {
		return corrupt("read pack", name, "it has %d bytes, not %d", r.Size(), known.size)
	}
	var frames []pack.Frame
	if read {
		sum, err := r.Verify(c.ctx, id)
		c.report.Read++
		c.report.ReadSize += known.size
		c.progress.add(known.size, 1)
		if err != nil {
			return err
		}
		frames = sum.Frames
	} else if frames, _, err = r.Table(); err != nil {
		return err
	}
	if len(frames) != len(known.frames) {
		return corrupt("read pack", name, "it has %d frames, the index knows %d", len(frames), len(known.frames))
	}
	for _, f := range frames {
		if known.frames[f.Offset] != f {
			return corrupt("read pack", name, "the frame at %d is not what the index says", f.Offset)
		}
	}
	return nil
}

// list notes which pairs there are.
func (c *checker) list() error {
	c.stored = map[string]map[string]bool{}
	projects, err := c.s.list(c.s.path(pairsDir))
	if err != nil {
		return err
	}
	for _, dir := range projects {
		files, err := c.s.list(c.s.path(pairsDir, dir))
		if err != nil {
			return err
		}
		c.stored[dir] = map[string]bool{}
		for _, file := range files {
			c.stored[dir][file] = true
		}
	}
	return nil
}

// pairs reads every pair and looks up all that it names.
func (c *checker) pairs() error {
	checked := map[ID]error{}
	for _, dir := range slices.Sorted(maps.Keys(c.stored)) {
		for _, file := range slices.Sorted(maps.Keys(c.stored[dir])) {
			if err := c.onePair(dir, file, checked); err != nil {
				return err
			}
		}
	}
	return nil
}

// onePair checks the pair in a file. checked has the manifests that were
// looked at.
func (c *checker) onePair(dir, file string, checked map[ID]error) error {
	name := c.s.path(pairsDir, dir, file)
	id := PairID(strings.TrimSuffix(file, pairSuffix))
	var p Pair
	err := record.Read(c.s.fs, name, "pair", pairFormat, &p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since it was listed
	}
	c.report.Pairs++
	if err == nil {
		err = checkPair(&p)
	}
	if err == nil {
		if again, nameErr := c.s.pairName(p.Project, p.ID); nameErr != nil || again != name {
			err = corrupt("read pair", name, "it is pair %s of project %q", p.ID, p.Project)
		}
	}
	if err != nil {
		return c.problem(name, err, id)
	}
	for _, manifest := range p.manifests() {
		err, ok := checked[manifest]
		if !ok {
			err = c.s.lookUpAll(c.ctx, manifest)
			checked[manifest] = err
		}
		if err != nil {
			if err := c.problem(manifest.String(), err, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// names reads every name.
func (c *checker) names() error {
	projects, err := c.s.list(c.s.path(namesDir))
	if err != nil {
		return err
	}
	for _, dir := range projects {
		subs, err := c.s.list(c.s.path(namesDir, dir))
		if err != nil {
			return err
		}
		for _, sub := range subs {
			files, err := c.s.list(c.s.path(namesDir, dir, sub))
			if err != nil {
				return err
			}
			for _, file := range files {
				if err := c.oneName(dir, c.s.path(namesDir, dir, sub, file)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *checker) oneName(dir, file string) error {
	body, err := c.s.readName(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // forgotten or called otherwise since it was listed
	}
	c.report.Names++
	if err != nil {
		return c.problem(file, err)
	}
	c.named = append(c.named, namedPair{file, dir, body.Pair})
	return nil
}

// lead looks whether every name leads to a pair.
func (c *checker) lead() error {
	for _, n := range c.named {
		if c.stored[n.project][string(n.pair)+pairSuffix] {
			continue
		}
		if body, err := c.s.readName(n.file); errors.Is(err, fs.ErrNotExist) || err == nil && body.Pair != n.pair {
			continue
		}
		if err := c.problem(n.file, corrupt("read name", n.file, "it leads to pair %s, which is not there", n.pair)); err != nil {
			return err
		}
	}
	return nil
}
