package engine

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"forklift/engine/config"
	"forklift/engine/worktree"
	"forklift/storage"
	"forklift/storage/vfs"
)

const (
	// maxTracked bounds the changes that a Tracker keeps; with more every
	// status scans.
	maxTracked = 20_000
	// maxTouched bounds the paths that are looked at one by one.
	maxTouched = 512
)

// Tracker keeps what the last status of a worktree found in its files, for an
// observer that is told which files are touched. It holds nothing that a scan
// would not find. The zero value is ready; it is safe for concurrent use.
type Tracker struct {
	// Follow, if it is set before the first status, is told by a scan of every
	// directory that counts before it is read, and of every repository that is
	// left out: relative paths. Whoever watches them from then on misses nothing.
	Follow func(path string, repository bool)

	mu       sync.Mutex
	key      string // what the changes are against; "" when nothing is known
	changes  []worktree.Change
	ignored  []string
	doubt    bool // git may ignore other files now
	followed bool // the last status made a scan
	once     bool // a scan has told Follow
}

// Doubt says that git may ignore other files now than at the last status: the
// next one asks it again.
func (t *Tracker) Doubt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubt = true
}

// Followed reports whether the last status told Follow all there is.
func (t *Tracker) Followed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.followed
}

// TrackedStatus is Status for whoever keeps watch: touched are the paths,
// relative to the worktree's top, that may have changed since the last call
// with the same tracker; nil means that anything may have.
func (w *Worktree) TrackedStatus(ctx context.Context, t *Tracker, touched []string) (*StatusResult, error) {
	t.mu.Lock()
	t.followed = false
	t.mu.Unlock()
	return w.statusWith(ctx, func(ctx context.Context, res *StatusResult, pair *storage.Pair, sel config.Selection) error {
		return t.files(ctx, w, res, pair, sel, touched)
	})
}

// files finds the changed files by the touched paths where that can be done,
// else by a scan.
func (t *Tracker) files(ctx context.Context, w *Worktree, res *StatusResult, pair *storage.Pair, sel config.Selection, touched []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	key, err := json.Marshal([]any{w.rec.ID, w.rec.Path, pair.Source.Manifest, sel})
	if err != nil {
		return err
	}
	known := touched != nil && t.key == string(key) && len(touched) <= maxTouched
	t.key = ""
	if known && t.doubt {
		now, err := w.ignored(ctx, sel)
		if err != nil {
			return err
		}
		known = sameNames(now, t.ignored)
	}
	if known {
		if known, err = t.recheck(ctx, w, pair, sel, touched); err != nil {
			return err
		}
	}
	count := len(t.changes)
	if !known {
		if count, err = t.scan(ctx, w, pair, sel); err != nil {
			return err
		}
	}
	t.doubt = false
	if count == len(t.changes) {
		t.key = string(key)
	}
	res.list(t.changes, count)
	return nil
}

// scan looks at everything, and gives how many changes there are.
func (t *Tracker) scan(ctx context.Context, w *Worktree, pair *storage.Pair, sel config.Selection) (count int, err error) {
	began := w.host.Clock.Now().Add(-ctimeSteps).UnixNano()
	opt, ignored, err := w.scanOptions(ctx, pair, sel)
	if err != nil {
		return 0, err
	}
	t.ignored, opt.Limit = ignored, maxTracked
	late := false // rules of git's may have changed behind its answer, where nobody watched yet
	if t.Follow != nil {
		opt.Follow = func(p string, info vfs.Info, repository bool) {
			late = late || info.Ctime >= began
			if info.IsDir() {
				t.Follow(p, repository)
			}
		}
	}
	t.changes, count, err = worktree.Changes(ctx, opt)
	if err != nil || t.Follow == nil {
		return count, err
	}
	again := late && !t.once
	t.followed, t.once = true, true
	if again {
		return t.scan(ctx, w, pair, sel)
	}
	return count, nil
}

// ctimeSteps is more than the steps in which file systems count time.
const ctimeSteps = 20 * time.Millisecond

// sameNames compares two lists whatever their order.
func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// recheck looks at the touched paths only; false means that it could not.
func (t *Tracker) recheck(ctx context.Context, w *Worktree, pair *storage.Pair, sel config.Selection, touched []string) (bool, error) {
	if len(touched) == 0 {
		return true, nil
	}
	lookup := func(ctx context.Context, p string) (storage.Entry, bool, error) {
		return w.store.Lookup(ctx, pair.Source.Manifest, p)
	}
	ignored, err := t.ignoredNow(ctx, w, sel, touched, lookup)
	if err != nil {
		return false, err
	}
	opt, err := w.changeOptions(pair, sel, ignored)
	if err != nil {
		return false, err
	}
	list, ok, err := worktree.Recheck(ctx, worktree.RecheckOptions{ChangeOptions: opt, Known: t.changes, Paths: touched, Lookup: lookup})
	if ok && len(list) <= maxTracked {
		t.changes, t.ignored = list, ignored
		return true, err
	}
	return false, err
}

// ignoredNow is what git ignores, with the touched paths asked for again. A
// file that the checkpoint has is not ignored unless rules changed, and those
// are told as a change of everything.
func (t *Tracker) ignoredNow(ctx context.Context, w *Worktree, sel config.Selection, touched []string,
	lookup func(context.Context, string) (storage.Entry, bool, error)) ([]string, error) {
	if sel.Gitignored == config.Include {
		return nil, nil
	}
	var ask []string
	for _, p := range touched {
		e, found, err := lookup(ctx, p)
		if err != nil {
			return nil, err
		}
		if !found || e.Type == storage.Omitted {
			ask = append(ask, p)
		}
	}
	if len(ask) == 0 {
		return t.ignored, nil
	}
	now, err := w.host.Git.Ignored(ctx, w.repo, ask)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(t.ignored), func(p string) bool { return slices.Contains(ask, p) })
	return append(kept, now...), nil
}
