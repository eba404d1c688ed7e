package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// pruneSpare is what a prune leaves free beside what it writes.
const pruneSpare = 64 << 20

// blobOverhead is about what a blob takes beside its bytes: its row in the
// pack and its entry in the index.
const blobOverhead = 36 + 13

// PairRef names a pair: those of seeds and templates have project "".
type PairRef struct {
	Project string `json:"project"`
	ID      PairID `json:"id"`
}

// Roots is what is needed beside all that has a name.
type Roots struct {
	Manifests []ID      // of what slots hold
	Pairs     []PairRef // also if no name leads to them: what journals and selections name
}

// PruneOptions are the wishes for a prune.
type PruneOptions struct {
	// MaxUnused is the share of the packs' bytes that may stay although
	// nothing needs it, so that little is copied for little: 0.05 is usual.
	MaxUnused float64
	// Forget are names that go with their pairs. Those that Roots names are an error.
	Forget []NameRef
	// Roots is asked twice: for the plan, and again while nobody else can
	// change anything.
	Roots func(ctx context.Context) (Roots, error)
	// Wait is how long Run waits for running operations; 0 is two minutes.
	Wait time.Duration
}

// PackPlan is what becomes of a pack.
type PackPlan struct {
	ID    ID    `json:"id"`
	Bytes int64 `json:"bytes"`
	Used  int64 `json:"used"` // about how much of it is needed, and written again
}

// PrunePlan is what a prune does. Two plans with equal fields do the same.
type PrunePlan struct {
	Forget []NameRef  `json:"forget"` // names that go
	Pairs  []PairRef  `json:"pairs"`  // pairs without a name that go
	Remove []PackPlan `json:"remove"` // packs of which nothing is needed
	Repack []PackPlan `json:"repack"` // packs of which the needed part is written again
	Stray  []string   `json:"stray"`  // files in the store that nothing speaks of
}

// PruneReport is what a plan comes to.
type PruneReport struct {
	Plan        PrunePlan `json:"plan"`
	Packs       int       `json:"packs"`        // before
	Bytes       int64     `json:"bytes"`        // of packs, before
	FreedBytes  int64     `json:"freed_bytes"`  // about; what was freed once Done
	UnusedBytes int64     `json:"unused_bytes"` // about what stays although nothing needs it
	Limited     bool      `json:"limited"`      // more could go, but there is too little space to write it again
	Done        bool      `json:"done"`
}

// Pruner is a prune that is planned. It excludes other prunes and repairs
// until Close, but nothing else: captures go on.
type Pruner struct {
	s       *Store // its own: it locks out every other
	lock    vfs.Lock
	opt     PruneOptions
	marks   *marks
	roots   map[PairRef]bool // that were marked
	copied  []ID             // blobs of packs that go, that were written again
	written []ID             // packs that they are in
	Report  PruneReport
}

// PlanPrune finds out what nothing needs any more: what is not reached from
// a named pair or from Roots. Nothing is changed.
//
// It fails with kind Busy while another prune or a repair runs, and with
// Corrupt if what is needed cannot be told because of damage. Close must
// follow.
func (s *Store) PlanPrune(ctx context.Context, opt PruneOptions) (*Pruner, error) {
	const op = "plan prune"
	if opt.Wait == 0 {
		opt.Wait = 2 * time.Minute
	}
	own, lock, err := s.alone(ctx, op)
	if err != nil {
		return nil, err
	}
	p := &Pruner{s: own, lock: lock, opt: opt, roots: map[PairRef]bool{}}
	if err := p.plan(ctx); err != nil {
		p.Close()
		if fault.KindOf(err) == fault.Corrupt {
			err = &fault.Error{Err: err, Kind: fault.Corrupt, Hint: "Nothing was removed. Run forklift repair, then forget the checkpoints that it names."}
		}
		return nil, failed(op, s.dir, err)
	}
	return p, nil
}

// alone opens the store again, for one who locks out all others, and takes
// prune.lock.
func (s *Store) alone(ctx context.Context, op string) (*Store, vfs.Lock, error) {
	name := s.path(pruneLock)
	lock, err := s.fs.Lock(name, true)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, nil, &fault.Error{Op: op, Path: name, Kind: fault.Busy, Err: errors.New("another prune or repair of this store runs"),
			Hint: "Wait for it to end, then try again."}
	}
	if err != nil {
		return nil, nil, failed(op, name, err)
	}
	own, err := Open(ctx, s.fs, s.dir)
	if err != nil {
		_ = lock.Unlock()
		return nil, nil, err
	}
	return own, lock, nil
}

// Close gives the prune up, or ends it.
func (p *Pruner) Close() {
	_ = p.s.Close()
	_ = p.lock.Unlock()
}

// plan marks, and decides what becomes of each pack.
func (p *Pruner) plan(ctx context.Context) error {
	release, err := p.s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	roots, err := p.opt.Roots(ctx)
	if err != nil {
		return err
	}
	if err := p.refuseForget(ctx, roots); err != nil {
		return err
	}
	p.Report.Plan.Forget = slices.Clone(p.opt.Forget)
	if p.marks, err = p.s.newMarks(ctx); err != nil {
		return err
	}
	needed, unnamed, err := p.s.neededPairs(ctx, roots, p.opt.Forget)
	if err != nil {
		return err
	}
	p.Report.Plan.Pairs = unnamed
	if err := p.mark(needed, roots); err != nil {
		return err
	}
	p.marks.report.done()
	if p.Report.Plan.Stray, err = p.s.strays(p.marks.packs); err != nil {
		return err
	}
	return p.choose()
}

// mark marks what pairs and manifests need.
func (p *Pruner) mark(pairs []*Pair, roots Roots) error {
	for _, pair := range pairs {
		ref := PairRef{pair.Project, pair.ID}
		if p.roots[ref] {
			continue
		}
		if err := p.marks.pair(pair); err != nil {
			return err
		}
		p.roots[ref] = true
	}
	for _, id := range roots.Manifests {
		if err := p.marks.tree(id); err != nil {
			return failed("look up what a slot holds", id.String(), err)
		}
	}
	return nil
}

// refuseForget fails if a pair that is to go is needed.
func (p *Pruner) refuseForget(ctx context.Context, roots Roots) error {
	for _, n := range p.opt.Forget {
		id, err := p.s.Name(ctx, n.Project, n.Worktree, n.Kind, n.Name)
		if fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		if slices.Contains(roots.Pairs, PairRef{n.Project, id}) {
			return &fault.Error{Kind: fault.Busy, Path: n.Name, Err: fmt.Errorf("the checkpoint %s is needed", n.Name),
				Hint: "Nothing was removed. Try again."}
		}
	}
	return nil
}

// choose decides what becomes of each pack.
func (p *Pruner) choose() error {
	plan := &p.Report.Plan
	plan.Remove, plan.Repack = []PackPlan{}, []PackPlan{}
	type candidate struct {
		PackPlan
		need int64 // bytes that writing it again takes
	}
	var partly []candidate
	var unused int64
	for _, id := range p.marks.sorted() {
		known := p.marks.packs[id]
		used, blobs := known.usedBytes()
		pp := PackPlan{ID: id, Bytes: known.size, Used: used}
		p.Report.Packs++
		p.Report.Bytes += known.size
		switch {
		case blobs == 0:
			plan.Remove = append(plan.Remove, pp)
			p.Report.FreedBytes += known.size
		case !known.whole():
			partly = append(partly, candidate{pp, used + int64(blobs)*blobOverhead + 1<<12})
			unused += known.size - used
		}
	}
	budget, err := p.budget()
	if err != nil {
		return err
	}
	// The emptiest first: they give most for what is written.
	slices.SortStableFunc(partly, func(a, b candidate) int {
		return int(float64(a.Used)/float64(a.Bytes)*1e9) - int(float64(b.Used)/float64(b.Bytes)*1e9)
	})
	allowed := int64(p.opt.MaxUnused * float64(p.Report.Bytes-p.Report.FreedBytes))
	for _, c := range partly {
		if unused <= allowed {
			break
		}
		if c.need > budget {
			p.Report.Limited = true
			continue
		}
		budget -= c.need
		unused -= c.Bytes - c.Used
		p.Report.FreedBytes += c.Bytes - c.Used
		plan.Repack = append(plan.Repack, c.PackPlan)
	}
	p.Report.UnusedBytes = unused
	return nil
}

// whole says that every blob of the pack is needed.
func (p *packMarks) whole() bool {
	for i := range p.frames {
		if p.frames[i].usedBlobs() < int(p.frames[i].Blobs) {
			return false
		}
	}
	return true
}

// budget is how much may be written before anything is removed: what is free
// beyond what the new indexes and everybody else need.
func (p *Pruner) budget() (int64, error) {
	space, err := p.s.fs.Space(p.s.dir)
	if err != nil {
		return 0, failed("look at free space", p.s.dir, err)
	}
	free := space.FreeBytes - pruneSpare
	for _, x := range p.s.blobs.files {
		free -= x.Size()
	}
	return max(0, free), nil
}

// strays lists the files of the store's own directories that nothing speaks
// of: packs without an index and temporary files. While a writer is at work
// some may be its own; the caller knows that there is none before it removes them.
func (s *Store) strays(known map[ID]*packMarks) ([]string, error) {
	found := []string{}
	dirs, err := s.list(s.path(packsDir))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		files, err := s.fs.ReadDir(s.path(packsDir, dir))
		if err != nil {
			return nil, failed("list packs", dir, err)
		}
		for _, f := range files {
			name := path.Join(packsDir, dir, f.Name)
			id, err := ParseID(strings.TrimSuffix(f.Name, packSuffix))
			stray := err == nil && packName(s.dir, id) == s.path(name) && known[id] == nil
			if stray || durable.IsTemp(f.Name) {
				found = append(found, name)
			}
		}
	}
	return found, nil
}
