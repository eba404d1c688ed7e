package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"forklift/engine/config"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/fault"
	"forklift/storage/record"
)

// The caches of what scans remember.
const memoryOfSources = "stat-cache-sources"

func memoryOfSlot(s Slot, tree string) string { return "stat-cache-" + string(s) + "-" + tree }

// loadMemory gives nil when there is none that can be believed.
func (w *Worktree) loadMemory(name string) *storage.Memory {
	return w.store.LoadMemory(w.file(name), w.boot())
}

// saveMemory keeps a cache; losing it only costs time.
func (w *Worktree) saveMemory(name string, m *storage.Memory) {
	_ = w.store.SaveMemory(w.file(name), w.boot(), m)
}

// ignored is what git ignores among the selected paths, unless it is to be captured.
func (w *Worktree) ignored(ctx context.Context, sel config.Selection) ([]string, error) {
	if sel.Gitignored == config.Include {
		return nil, nil
	}
	return w.host.Git.Ignored(ctx, w.repo, sel.Source)
}

func (w *Worktree) sourceRules(sel config.Selection, ignored, extra []string) (storage.Rules, error) {
	return worktree.Rules(worktree.RuleOptions{FS: w.fs, Selection: sel, Ignored: ignored, Extra: extra,
		Exclude: []string{w.store.Dir()}, Dir: w.rec.Path})
}

// stageOptions are what every way of staging has in common.
func (w *Worktree) stageOptions(operation string, only []string, saved, target storage.SourceState) worktree.StageOptions {
	return worktree.StageOptions{FS: w.fs, Dir: w.rec.Path, Store: w.store, Clock: w.host.Clock, Operation: operation,
		Saved: saved, Target: target, Only: only,
		Git: sourceGit{w}}
}

// sourceGit is git for the plan of a restore.
type sourceGit struct{ w *Worktree }

func (g sourceGit) Ignored(ctx context.Context, paths []string) ([]string, error) {
	return g.w.host.Git.Ignored(ctx, g.w.repo, paths)
}

func (g sourceGit) Excludes(ctx context.Context) ([]string, error) {
	return g.w.host.Git.Excludes(ctx, g.w.repo)
}

func (g sourceGit) Tracked(ctx context.Context, paths []string) ([]string, error) {
	return g.w.host.Git.TrackedIn(ctx, g.w.repo, paths)
}

// stage prepares the install of an operation's part of target over saved,
// before the switch.
func (w *Worktree) stage(ctx context.Context, j *journal, safety, target *storage.Pair) (*worktree.Install, error) {
	saved, wanted := j.sources(safety, target)
	return worktree.Stage(ctx, w.stageOptions(j.Operation, j.only(), saved, wanted))
}

// reopenStaging finds the staged install of an operation behind its switch,
// or stages it again from the store. back is the way back to the safety pair.
func (w *Worktree) reopenStaging(ctx context.Context, j *journal, back bool, safety, target *storage.Pair) (*worktree.Install, error) {
	install, err := worktree.OpenInstall(ctx, w.fs, w.rec.Path, w.store, w.host.Clock, j.Operation, back)
	if err != nil || install != nil {
		return install, err
	}
	saved, wanted := j.sources(safety, target)
	if back {
		saved, wanted = wanted, saved
	}
	opt := w.stageOptions(j.Operation, j.only(), saved, wanted)
	opt.Switched, opt.Back = true, back
	return worktree.Stage(ctx, opt)
}

// removeStaging removes what an operation that never switched has staged.
func (w *Worktree) removeStaging(ctx context.Context, operation string) error {
	return worktree.RemoveStaging(ctx, w.fs, w.rec.Path, operation)
}

// sweepStaging removes the staging directories that a kill behind the end of
// an operation left, if everything in them is in some checkpoint; the others
// it reports. No journal is present.
func (w *Worktree) sweepStaging(ctx context.Context) (warnings []string, err error) {
	left, err := worktree.Leftovers(ctx, w.fs, w.rec.Path)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	pairs, err := w.store.Pairs(ctx, w.rec.Project)
	if err != nil {
		return nil, err
	}
	var manifests []storage.ID
	for _, p := range pairs {
		if !p.Source.Manifest.IsZero() {
			manifests = append(manifests, p.Source.Manifest)
		}
	}
	for _, name := range left {
		ok, unknown, err := worktree.Disposable(ctx, w.fs, w.rec.Path, w.store, name, manifests)
		if err != nil {
			return nil, err
		}
		if !ok {
			warnings = append(warnings, fmt.Sprintf("%s is left of an earlier restore and holds files that are in no checkpoint (%s): move away what you need and remove it",
				name, strings.Join(unknown, ", ")))
			continue
		}
		if err := worktree.Discard(ctx, w.fs, w.rec.Path, name); err != nil {
			return nil, err
		}
	}
	return warnings, nil
}

// publishRescue keeps the files that somebody edited while a restore
// installed others over them, as a checkpoint of their own. It is named
// after the operation, so that a second run finds it.
func (w *Worktree) publishRescue(ctx context.Context, op *operation, install *worktree.Install, found []worktree.Rescue) (*rescued, error) {
	writer, err := w.store.NewWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer writer.Abort()
	now := w.host.Clock.Now()
	res := &rescued{Pair: &storage.Pair{ID: storage.NewPairID(now), Project: w.rec.Project, Worktree: w.rec.ID,
		Name: "rescue-" + op.j.Operation, Kind: storage.Rescue, Created: now, Actor: w.host.Actor,
		Reason: "edited while a " + op.j.Verb + " was under way", Parents: []storage.PairID{op.j.Pair}}}
	src := &res.Pair.Source
	for _, f := range found {
		if f.Unsaved != "" {
			res.paths = append(res.paths, f.Path+" ("+f.Unsaved+", kept in "+f.Staged+")")
			continue
		}
		res.paths = append(res.paths, f.Path)
		src.Paths = append(src.Paths, f.Saved)
	}
	if src.Manifest, src.Files, src.Bytes, err = install.Rescues(ctx, writer); err != nil {
		return nil, err
	}
	if src.Manifest.IsZero() { // nothing of it can be in a checkpoint
		res.Pair.Name = ""
		return res, nil
	}
	res.Pair.LogicalBytes = src.Bytes
	if err := writer.Commit(ctx); err != nil {
		return nil, err
	}
	if done, err := w.sameRescue(ctx, res); err != nil || done {
		return res, err
	}
	res.Pair.AddedBytes = writer.AddedBytes()
	if err := w.store.PutPair(ctx, res.Pair); err != nil {
		return nil, err
	}
	return res, w.store.SetName(ctx, w.rec.Project, w.rec.ID, storage.Rescue, res.Name, res.Pair.ID)
}

// sameRescue finds the rescue checkpoint that a run before this one made of
// the same files, or gives this one a name that is free: a second run may
// have found more.
func (w *Worktree) sameRescue(ctx context.Context, res *rescued) (bool, error) {
	for base, n := res.Name, 2; ; n++ {
		id, err := w.store.Name(ctx, w.rec.Project, w.rec.ID, storage.Rescue, res.Name)
		if fault.KindOf(err) == fault.NotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		p, err := w.store.Pair(ctx, w.rec.Project, id)
		if err != nil {
			return false, err
		}
		if p.Source.Manifest == res.Source.Manifest {
			res.Pair = p
			return true, nil
		}
		res.Name = fmt.Sprintf("%s-%d", base, n)
	}
}

// lastObservation is what the server told about its tables when it was
// stopped idle; it was not started since.
func (w *Worktree) lastObservation(slot Slot) (Observation, bool) {
	var o observed
	err := record.Read(w.fs, w.file(observedFile), "observed", recordFormat, &o)
	return o.Observation, err == nil && o.Slot == slot
}

// inheritedObservation is what the pair that the worktree rests on has of its
// tables, if trees are that pair's: no server ran since it was restored, so
// nothing else can be asked. Not to know it is no reason to fail.
func (w *Worktree) inheritedObservation(ctx context.Context, trees []storage.TreeState) Observation {
	_, pair, err := w.currentPair(ctx)
	if err != nil || pair == nil || len(pair.Databases) != 1 || len(pair.Databases[0].Trees) != len(trees) {
		return Observation{}
	}
	of := pair.Databases[0]
	for i, t := range of.Trees {
		if t.Name != trees[i].Name || t.Manifest != trees[i].Manifest {
			return Observation{}
		}
	}
	return Observation{Tables: of.Tables, Counters: of.Counters}
}

// missingSources are those of a list of source paths that are not there.
func (w *Worktree) missingSources(list []string) []string {
	var missing []string
	for _, s := range list {
		if _, err := w.fs.Lstat(path.Join(w.rec.Path, s)); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, s)
		}
	}
	return missing
}
