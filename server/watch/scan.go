package watch

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
)

// following is what has been named since begin.
type following struct {
	want  map[string]bool // directories that stay watched
	dirs  map[string]bool // as in Watcher
	rules map[string]bool
}

// begin takes a new target. Those directories that tell about everything else
// come first, should watches run out.
func (w *Watcher) begin(t Target) {
	if w.stale || w.target.Root != t.Root || w.target.Records != t.Records {
		// The same name may be another directory now.
		w.forget(func(string) bool { return true })
		w.dirs, w.rules, w.stale = map[string]bool{}, map[string]bool{}, false
	}
	w.target = t
	w.next = &following{want: map[string]bool{}, dirs: map[string]bool{}, rules: map[string]bool{}}
	for _, dir := range []string{t.Records, t.Holders, t.GitDir, t.Root, t.Trust} {
		if dir != "" {
			w.need(dir)
		}
	}
	if _, err := os.Lstat(t.Trust); err != nil && t.Trust != "" {
		w.need(filepath.Dir(t.Trust)) // its coming is noticed there
	}
	for _, dir := range t.Dirs {
		w.follow(dir)
	}
	w.settings = map[string]bool{}
	w.files(t)
}

// files watches the files of a target that say what else counts.
func (w *Watcher) files(t Target) {
	for _, rule := range t.Rules {
		w.followRule(rule)
	}
	for _, name := range t.Settings {
		w.settings[name] = true
		w.need(filepath.Dir(name))
	}
}

// need watches a directory until the next end.
func (w *Watcher) need(dir string) {
	if w.next != nil {
		w.next.want[dir] = true
	}
	w.watch(dir)
}

// follow watches a directory with files that count.
func (w *Watcher) follow(rel string) {
	dir := filepath.Join(w.target.Root, rel)
	w.dirs[dir] = true
	if w.next != nil {
		w.next.dirs[dir] = true
	}
	w.need(dir)
}

// followRule watches a file that says what directories count.
func (w *Watcher) followRule(rule string) {
	if !filepath.IsAbs(rule) {
		rule = filepath.Join(w.target.Root, rule)
	}
	w.rules[rule] = true
	if w.next != nil {
		w.next.rules[rule] = true
	}
	w.need(filepath.Dir(rule))
}

// end takes the watches off what was not named since begin.
func (w *Watcher) end() {
	if w.next == nil {
		return
	}
	next := w.next
	w.next = nil
	w.dirs, w.rules = next.dirs, next.rules
	w.forget(func(dir string) bool { return !next.want[dir] })
}

// forget takes the watches off the directories that gone picks.
func (w *Watcher) forget(gone func(dir string) bool) {
	for dir := range w.watched {
		if gone(dir) {
			_ = w.fs.Remove(dir) // it may have vanished
			delete(w.watched, dir)
		}
	}
	for dir := range w.scanned {
		if gone(dir) {
			delete(w.scanned, dir)
		}
	}
}

// watch makes sure that a directory is watched, or scanned. One that is not
// there is scanned, so that its coming is noticed.
func (w *Watcher) watch(dir string) {
	if w.watched[dir] {
		return
	}
	if w.fs != nil && len(w.watched) < w.opt.Limit {
		err := w.fs.Add(dir)
		if err == nil {
			w.watched[dir] = true
			delete(w.scanned, dir)
			return
		}
		w.opt.Log.Debug("no watch; scanning instead", "dir", dir, "error", err)
	}
	if _, ok := w.scanned[dir]; !ok {
		w.scanned[dir] = look(dir)
	}
}

// scan looks at what has no watch, and reports that something changed.
func (w *Watcher) scan() bool {
	changed := false
	for dir, before := range w.scanned {
		now := look(dir)
		if now != before {
			w.scanned[dir] = now
			changed = true
		}
	}
	return changed
}

// look is a directory's content as one text: it changes when an entry comes,
// goes or is written to.
func look(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "unreadable"
	}
	sum := fnv.New128a()
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // it has vanished
		}
		fmt.Fprintf(sum, "%s\x00%d %d %d\x00", e.Name(), info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return strconv.Itoa(len(entries)) + string(sum.Sum(nil))
}
