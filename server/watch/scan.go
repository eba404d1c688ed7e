package watch

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
)

// replace watches a new target: what is not in it any more loses its watch.
func (w *Watcher) replace(t Target) {
	want := map[string]bool{}
	w.dirs = map[string]bool{}
	for _, rel := range t.Dirs {
		dir := filepath.Join(t.Root, rel)
		want[dir], w.dirs[dir] = true, true
	}
	for _, dir := range []string{t.Root, t.GitDir, t.Records, t.Holders} {
		if dir != "" {
			want[dir] = true
		}
	}
	if w.stale || w.target.Root != t.Root || w.target.Records != t.Records {
		// The same name may be another directory now.
		w.forget(func(string) bool { return true })
		w.stale = false
	}
	w.target = t
	w.forget(func(dir string) bool { return !want[dir] })
	// Those that tell about everything else come first, should watches run out.
	for _, dir := range []string{t.Records, t.Holders, t.GitDir, t.Root} {
		if dir != "" {
			w.watch(dir)
		}
	}
	for _, rel := range t.Dirs {
		w.watch(filepath.Join(t.Root, rel))
	}
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
