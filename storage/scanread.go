package storage

import (
	"forklift/storage/vfs"
)

// partBytes is how much of a file of pages one worker reads at a time, so
// that a segment of 1 GiB keeps all workers busy. Whole spans.
const partBytes = 8 * spanBytes

// part is a stretch of a file for one worker.
type part struct {
	job *fileJob
	n   int // -1: the whole file
}

// newJob makes the job for a file. Its directory stays open until the job is
// done.
func (s *scanner) newJob(d *openDir, name string, info vfs.Info, zero []Range, rules uint64) *fileJob {
	d.use()
	p := d.join(name)
	j := &fileJob{s: s, dir: d, name: name, path: p, info: info, zero: zero, rules: rules,
		done: make(chan struct{}), hints: s.hintsFor(p)}
	s.began(j)
	return j
}

// hintsFor gives the spans that a file of pages had before, if those are in
// the store. What this writer stored itself is not searched for slowly.
func (s *scanner) hintsFor(path string) *hints {
	r := s.prior.find(path)
	if r == nil || s.rules.Unit != Pages || r.content.Unit != Pages || r.content.Depth == 0 {
		return nil
	}
	if known, err := s.w.s.blobs.known(r.content.Root); err != nil || !known {
		return nil
	}
	spans, err := s.w.s.spans(r.content, r.stat.size)
	if err != nil {
		return nil
	}
	return &hints{spans, func(span contentRef) ([]contentRef, error) { return s.w.s.contentNode(span, Pages, 1) }}
}

// send gives the job to the workers, in parts if it is large.
func (s *scanner) send(j *fileJob) error {
	if s.rules.Unit != Pages || j.info.Size <= partBytes {
		return s.sendPart(part{j, -1})
	}
	n := int((j.info.Size + partBytes - 1) / partBytes)
	j.spans = make([][]contentRef, n)
	j.left.Store(int32(n))
	for i := range n {
		if err := s.sendPart(part{j, i}); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) sendPart(p part) error {
	select {
	case s.parts <- p:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// work reads what it is sent.
func (s *scanner) work() error {
	p := s.w.packer()
	defer s.w.giveBack(p)
	c := newCutter(p, s.rules.Unit)
	defer c.free()
	for {
		select {
		case part, ok := <-s.parts:
			if !ok {
				return nil
			}
			if err := s.read(c, part); err != nil {
				return failed("scan", part.job.path, err)
			}
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// read reads a part, and completes the file if it was the last one.
func (s *scanner) read(c *cutter, p part) error {
	j := p.job
	if p.n < 0 {
		return j.finish(j.readWhole(c))
	}
	if err := j.readPart(c, p.n); err != nil {
		return err
	}
	if j.left.Add(-1) > 0 {
		return nil
	}
	ok, err := j.joinParts(c)
	if err != nil {
		return err
	}
	if !ok {
		err = j.readWhole(c)
	}
	return j.finish(err)
}

// began notes a job, so that what it holds open is closed also if the scan
// fails before its turn.
func (s *scanner) began(j *fileJob) {
	s.jobsMu.Lock()
	defer s.jobsMu.Unlock()
	s.jobs[j] = struct{}{}
}

// ended closes what a job holds open.
func (s *scanner) ended(j *fileJob) {
	s.jobsMu.Lock()
	defer s.jobsMu.Unlock()
	delete(s.jobs, j)
	if j.file != nil {
		_ = j.file.Close()
	}
	j.dir.leave()
}
