package storage

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"forklift/storage/clock"
	"forklift/storage/durable"
	"forklift/storage/failpoint"
	"forklift/storage/internal/fskind"
	"forklift/storage/internal/pack"
	"forklift/storage/progress"
	"forklift/storage/vfs"

	"golang.org/x/sync/errgroup"
)

// scanWorkers is how many goroutines read, hash and compress: designed for
// two cores, and enough to keep a disk busy.
const scanWorkers = 2

// scanAhead is how many entries a walk may be ahead of the manifest.
const scanAhead = 512

// reportBytes and reportFiles are how often a scan or patch reports progress.
const (
	reportBytes = 4 << 20
	reportFiles = 256
)

// Scan makes a manifest of what rules select of a directory tree, and stores
// what of it is not stored yet. Files that prior shows untouched are not
// opened; equal trees give the identical manifest whatever prior says.
//
// It is one walk. For a tree that cannot change the result is exact. For one
// that can (a worktree that somebody edits), scan again with the first
// scan's memory: that reads only what was touched meanwhile. Nothing of it
// can be found before Commit.
//
// A file that cannot be read is an error that names it.
func (w *Writer) Scan(ctx context.Context, root vfs.Root, rules Rules, prior *Memory) (*Tree, error) {
	s := &scanner{
		w: w, root: root, rules: rules, ctx: ctx,
		items: make(chan *item, scanAhead),
		parts: make(chan part),
		tree:  &Tree{},
		jobs:  map[*fileJob]struct{}{},
		since: clock.System{}.Now(),
		next:  &Memory{store: w.s.id, generation: w.s.generation.Load(), writer: w},
	}
	s.plain = readingRules(&rules, nil)
	// Nothing that was remembered counts while packs are missing: then all is
	// read, and what was lost is stored again.
	if prior.usable(w) && !w.s.blobs.damaged() {
		s.prior = prior
	}
	s.trust = fskind.OfDir(root, ".").TimesMove()
	if s.trust && rules.Unit == Chunks {
		// A program that changes a file through a memory map moves its times
		// only at the first store after a write-out. The second scan of a
		// capture does without: what it reads is not trusted later.
		if s.trust = s.prior == nil || s.prior.writer != w; s.trust {
			durable.WriteOut(root, ".")
		}
	}
	stored := w.AddedBytes()
	if err := s.run(); err != nil {
		return nil, failed("scan", "", err)
	}
	t := s.tree
	t.Memory = s.next
	t.Stats.ReadFiles, t.Stats.ReadBytes = int(s.readFiles.Load()), s.readBytes.Load()
	t.Stats.AddedBytes = w.AddedBytes() - stored
	return t, nil
}

// scanner is one scan: a walker that lists the tree in order, workers that
// read files, and a collector that makes the manifest in order.
type scanner struct {
	w     *Writer
	root  vfs.Root
	rules Rules
	prior *Memory
	plain uint64 // readingRules of files without zeroed stretches
	trust bool   // the times of files can be trusted later
	since time.Time
	ctx   context.Context
	items chan *item
	parts chan part
	tree  *Tree
	next  *Memory

	jobsMu sync.Mutex
	jobs   map[*fileJob]struct{} // that are not done

	readFiles atomic.Int64
	readBytes atomic.Int64
}

// item is an entry on its way into the manifest.
type item struct {
	entry Entry
	info  vfs.Info    // of a regular file, as far as its entry needs it
	known *remembered // its content, if it need not be read
	job   *fileJob    // that reads it, if it must
}

func (s *scanner) run() error {
	// Until the commit nobody can see what is written here.
	defer failpoint.Bulk()()
	g, ctx := errgroup.WithContext(s.ctx)
	s.ctx = ctx
	g.Go(func() error {
		defer close(s.items)
		defer close(s.parts)
		return s.walk()
	})
	for range scanWorkers {
		g.Go(s.work)
	}
	g.Go(s.collect)
	err := g.Wait()
	for j := range s.jobs {
		s.ended(j)
	}
	return err
}

// emit sends an item to the collector.
func (s *scanner) emit(it *item) error {
	select {
	case s.items <- it:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// collect makes the manifest.
func (s *scanner) collect() error {
	b := treeBuilder{put: s.w.node}
	report := newReporter(s.ctx)
	for {
		var it *item
		select {
		case next, ok := <-s.items:
			if !ok {
				if s.ctx.Err() != nil {
					return s.ctx.Err()
				}
				var err error
				s.tree.Manifest, err = b.finish()
				report.done()
				return err
			}
			it = next
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		keep, err := s.settle(it)
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		if err := b.add(it.entry); err != nil {
			return misuse("scan", it.entry.Path, "%w", err)
		}
		report.add(it.entry.Size, 1)
	}
}

// settle completes an item: it waits for the file to be read. false means
// that the file is gone.
func (s *scanner) settle(it *item) (bool, error) {
	e := &it.entry
	if e.Type == Omitted {
		s.tree.Omitted = append(s.tree.Omitted, *e)
	}
	if e.Type != Regular {
		return true, nil
	}
	r := it.known
	if it.job != nil {
		select {
		case <-it.job.done:
		case <-s.ctx.Done():
			return false, s.ctx.Err()
		}
		if it.job.gone {
			return false, nil
		}
		it.info, r = it.job.info, &it.job.result
	}
	s.next.files = append(s.next.files, *r)
	e.Mode, e.Size, e.Content, e.Xattrs = Mode(it.info), r.stat.size, r.content, r.xattrs
	if s.rules.Mtimes {
		e.Mtime = it.info.Mtime
	}
	// Holes are kept for sources. A cluster's manifest must not depend on
	// how a file came to be written.
	e.Sparse = s.rules.Unit == Chunks && r.holes && it.info.Blocks*512 < it.info.Size
	s.tree.Stats.Files++
	s.tree.Stats.Bytes += e.Size
	return true, nil
}

// remembers gives what prior knows of a file that has not been touched
// since; nil if it must be read.
func (s *scanner) remembers(path string, info vfs.Info, rules uint64) (*remembered, error) {
	r := s.prior.find(path)
	if r == nil || !r.trusted || r.stat != statOf(info) || r.rules != rules {
		return nil, nil
	}
	if !r.checked && r.stat.size > 0 {
		known, err := s.w.has(r.content.Root)
		if err != nil || !known {
			return nil, err
		}
	}
	hit := *r
	hit.checked = true
	return &hit, nil
}

// readingRules tells rules apart by which the same file gives different
// entries.
func readingRules(r *Rules, zero []Range) uint64 {
	b := []byte{byte(r.Unit), 0}
	if r.Xattrs {
		b[1] = 1
	}
	for _, z := range zero {
		b = binary.AppendVarint(binary.AppendVarint(b, z.Off), z.End)
	}
	sum := pack.Sum(b)
	return binary.LittleEndian.Uint64(sum[:])
}

// reporter reports progress now and then. The phase is the caller's to add.
type reporter struct {
	ctx   context.Context
	event progress.Event
	bytes int64 // since the last report
	files int
}

func newReporter(ctx context.Context) *reporter { return &reporter{ctx: ctx} }

func (r *reporter) add(bytes int64, files int) {
	r.event.DoneBytes += bytes
	r.event.DoneFiles += files
	r.bytes += bytes
	if r.files += files; r.bytes >= reportBytes || r.files >= reportFiles {
		r.done()
	}
}

func (r *reporter) done() {
	r.bytes, r.files = 0, 0
	progress.Report(r.ctx, r.event)
}
