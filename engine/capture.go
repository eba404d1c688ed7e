package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"forklift/storage"
	"forklift/storage/fault"
)

// maxNameTries bounds the search for a made-up name that is free.
const maxNameTries = 100

// Capture saves the selected source files and the database together as one
// named checkpoint. When it returns nil the checkpoint is durable and the
// server runs again if it did. When it fails, or is killed and recovered
// without having named the pair, everything is as it was.
func (w *Worktree) Capture(ctx context.Context, opt CaptureOptions) (res *CaptureResult, err error) {
	cfg, err := w.Config(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.checkNewName(ctx, opt.Name); err != nil {
		return nil, err
	}
	if err := w.checkSpace(verbCapture, SlotA, storage.DatabaseState{}); err != nil {
		return nil, err
	}
	if err := w.checkLimits(verbCapture); err != nil {
		return nil, err
	}
	op, err := w.begin(ctx, verbCapture, cfg, opt.WaitOptions)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = op.close(ctx, err); err != nil {
			res = nil
		} else {
			res.Hooks = op.hooks.runs
		}
	}()
	if err := w.refuseUnsavedCapture(ctx, cfg.Selection(), opt.WaitOptions); err != nil {
		return nil, err
	}
	op.j.Pair, op.j.PairKind, op.j.PairName = storage.PairID(op.j.Operation), storage.Capture, opt.Name
	if opt.Name == "" {
		if op.j.PairName, err = w.inventName(ctx, op.j.Started); err != nil {
			return nil, err
		}
	}
	saver, err := w.newSaver(ctx, cfg.Selection(), op.j.Before.Slot)
	if err != nil {
		return nil, err
	}
	defer saver.close()
	for _, s := range w.missingSources(cfg.Source) {
		saver.warnings = append(saver.warnings, fmt.Sprintf("%s of .forklift.json does not exist: this checkpoint has nothing of it", s))
	}
	pair, err := op.capture(ctx, saver, opt.Note)
	if err != nil {
		return nil, op.abort(ctx, err)
	}
	return op.captured(saver, pair), nil
}

// capture runs the passes and publishes the pair.
func (op *operation) capture(ctx context.Context, s *saver, note string) (*storage.Pair, error) {
	if err := op.start(op.j.PairName, ""); err != nil {
		return nil, err
	}
	if err := op.recoverUnclean(ctx); err != nil {
		return nil, err
	}
	op.enter(ctx, phaseSave)
	var err error
	if s.base, err = op.startedOn(ctx); err != nil {
		return nil, err
	}
	if err := op.firstPass(ctx, s); err != nil {
		return nil, err
	}
	if err := op.lastPass(ctx, s); err != nil {
		return nil, err
	}
	if err := op.restart(ctx, op.j.Before.Slot); err != nil {
		return nil, err
	}
	if err := s.conclude(ctx, op.running && s.carried == nil); err != nil {
		return nil, err
	}
	pair, err := op.publish(ctx, s, "", note)
	if err != nil {
		return nil, err
	}
	op.switched = true
	ctx, cancel := afterSwitch(ctx)
	defer cancel()
	s.remember(true)
	return pair, op.finishCapture(ctx)
}

// startedOn is the database of the pair that the worktree rests on: what the
// slot held when its server was started. A capture names it again if the server
// says that it holds that still. nil where a capture has to look itself, also
// because the server is to stay stopped afterwards.
func (op *operation) startedOn(ctx context.Context) (*storage.DatabaseState, error) {
	if !op.running || !op.j.ServerRan {
		return nil, nil
	}
	ref := op.j.Before.data()
	pair, err := op.w.store.Pair(ctx, ref.Project, ref.Pair)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil || len(pair.Databases) != 1 {
		return nil, err
	}
	base := pair.Databases[0]
	if base.Kind != op.w.rec.Kind || base.State != storage.StateClean {
		return nil, nil
	}
	return &base, nil
}

// firstPass reads the state: hot while the server runs, else at rest.
func (op *operation) firstPass(ctx context.Context, s *saver) error {
	if op.running {
		return s.hot(ctx)
	}
	if seen, ok := op.w.lastObservation(s.slot); ok {
		s.seen = seen
	}
	return s.cold(ctx)
}

// lastPass reads what a hot first pass left to read, at rest.
func (op *operation) lastPass(ctx context.Context, s *saver) error {
	if !op.running {
		return nil
	}
	if s.carried != nil {
		op.sessions = 0 // they go on
		return nil
	}
	if err := op.stop(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return canceled(ctx)
	}
	return s.cold(ctx)
}

// publish makes the pair of what was concluded durable and, last, gives it its
// name.
func (op *operation) publish(ctx context.Context, s *saver, reason, note string) (*storage.Pair, error) {
	pair := s.pair(ctx, op.j, reason, note)
	if err := op.w.store.PutPair(ctx, pair); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, canceled(ctx)
	}
	return pair, op.w.store.SetName(ctx, op.w.rec.Project, op.w.rec.ID, pair.Kind, pair.Name, pair.ID)
}

// finishCapture is what follows the naming of a captured pair; recover does
// the same.
func (op *operation) finishCapture(ctx context.Context) error {
	next := selection{Project: op.w.rec.Project, Pair: op.j.Pair, Kind: op.j.PairKind, Slot: op.j.Before.Slot,
		Operation: op.j.Operation, At: op.w.host.Clock.Now()}
	if err := op.w.writeSelection(next); err != nil {
		return err
	}
	if err := op.done(op.j.Before.Pair, op.j.Pair, op.j.PairKind, op.j.PairName); err != nil {
		return err
	}
	return op.ensureServer(ctx, op.j.Before.Slot)
}

func (op *operation) captured(s *saver, p *storage.Pair) *CaptureResult {
	r := &CaptureResult{ID: p.ID, Name: p.Name, Files: p.Source.Files, SourceBytes: p.Source.Bytes,
		Databases: len(p.Databases), DataBytes: p.LogicalBytes - p.Source.Bytes, ReadBytes: s.read.Load(), Unchanged: s.carried != nil,
		AddedBytes: p.AddedBytes, AwayMs: op.away.Milliseconds(), WallMs: op.wall().Milliseconds(),
		Sessions: op.sessions, Skipped: s.skipped(), Warnings: append(op.warnings, s.warnings...)}
	return r
}

// checkNewName refuses a name that is not one, or that this worktree has already.
func (w *Worktree) checkNewName(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	if err := storage.ValidName(name); err != nil {
		return err
	}
	_, err := w.store.Name(ctx, w.rec.Project, w.rec.ID, storage.Capture, name)
	switch {
	case err == nil:
		return &fault.Error{Op: "capture", Path: name, Kind: fault.Usage,
			Err:  fmt.Errorf("this worktree has a checkpoint %q already", name),
			Hint: "Choose another name; `forklift list` shows those in use."}
	case fault.KindOf(err) == fault.NotFound:
		return nil
	}
	return err
}

// inventName makes a name of the time and the git branch that is not in use.
func (w *Worktree) inventName(ctx context.Context, at time.Time) (string, error) {
	_, branch, err := w.host.Git.Head(ctx, w.repo)
	if err != nil {
		return "", err
	}
	base := at.Format("20060102-150405")
	if b := plainName(branch); b != "" {
		base += "-" + b
	}
	for i := 1; i <= maxNameTries; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		if err := w.checkNewName(ctx, name); err == nil {
			return name, nil
		} else if fault.KindOf(err) != fault.Usage {
			return "", err
		}
	}
	return "", &fault.Error{Op: "capture", Path: base, Kind: fault.Usage,
		Err: fmt.Errorf("no free name after %d tries", maxNameTries), Hint: "Give a name."}
}

// plainName makes a git branch's name fit for a checkpoint's.
func plainName(s string) string {
	const longest = 60
	var b strings.Builder
	for _, r := range s {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
		if b.Len() >= longest {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}
