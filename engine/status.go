package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"forklift/engine/config"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/vfs"
)

// MaxStatusFiles bounds the list of changed files in a status; FileCount has
// the whole number.
const MaxStatusFiles = 1000

// Status tells the state of the worktree. It takes no lock for long, runs
// nothing of the repository, and changes nothing; what it cannot find out it
// names in Problems.
func (w *Worktree) Status(ctx context.Context) (*StatusResult, error) {
	return w.statusWith(ctx, w.statusFiles)
}

// statusFunc fills in the changed files.
type statusFunc func(ctx context.Context, res *StatusResult, pair *storage.Pair, sel config.Selection) error

// statusWith is Status with a way to find the changed files; nil leaves them
// out.
func (w *Worktree) statusWith(ctx context.Context, files statusFunc) (*StatusResult, error) {
	res := &StatusResult{Worktree: w.Info(), Source: []string{}, Files: []FileChange{}, Tables: []TableChange{}, Holders: []HolderInfo{}}
	if err := w.statusOperation(ctx, res); err != nil {
		return nil, err
	}
	server, err := w.serverInfo(ctx)
	if err != nil {
		res.Problems = append(res.Problems, problem(err))
	} else {
		res.Server = *server
	}
	holders, err := w.holders()
	if err != nil {
		res.Problems = append(res.Problems, problem(err))
	}
	for _, h := range holders {
		res.Holders = append(res.Holders, h.info())
	}
	if res.Unsaved, err = w.unsaved(); err != nil {
		res.Problems = append(res.Problems, problem(err))
	}
	if res.App, err = w.stoppedApp(); err != nil {
		res.Problems = append(res.Problems, problem(err))
	}
	if files != nil {
		if res.Orphans, err = w.orphanNames(ctx); err != nil {
			res.Problems = append(res.Problems, problem(err))
		}
	}
	if err := w.statusChanges(ctx, res, files); err != nil {
		res.Problems = append(res.Problems, problem(err))
	}
	res.Problems = append(res.Problems, w.limitWarnings()...)
	return res, nil
}

// statusOperation tells an operation that is under way from one that was
// interrupted: the former holds operation.lock.
func (w *Worktree) statusOperation(ctx context.Context, res *StatusResult) error {
	lock, err := w.fs.Lock(w.file(operationLock), false)
	if errors.Is(err, vfs.ErrLocked) {
		res.Operation = &RunningOp{Verb: "operation"}
		if a, ok := w.readActing(); ok {
			res.Operation = &RunningOp{Verb: a.Verb, PID: a.PID, Since: a.Since, Phase: a.Phase}
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	j, err := w.readJournal()
	if err != nil || j == nil {
		return err
	}
	current, err := w.readSelection()
	if err != nil {
		return err
	}
	op := &operation{w: w, j: j}
	switched, err := op.hasSwitched(ctx, current)
	if err != nil {
		return err
	}
	res.Interrupted = &Interrupted{Verb: j.Verb, Since: j.Started, Forward: switched && j.Direction != directionBack, Target: j.TargetName}
	if j.Verb == verbCapture {
		res.Interrupted.Target = j.PairName
	}
	return nil
}

// statusChanges compares the worktree with the checkpoint it rests on. A
// .forklift.json that cannot be read hides the files only.
func (w *Worktree) statusChanges(ctx context.Context, res *StatusResult, files statusFunc) error {
	cfg, err := w.Config(ctx)
	if err != nil {
		res.Problems = append(res.Problems, problems(err)...)
	} else {
		res.Source = cfg.Source
		if res.Trusted, err = w.Trusted(ctx); err != nil {
			return err
		}
	}
	sel, pair, err := w.currentPair(ctx)
	if err != nil {
		return err
	}
	if sel.Project != "" {
		res.Checkpoint = w.resting(pair, sel)
		res.AgeSeconds = int64(w.host.Clock.Now().Sub(pair.Created) / time.Second)
	}
	source := pair
	if at := sel.Source; at != nil && at.Project != "" {
		if source, err = w.store.Pair(ctx, at.Project, at.Pair); err != nil {
			return err
		}
		res.SourceCheckpoint = w.resting(source, sel)
	}
	if sel.source().Project != "" && cfg != nil && files != nil {
		if err := files(ctx, res, source, cfg.Selection()); err != nil {
			return err
		}
	}
	return w.statusTables(ctx, res, pair)
}

// resting describes a checkpoint that the worktree, or half of it, rests on.
func (w *Worktree) resting(pair *storage.Pair, sel selection) *Checkpoint {
	c := checkpoint(pair, w.checkpointOwner(pair), storage.Usage{}, sel)
	return &c
}

// problem is an error with its hint.
func problem(err error) string { return fault.Sentence(err) }

// problems are all that an error about a file lists, the hint with the last.
func problems(err error) []string {
	list := slices.Clone(fault.ItemsOf(err))
	if len(list) < 2 {
		return []string{problem(err)}
	}
	last := &list[len(list)-1]
	*last = fault.Sentence(&fault.Error{Err: errors.New(*last), Hint: fault.HintOf(err)})
	return list
}

func (w *Worktree) statusFiles(ctx context.Context, res *StatusResult, pair *storage.Pair, sel config.Selection) error {
	opt, _, err := w.scanOptions(ctx, pair, sel)
	if err != nil {
		return err
	}
	opt.Limit = MaxStatusFiles
	changes, count, err := worktree.Changes(ctx, opt)
	if err != nil {
		return err
	}
	res.list(changes, count)
	return nil
}

// scanOptions compare all files of the worktree with a pair; ignored is what git
// ignores now. What an earlier scan remembers is read while git looks for that.
func (w *Worktree) scanOptions(ctx context.Context, pair *storage.Pair, sel config.Selection) (opt worktree.ChangeOptions, ignored []string, err error) {
	memory := make(chan *storage.Memory, 1)
	go func() { memory <- w.loadMemory(memoryOfSources) }()
	ignored, err = w.ignored(ctx, sel)
	remembered := <-memory
	if err != nil {
		return opt, nil, err
	}
	opt, err = w.changeOptions(pair, sel, ignored)
	opt.Memory = remembered
	return opt, ignored, err
}

// changeOptions compare the worktree with a pair.
func (w *Worktree) changeOptions(pair *storage.Pair, sel config.Selection, ignored []string) (worktree.ChangeOptions, error) {
	rules, err := w.sourceRules(sel, ignored, nil)
	return worktree.ChangeOptions{FS: w.fs, Dir: w.rec.Path, Store: w.store, Rules: rules, Manifest: pair.Source.Manifest}, err
}

// list is what a comparison found; at most MaxStatusFiles are listed.
func (res *StatusResult) list(changes []worktree.Change, count int) {
	for _, c := range changes[:min(len(changes), MaxStatusFiles)] {
		res.Files = append(res.Files, FileChange{Path: c.Path, Change: c.Change})
	}
	res.FileCount, res.FilesKnown = count, true
}

// statusTables compares the running server's counters with the pair's.
func (w *Worktree) statusTables(ctx context.Context, res *StatusResult, pair *storage.Pair) error {
	if res.Server.State != Running.String() || len(pair.Databases) == 0 || len(pair.Databases[0].Counters) == 0 {
		return nil
	}
	counters, err := w.count(ctx)
	if err != nil {
		return err
	}
	tables, err := w.db.Changes(pair.Databases[0].Counters, counters)
	if err != nil {
		return err
	}
	res.RowsKnown = true
	for _, t := range tables {
		res.Tables = append(res.Tables, t)
		res.RowCount += t.Inserted + t.Updated + t.Deleted
	}
	return nil
}

// count asks the running server for its counters.
func (w *Worktree) count(ctx context.Context) (json.RawMessage, error) {
	if c, ok := w.db.(Counter); ok {
		return c.Count(ctx)
	}
	seen, err := w.db.Observe(ctx)
	return seen.Counters, err
}
