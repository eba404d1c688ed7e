package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forklift/storage/durable"
	"forklift/storage/fault"
	"forklift/storage/internal/index"
	"forklift/storage/internal/pack"
	"forklift/storage/progress"
	"forklift/storage/vfs"
)

// RepairPlan is what a repair does. Paths are relative to the store.
type RepairPlan struct {
	Lost    []string `json:"lost"`    // packs that are not there: the indexes forget them
	Damaged []string `json:"damaged"` // packs that are set aside once their good blobs are stored again
	Indexes []string `json:"indexes"` // damaged indexes that are set aside
	Reindex []string `json:"reindex"` // good packs of which no good index speaks: they get one
	Records []string `json:"records"` // damaged records of checkpoints and names that are set aside
}

// Empty says that there is nothing to repair.
func (p *RepairPlan) Empty() bool {
	return len(p.Lost)+len(p.Damaged)+len(p.Indexes)+len(p.Reindex)+len(p.Records) == 0
}

// maxHurtFiles is how many files of a hurt pair are listed.
const maxHurtFiles = 100

// HurtPair is a pair that cannot be restored, or not as a whole.
type HurtPair struct {
	PairRef
	Name     string   `json:"name"`
	Worktree string   `json:"worktree"`
	Kind     PairKind `json:"kind"`
	Files    []string `json:"files"` // that are lost; at most 100
	Count    int      `json:"count"` // of all that are lost
}

// RepairReport is what a plan comes to.
type RepairReport struct {
	Plan     RepairPlan `json:"plan"`
	Packs    int        `json:"packs"`    // that were read
	Salvaged int64      `json:"salvaged"` // blobs of damaged packs that were stored again
	Hurt     []HurtPair `json:"hurt"`     // once Done: what is beyond repair
	Done     bool       `json:"done"`
}

// Repairer is a repair that is planned. It excludes other repairs and prunes
// until Close.
type Repairer struct {
	s       *Store // its own: it locks out every other
	lock    vfs.Lock
	lost    map[ID]bool
	bad     map[ID]bool // packs
	skip    map[ID]bool // indexes
	fresh   []ID        // packs to index
	written []ID        // packs that hold what was saved of damaged ones
	Report  RepairReport
}

// PlanRepair reads every byte of the store and finds what is damaged.
// Nothing is changed. Close must follow.
func (s *Store) PlanRepair(ctx context.Context) (*Repairer, error) {
	const op = "plan repair"
	own, lock, err := s.alone(ctx, op)
	if err != nil {
		return nil, err
	}
	r := &Repairer{s: own, lock: lock, lost: map[ID]bool{}, bad: map[ID]bool{}, skip: map[ID]bool{}}
	r.Report.Plan = RepairPlan{Lost: []string{}, Damaged: []string{}, Indexes: []string{}, Reindex: []string{}, Records: []string{}}
	r.Report.Hurt = []HurtPair{}
	if err := r.plan(ctx); err != nil {
		r.Close()
		return nil, failed(op, s.dir, err)
	}
	return r, nil
}

// Close gives the repair up, or ends it.
func (r *Repairer) Close() {
	_ = r.s.Close()
	_ = r.lock.Unlock()
}

func (r *Repairer) plan(ctx context.Context) error {
	release, err := r.s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	named, err := r.readIndexes()
	if err != nil {
		return err
	}
	if err := r.readPacks(ctx, named); err != nil {
		return err
	}
	return r.readRecords()
}

// isDamage says whether an error is about stored bytes, not about reading them.
func isDamage(err error) bool {
	k := fault.KindOf(err)
	return k == fault.Corrupt || errors.Is(err, fs.ErrNotExist)
}

// readIndexes finds the damaged ones, and the packs that the others name.
func (r *Repairer) readIndexes() (map[ID]bool, error) {
	named := map[ID]bool{}
	files, err := r.s.list(r.s.path(indexDir))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := path.Join(indexDir, file)
		id, err := ParseID(strings.TrimSuffix(file, indexSuffix))
		if err != nil || !strings.HasSuffix(file, indexSuffix) {
			r.Report.Plan.Indexes = append(r.Report.Plan.Indexes, name)
			continue
		}
		x, err := index.Open(r.s.fs, r.s.path(name), id, &index.Cache{})
		if err == nil {
			if err = x.Verify(func(index.Pack, pack.Frame) {}); err == nil {
				for _, p := range x.Packs() {
					named[p.ID] = true
				}
			}
			_ = x.Close()
		}
		switch {
		case err == nil:
		case isDamage(err):
			r.skip[id] = true
			r.Report.Plan.Indexes = append(r.Report.Plan.Indexes, name)
		default:
			return nil, err
		}
	}
	r.s.blobs.skip = r.skip
	return named, r.s.blobs.load()
}

// readPacks reads all packs that are there, and finds those that are not.
func (r *Repairer) readPacks(ctx context.Context, named map[ID]bool) error {
	plan := &r.Report.Plan
	there := map[ID]bool{}
	report := newReporter(ctx)
	report.event = progress.Event{Phase: "read packs"}
	dirs, err := r.s.list(r.s.path(packsDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		files, err := r.s.list(r.s.path(packsDir, dir))
		if err != nil {
			return err
		}
		for _, file := range files {
			name := path.Join(packsDir, dir, file)
			id, err := ParseID(strings.TrimSuffix(file, packSuffix))
			if err != nil || packName(r.s.dir, id) != r.s.path(name) {
				continue // not ours
			}
			there[id] = true
			r.Report.Packs++
			size, err := r.readPack(ctx, id)
			report.add(size, 1)
			switch {
			case err != nil && !isDamage(err):
				return err
			case err != nil:
				r.bad[id] = true
				plan.Damaged = append(plan.Damaged, name)
			case !named[id]:
				r.fresh = append(r.fresh, id)
				plan.Reindex = append(plan.Reindex, name)
			}
		}
	}
	report.done()
	for id := range named {
		if !there[id] {
			r.lost[id] = true
			plan.Lost = append(plan.Lost, strings.TrimPrefix(packName(r.s.dir, id), r.s.dir+"/"))
		}
	}
	slices.Sort(plan.Lost)
	return nil
}

// readPack verifies a pack and gives its size.
func (r *Repairer) readPack(ctx context.Context, id ID) (int64, error) {
	p, err := pack.Open(r.s.fs, packName(r.s.dir, id))
	if err != nil {
		return 0, err
	}
	defer p.Close()
	_, err = p.Verify(ctx, id)
	return p.Size(), err
}

// readRecords finds the pairs and names that cannot be read, and the names
// that lead nowhere.
func (r *Repairer) readRecords() error {
	var damaged []string
	pairs := map[PairRef]bool{}
	note := func(file string, err error) error {
		if !isDamage(err) {
			return err
		}
		damaged = append(damaged, strings.TrimPrefix(file, r.s.dir+"/"))
		return nil
	}
	err := r.s.eachPair(func(file string, p *Pair, err error) error {
		if err == nil {
			pairs[PairRef{p.Project, p.ID}] = true
			return nil
		}
		return note(file, err)
	})
	if err != nil {
		return err
	}
	projects, err := r.s.list(r.s.path(namesDir))
	if err != nil {
		return err
	}
	for _, dir := range projects {
		subs, err := r.s.list(r.s.path(namesDir, dir))
		if err != nil {
			return err
		}
		for _, sub := range subs {
			files, err := r.s.list(r.s.path(namesDir, dir, sub))
			if err != nil {
				return err
			}
			for _, f := range files {
				file := r.s.path(namesDir, dir, sub, f)
				body, err := r.s.readName(file)
				if err == nil && !pairs[PairRef{body.Project, body.Pair}] {
					err = corrupt("read name", file, "it leads to no pair")
				}
				if err == nil {
					continue
				}
				if err := note(file, err); err != nil {
					return err
				}
			}
		}
	}
	r.Report.Plan.Records = append(r.Report.Plan.Records, damaged...)
	return nil
}

// Run does what the plan says. Nothing that can still be of use is deleted:
// what is damaged is moved to the directory "damaged" of the store. What is
// lost counts as not stored from then on, so that the next capture that meets it
// stores it again; the generation changes.
//
// After a crash the store is no worse than before, and the next repair does the rest.
func (r *Repairer) Run(ctx context.Context) error {
	const op = "repair"
	if !r.Report.Plan.Empty() {
		if err := r.run(ctx); err != nil {
			return failed(op, r.s.dir, err)
		}
	}
	r.Report.Done = true
	return failed(op, r.s.dir, r.findHurt(ctx))
}

func (r *Repairer) run(ctx context.Context) error {
	if err := r.s.blobs.hide(r.bad); err != nil {
		return err
	}
	if err := r.reindex(ctx); err != nil {
		return err
	}
	if err := r.salvage(ctx); err != nil {
		return err
	}
	if err := r.replaced(); err != nil {
		return err
	}
	release, err := r.s.LockExclusive(ctx, lockWait)
	if err != nil {
		return err
	}
	defer release()
	if err := r.s.renew(); err != nil {
		return err
	}
	doomed := map[ID]bool{}
	for _, set := range []map[ID]bool{r.bad, r.lost} {
		for id := range set {
			doomed[id] = true
		}
	}
	if err := r.s.dropFromIndexes(doomed); err != nil {
		return err
	}
	plan := r.Report.Plan
	for _, name := range slices.Concat(plan.Indexes, plan.Damaged, plan.Records) {
		if err := r.s.setAside(name); err != nil {
			return err
		}
	}
	r.s.blobs.skip = nil
	return r.s.blobs.hide(nil)
}

// reindex publishes an index of packs that have none, from their own tables.
func (r *Repairer) reindex(ctx context.Context) error {
	if len(r.fresh) == 0 {
		return nil
	}
	release, err := r.s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	var packs []pack.Summary
	for _, id := range r.fresh {
		p, err := pack.Open(r.s.fs, packName(r.s.dir, id))
		if err != nil {
			return err
		}
		frames, rows, err := p.Table()
		size := p.Size()
		_ = p.Close()
		if err != nil {
			return err
		}
		packs = append(packs, pack.Summary{ID: id, Bytes: size, Frames: frames, Rows: rows})
		// The pack's name may never have been flushed.
		if err := durable.SyncFile(r.s.fs, packName(r.s.dir, id)); err != nil {
			return err
		}
		if err := durable.SyncDir(r.s.fs, path.Dir(packName(r.s.dir, id))); err != nil {
			return err
		}
	}
	if err := durable.SyncDir(r.s.fs, r.s.path(packsDir)); err != nil {
		return err
	}
	work, err := r.s.newWorkDir()
	if err != nil {
		return err
	}
	defer work.remove()
	if _, err := r.s.buildIndex(work, packs, nil, nil); err != nil {
		return err
	}
	return r.s.blobs.load()
}

// salvage stores the good blobs of damaged packs again, if they are nowhere else.
func (r *Repairer) salvage(ctx context.Context) error {
	if len(r.bad) == 0 {
		return nil
	}
	frames, err := r.framesOfBad()
	if err != nil {
		return err
	}
	w, err := r.s.NewWriter(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	p := w.packer()
	for id := range r.bad {
		if err := r.salvagePack(ctx, w, p, id, frames[id]); err != nil {
			return err
		}
	}
	w.giveBack(p)
	err = w.Commit(ctx)
	r.written = w.named
	return err
}

// replaced takes out of the plan what has been replaced: packs and indexes
// are named by their content, so what was made anew can have the name of what was
// damaged, and is in its place now.
func (r *Repairer) replaced() error {
	plan := &r.Report.Plan
	for _, id := range r.written {
		delete(r.bad, id)
		delete(r.lost, id)
	}
	plan.Damaged = slices.DeleteFunc(plan.Damaged, func(name string) bool {
		id, err := ParseID(strings.TrimSuffix(path.Base(name), packSuffix))
		return err == nil && !r.bad[id]
	})
	for id := range r.skip {
		x, err := index.Open(r.s.fs, indexName(r.s.dir, id), id, &index.Cache{})
		if err == nil {
			err = x.Verify(func(index.Pack, pack.Frame) {})
			_ = x.Close()
		}
		switch {
		case err == nil:
			delete(r.skip, id)
			plan.Indexes = slices.DeleteFunc(plan.Indexes, func(name string) bool { return path.Base(name) == id.String()+indexSuffix })
		case !isDamage(err):
			return err
		}
	}
	return r.s.blobs.hide(r.bad)
}

// framesOfBad gives what the good indexes say of damaged packs.
func (r *Repairer) framesOfBad() (map[ID][]pack.Frame, error) {
	frames := map[ID][]pack.Frame{}
	for _, x := range r.s.blobs.files {
		err := x.Verify(func(p index.Pack, f pack.Frame) {
			if r.bad[p.ID] && !slices.Contains(frames[p.ID], f) {
				frames[p.ID] = append(frames[p.ID], f)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return frames, nil
}

func (r *Repairer) salvagePack(ctx context.Context, w *Writer, p *packer, id ID, frames []pack.Frame) error {
	name := packName(r.s.dir, id)
	f, err := pack.Open(r.s.fs, name)
	if isDamage(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if own, _, err := f.Table(); err == nil {
		frames = own
	} else if !isDamage(err) {
		return err
	}
	var buf pack.Buffer
	for _, frame := range frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := f.Rows(frame)
		var data []byte
		if err == nil {
			data, err = f.Frame(frame, &buf)
		}
		if isDamage(err) {
			continue
		}
		if err != nil {
			return err
		}
		for slot, row := range rows {
			blob, err := pack.Blob(name, data, rows, slot)
			if err != nil {
				continue
			}
			fresh, err := w.claim(row.ID, &p.near)
			if err == nil && fresh {
				r.Report.Salvaged++
				err = p.put(row.ID, blob)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// setAside moves a file of the store to the directory of damaged files,
// durably; what lies there already stays.
func (s *Store) setAside(name string) error {
	if _, err := s.fs.Lstat(s.path(name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := durable.MkdirAll(s.fs, s.path(asideDir), dirPerm); err != nil {
		return err
	}
	base := strings.ReplaceAll(name, "/", "-")
	to := s.path(asideDir, base)
	for n := 2; ; n++ {
		if _, err := s.fs.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return durable.Rename(s.fs, s.path(name), to)
		} else if err != nil {
			return err
		}
		to = s.path(asideDir, fmt.Sprintf("%s.%d", base, n))
	}
}
