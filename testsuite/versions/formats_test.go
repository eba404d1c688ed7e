package versions

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// formatNumber is where a record, a marker or a configuration says its format.
var formatNumber = regexp.MustCompile(`("format": ?|format = |^forklift store )(\d+)`)

// readers are the verbs that have to read a record, by its kind.
var readers = map[string][][]string{
	"format":         {{"status"}, {"capture", "never"}, {"restore", "one"}, {"undo"}, {"run", "--", "true"}, {"list"}, {"setup", "--yes"}},
	"worktree.json":  {{"status"}, {"capture", "never"}, {"restore", "one"}, {"undo"}, {"run", "--", "true"}},
	"current.json":   {{"status"}, {"capture", "never"}, {"restore", "one"}, {"undo"}, {"run", "--", "true"}},
	"slot-a.json":    {{"capture", "never"}, {"restore", "one"}, {"undo"}},
	"slot-b.json":    {{"capture", "never"}, {"restore", "one"}, {"undo"}},
	"operations.log": {{"log"}, {"undo"}},
	"pair":           {{"show", "one"}, {"restore", "one"}},
	"name":           {{"show", "one"}, {"restore", "one"}, {"capture", "one"}},
	"forklift.toml":  {{"status"}, {"capture", "never"}, {"restore", "one"}, {"run", "--", "true"}},
	"forklift.json":  {{"status"}, {"capture", "never"}, {"restore", "one"}, {"run", "--", "true"}},
	".forklift.json": {{"capture", "never"}, {"restore", "one"}, {"run", "anything"}},
}

// TestNewerFormatsAreRefused makes each record say that a newer Forklift has
// written it, one after the other: every verb that has to read it refuses, says
// why, and leaves it as it is.
func TestNewerFormatsAreRefused(t *testing.T) {
	w := newWorld(t, server(t, new17))
	rewinds(t, w, "one")
	w.forklift("db", "stop")
	var found []string
	for _, dir := range []string{filepath.Join(w.Root, "w", "home", "data"), w.Repo} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.Contains(name, "/branches/") {
				found = append(found, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tried := map[string]bool{}
	for _, name := range found {
		if kind := kindOf(t, name); kind != "" {
			tried[kind] = true
			w.newer(name, kind)
		}
	}
	for kind := range readers {
		if !tried[kind] {
			t.Errorf("no %s was tried", kind)
		}
	}
	if got := w.sql("SELECT string_agg(v, ',' ORDER BY v) FROM t"); got != "a,b,c" {
		t.Errorf("at last %s, want a,b,c", got)
	}
	w.forklift("restore", "one")
	w.forklift("teardown", "--yes")
}

// kindOf names the record that a file is, or ""; of pairs and names only those
// of the checkpoint one.
func kindOf(t *testing.T, name string) string {
	t.Helper()
	base := filepath.Base(name)
	switch {
	case strings.Contains(name, "/pairs/"):
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"name":"one"`) {
			return "pair"
		}
		return ""
	case strings.Contains(name, "/names/"):
		if strings.Contains(base, "one") {
			return "name"
		}
		return ""
	case readers[base] != nil:
		return base
	}
	return ""
}

// newer gives one record a format of the future, and takes that back.
func (w *world) newer(name, kind string) {
	w.t.Helper()
	before, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	at := formatNumber.FindSubmatchIndex(before)
	if at == nil {
		w.t.Fatalf("%s says no format: %.200s", name, before)
	}
	future := bytes.Join([][]byte{before[:at[4]], before[at[5]:]}, []byte("99"))
	if err := os.WriteFile(name, future, 0o600); err != nil {
		w.t.Fatal(err)
	}
	for _, args := range readers[kind] {
		r := w.Exec(w.t, deadline, nil, "forklift", args...)
		said := r.Stderr + r.Stdout // status lists what it could not find out
		if r.Code != 9 && (r.Code != 125 || args[0] != "run") && (r.Code != 0 || args[0] != "status") || !strings.Contains(said, "99") || !strings.Contains(said, "newer") {
			w.t.Errorf("%s of the future: forklift %v: %v", kind, args, r)
		}
		if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, future) {
			w.t.Fatalf("%s of the future was changed by forklift %v: %v\n%s", kind, args, err, now)
		}
	}
	if err := os.WriteFile(name, before, 0o600); err != nil {
		w.t.Fatal(err)
	}
}
