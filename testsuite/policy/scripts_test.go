package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// topics are the words that the name of a script may begin with: the verbs,
// and a few things that concern all of them.
var topics = []string{
	"setup", "trust", "run", "teardown", "seed", "capture", "restore", "undo", "redo", "list", "show", "status", "log",
	"recover", "env", "db", "postgres", "version", "completion", "bad", "git", "demo",
	"forget", "prune", "du", "check", "repair", "rename", "note", "protect",
}

// scriptName is the form of a script's name.
var scriptName = regexp.MustCompile(`^([a-z]+)(_[a-z0-9]+)*\.txtar$`)

func TestScriptsAreNamedAfterVerbsAndCheckEverything(t *testing.T) {
	count := 0
	for _, name := range files() {
		if path.Dir(name) != "testsuite/scripts" {
			continue
		}
		count++
		m := scriptName.FindStringSubmatch(path.Base(name))
		if m == nil || !slices.Contains(topics, m[1]) {
			t.Errorf("%s: a script is named VERB_topic.txtar", name)
		}
		script, _, _ := strings.Cut(string(readText(t, name)), "\n-- ")
		lines := strings.Split(script, "\n")
		if !strings.HasPrefix(lines[0], "# ") {
			t.Errorf("%s: the first line says what the script is about", name)
		}
		for i, line := range lines {
			if strings.HasPrefix(line, "exits ") && (i+1 == len(lines) || !checks.MatchString(lines[i+1])) {
				t.Errorf("%s:%d: the line after `exits` looks at stderr, or at the JSON error", name, i+1)
			}
		}
	}
	if count == 0 {
		t.Error("no scripts")
	}
}

// checks matches a line that looks at what a failed command said.
var checks = regexp.MustCompile(`^(! )?(stderr|stdout|json) `)
