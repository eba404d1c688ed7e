package watch

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"forklift/engine/config"
	"forklift/storage/clock"

	"github.com/fsnotify/fsnotify"
)

// The times of gathering. Together with what a status takes they must stay
// below 300 ms.
const (
	quiet = 20 * time.Millisecond  // no event for so long ends an Event
	most  = 100 * time.Millisecond // an Event is told at the latest after this
)

// ScanEvery is how often directories without a watch are looked at.
const ScanEvery = 2 * time.Second

// scanShare bounds the time of scanning: at most one part in so many.
const scanShare = 20

// maxWatches bounds the watches of one worktree; further directories are
// scanned.
const maxWatches = 200_000

// linkFile is what setup makes and teardown removes in a git directory.
const linkFile = "forklift.json"

// indexFile is where git keeps what it tracks, in a git directory.
const indexFile = "index"

// Target is what is watched. Paths are absolute; those that are "" are not.
type Target struct {
	Root    string   // the worktree's top
	GitDir  string   // of the worktree
	Records string   // the directory of the worktree's records
	Holders string   // the directory of the managed commands' files
	Trust   string   // the directory of the user's approvals, which may not be there yet
	Dirs    []string // relative to Root
	Rules   []string // absolute or relative to Root: files that say what Dirs are, in whatever directory
	// Settings are files, absolute, that may say that Rules are others.
	Settings []string
}

// Event says where something may have changed.
type Event struct {
	Files   bool // among the files of Dirs
	Dirs    bool // the directories themselves may be others: Set is to be called
	Records bool // the worktree's records or its commands
	Link    bool // it was set up, torn down, moved or removed
	Index   bool // what git tracks, so that it may ignore other files
	// Settings: git's settings, so that it may ignore other files, and Rules may
	// be others: Extend is to be called.
	Settings bool
	// Paths are the files, relative to Root, when nothing else may have
	// changed among the files; nil means that anything may have. They are told
	// only of directories that the system watches: one that is scanned tells of
	// everything.
	Paths []string
}

// maxPaths bounds the paths of an event; with more, anything may have changed.
const maxPaths = 512

// None reports an event that tells of nothing.
func (e Event) None() bool {
	return !e.Files && !e.Dirs && !e.Records && !e.Link && !e.Index && !e.Settings
}

// Add merges another event.
func (e *Event) Add(more Event) {
	switch {
	case !more.Files:
	case !e.Files:
		e.Paths = slices.Clone(more.Paths)
	case e.Paths == nil || more.Paths == nil || len(e.Paths)+len(more.Paths) > maxPaths:
		e.Paths = nil
	default:
		for _, p := range more.Paths {
			if !slices.Contains(e.Paths, p) {
				e.Paths = append(e.Paths, p)
			}
		}
	}
	e.Files = e.Files || more.Files
	e.Dirs = e.Dirs || more.Dirs
	e.Records = e.Records || more.Records
	e.Link = e.Link || more.Link
	e.Index = e.Index || more.Index
	e.Settings = e.Settings || more.Settings
}

// everything is the event after which nothing is known.
var everything = Event{Files: true, Dirs: true, Records: true, Link: true}

// Options are the settings of a Watcher.
type Options struct {
	Log   *slog.Logger // nil: nowhere
	Clock clock.Clock  // required
	// Limit is how many watches there may be; 0 is many. Tests use it to run
	// out of them.
	Limit int
	// Every is how often what has no watch is scanned; 0 is ScanEvery.
	Every time.Duration
}

// Watcher watches one worktree. Its methods may be called from any goroutine.
type Watcher struct {
	opt    Options
	calls  chan func() // for run
	out    chan Event
	quit   chan struct{}
	ended  chan struct{}
	closed sync.Once

	// Owned by run.
	fs     *fsnotify.Watcher // nil: the system gives none
	target Target
	dirs   map[string]bool // absolute directories of the target's Dirs
	rules  map[string]bool // absolute paths of the target's Rules
	// settings are the target's Settings.
	settings map[string]bool
	watched  map[string]bool   // absolute directories that have a watch
	scanned  map[string]string // those that have none, with what was seen last
	next     *following        // what stays at End; nil when nobody has begun
	// stale: the watches may be of other directories than their names say, so
	// that the next target gets new ones. A watch stays with a directory that
	// is moved, below it too, under the old name, and a new one by the new name
	// is not made as long as the old one is there.
	stale bool
}

// New starts a watcher that watches nothing yet. It always succeeds: without
// watches of the system everything is scanned.
func New(opt Options) *Watcher {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Limit <= 0 {
		opt.Limit = maxWatches
	}
	if opt.Every <= 0 {
		opt.Every = ScanEvery
	}
	w := &Watcher{
		opt: opt, calls: make(chan func()), out: make(chan Event),
		quit: make(chan struct{}), ended: make(chan struct{}),
		dirs: map[string]bool{}, rules: map[string]bool{}, settings: map[string]bool{}, watched: map[string]bool{}, scanned: map[string]string{},
	}
	var err error
	if w.fs, err = fsnotify.NewWatcher(); err != nil {
		opt.Log.Warn("no file system events, scanning instead", "error", err)
	}
	go w.run()
	return w
}

// Set replaces what is watched. Of every change after it returns an event is
// told.
func (w *Watcher) Set(t Target) {
	w.call(func() { w.begin(t); w.end() })
}

// Begin begins to replace what is watched, for one who finds out what there is
// while he reads it: t is watched from now on, and so is what was watched before,
// until End. A Set or a Begin in between begins anew.
func (w *Watcher) Begin(t Target) { w.call(func() { w.begin(t) }) }

// Follow watches one more directory, relative to the target's Root; with rule
// one more file that says what Dirs are. Of every change after it returns an
// event is told. Without a Begin it counts until the next one.
func (w *Watcher) Follow(path string, rule bool) {
	w.call(func() {
		if rule {
			w.followRule(path)
		} else {
			w.follow(path)
		}
	})
}

// Extend watches the Rules and Settings of a target too, until the next Set or
// Begin.
func (w *Watcher) Extend(t Target) { w.call(func() { w.files(t) }) }

// End lets go of what neither Begin nor Follow have named.
func (w *Watcher) End() { w.call(w.end) }

// call has run call f, and waits for it.
func (w *Watcher) call(f func()) {
	done := make(chan struct{})
	select {
	case w.calls <- func() { f(); close(done) }:
		<-done
	case <-w.ended:
	}
}

// Events gives the events. One that was not taken yet grows.
func (w *Watcher) Events() <-chan Event { return w.out }

// Close ends the watcher; no event follows.
func (w *Watcher) Close() {
	w.closed.Do(func() { close(w.quit) })
	<-w.ended
}

// run gathers events until Close.
func (w *Watcher) run() {
	defer close(w.ended)
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.fs != nil {
		defer w.fs.Close()
		events, errs = w.fs.Events, w.fs.Errors
	}
	g := newGathering()
	defer g.stop()
	scan := time.NewTimer(w.opt.Every)
	defer scan.Stop()
	for {
		select {
		case <-w.quit:
			return
		case f := <-w.calls:
			f()
		case e := <-events:
			what := w.classify(e)
			what.Settings = w.settings[filepath.Clean(e.Name)]
			g.add(what)
		case err := <-errs:
			w.opt.Log.Warn("file system events were lost; looking at everything", "error", err)
			w.stale = true
			g.add(everything)
		case <-scan.C:
			began := w.opt.Clock.Now()
			if w.scan() {
				g.add(everything)
			}
			scan.Reset(max(w.opt.Every, scanShare*w.opt.Clock.Now().Sub(began)))
		case <-g.due(g.quiet):
			g.ready = true
		case <-g.due(g.most):
			g.ready = true
		case g.output(w.out) <- g.event:
			g.clear()
		}
	}
}

// classify says what a file system event means, and keeps watch over new
// directories.
func (w *Watcher) classify(e fsnotify.Event) Event {
	name := filepath.Clean(e.Name)
	dir, base := filepath.Dir(name), filepath.Base(name)
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	if gone {
		w.stale = w.stale || e.Has(fsnotify.Rename) && (w.watched[name] || w.dirs[name])
		delete(w.watched, name) // the system has dropped the watch, if there was one
	}
	t := w.target
	switch {
	case name == t.Root && gone:
		return everything
	case name == t.Records, name == t.Holders, dir == t.Holders && t.Holders != "":
		return Event{Records: true}
	case dir == t.Records && t.Records != "":
		return Event{Records: !strings.HasPrefix(base, "stat-cache")}
	case name == t.Trust:
		return Event{Records: true, Dirs: true} // approvals can come from now on
	case dir == t.Trust && t.Trust != "":
		return Event{Records: true}
	case dir == t.GitDir && t.GitDir != "":
		return Event{Link: base == linkFile, Index: base == indexFile}
	case dir == t.Root && base == ".git":
		return Event{Link: true}
	case dir == t.Root && strings.HasPrefix(base, config.StagingPrefix):
		return Event{}
	case !w.dirs[dir] && w.rules[name]:
		return Event{Files: true, Dirs: true}
	case !w.dirs[dir]:
		return Event{} // of a directory that does not count any more
	}
	return w.classifyFile(e, name, base, gone)
}

// classifyFile is classify for what is in one of the target's directories.
func (w *Watcher) classifyFile(e fsnotify.Event, name, base string, gone bool) Event {
	event := Event{Files: true}
	if rel, err := filepath.Rel(w.target.Root, name); err == nil {
		event.Paths = []string{filepath.ToSlash(rel)}
	}
	if w.rules[name] || base == ".gitignore" || (gone && w.dirs[name]) {
		event.Dirs = true
	}
	if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(name); err == nil && info.IsDir() {
			// Until Set was called with the new Dirs, at once: what is made in
			// it meanwhile must be told.
			w.dirs[name] = true
			w.watch(name)
			event.Dirs = true
		}
	}
	return event
}
