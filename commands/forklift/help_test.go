package main

import (
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	w := newWorld(t)
	names := []string{"", "db", "seed", "postgres", "project", "help"}
	for _, v := range w.verbs() {
		names = append(names, v.Name)
	}
	for _, name := range names {
		code, out, stderr := forklift(t, append(strings.Fields(name), "--help")...)
		if code != 0 || stderr != "" {
			t.Errorf("%s --help: exit code %d, %q", name, code, stderr)
		}
		file := strings.ReplaceAll(name, " ", "_")
		if file == "" {
			file = "forklift"
		}
		golden(t, "help/"+file+".txt", out)
		for _, line := range strings.Split(out, "\n") {
			if len(line) > textWidth || strings.TrimRight(line, " ") != line {
				t.Errorf("%s --help: a line is too long or ends with spaces: %q", name, line)
			}
		}
		// The two other ways to ask, and the verb's other spelling.
		_, other, _ := forklift(t, append([]string{"help"}, strings.Fields(name)...)...)
		if name != "help" && other != out {
			t.Errorf("help %s prints something else:\n%s", name, other)
		}
	}
	_, bare, _ := forklift(t)
	_, help, _ := forklift(t, "--help")
	if bare != help {
		t.Errorf("without arguments it prints something else:\n%s", bare)
	}
	_, plain, _ := forklift(t, "capture", "--help")
	if _, spelled, _ := forklift(t, "project", "capture", "--help"); spelled != plain {
		t.Errorf("project capture --help prints something else:\n%s", spelled)
	}
}

func TestEveryWorktreeVerbHasItsOtherSpelling(t *testing.T) {
	_, out, _ := forklift(t, "project", "--help")
	for _, v := range newWorld(t).verbs() {
		word := strings.Fields(v.Name)[0]
		if has := strings.Contains(out, "\n  "+word+" "); has != v.Worktree {
			t.Errorf("project %s: there %v, want %v", v.Name, has, v.Worktree)
		}
	}
	w := newWorld(t)
	if code := w.main([]string{"project", "db", "stop", "--disconnect"}); code != 0 {
		t.Fatalf("exit code %d: %s", code, &w.stderr)
	}
	if calls := w.engine.Calls(); calls[len(calls)-1] != "stop {Wait:0s Disconnect:true UnsavedDisk:false}" {
		t.Errorf("project db stop: %v", calls)
	}
}
