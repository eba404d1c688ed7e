package policy

import (
	"bytes"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// machinePath matches absolute paths that exist on one machine only.
var machinePath = regexp.MustCompile(`(^|[^\w.$}~-])/(home|Users|root|work|workspace|builds|tmp|var/folders)/\w[\w.-]*`)

// invented matches paths that tests make up as examples.
var invented = regexp.MustCompile(`^.?/(home|Users)/(u|user|someone|me)\b`)

// machinePathExceptions are files that name such a path on purpose.
var machinePathExceptions = map[string]string{
	"engine/postgres/places.go":  "Homebrew has a fixed place on Linux",
	"engine/postgres/options.go": "the last resort for sockets, which need a short name",
	"engine/postgres/socket.go":  "the last resort for sockets, which need a short name",
}

func TestNoPathOfTheBuildMachine(t *testing.T) {
	for _, name := range files() {
		text := readText(t, name)
		if text == nil || machinePathExceptions[name] != "" {
			continue
		}
		if len(top()) > len("/src/x") && bytes.Contains(text, []byte(top()+"/")) {
			t.Errorf("%s: names the directory that it was built in", name)
		}
		for i, line := range strings.Split(string(text), "\n") {
			m := strings.TrimSpace(machinePath.FindString(line))
			if strings.HasSuffix(name, "_test.go") && invented.MatchString(m) {
				continue
			}
			if m != "" {
				t.Errorf("%s:%d: an absolute path of one machine: %s", name, i+1, m)
			}
		}
	}
}

// registry matches addresses of package registries. Which registry serves a
// package is the matter of the machine that asks.
var registry = regexp.MustCompile(`(?i)registry\.[a-z0-9-]+\.[a-z]+|registry\s*=|proxy\.golang\.org|sum\.golang\.org|deb\.debian\.org|"resolved"\s*:`)

func TestNoRegistryAddress(t *testing.T) {
	for _, name := range files() {
		if under(name, "testsuite/policy") {
			continue // the patterns themselves
		}
		for i, line := range strings.Split(string(readText(t, name)), "\n") {
			if m := registry.FindString(line); m != "" {
				t.Errorf("%s:%d: a registry's address: %s", name, i+1, m)
			}
		}
	}
}

// unfinished matches marks of work left undone.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

func TestNothingIsLeftUndone(t *testing.T) {
	for _, name := range files() {
		if under(name, "testsuite/policy") {
			continue // the pattern itself
		}
		for i, line := range strings.Split(string(readText(t, name)), "\n") {
			if m := unfinished.FindString(line); m != "" {
				t.Errorf("%s:%d: %s: do it, or say in plain words what is not done and why", name, i+1, m)
			}
		}
	}
}

// skips matches calls that skip a test.
var skips = regexp.MustCompile(`\b[tb]\.(Skip|Skipf|SkipNow)\(`)

// maySkip are the files that skip where a machine lacks what they need.
// .ci/run fails if one of them does.
var maySkip = map[string]string{
	"storage/vfs/conformance_test.go":       "a file system without extended attributes has nothing to test",
	"testsuite/torture/power_linux_test.go": "only root can mount file systems, and not where there are no loop devices",
}

func TestSkipsAreListed(t *testing.T) {
	for _, f := range goFiles() {
		if f.test && maySkip[f.path] == "" && !under(f.dir, "testsuite/policy") && skips.Match(f.text) {
			t.Errorf("%s: skips a test: list it here with the reason, or make it run everywhere", f.path)
		}
	}
}

// textNames are endings of files that are plain text and end with a newline.
var textNames = []string{".go", ".md", ".sh", ".txtar", ".sql", ".json", ".toml", ".mod", ".sum", ".ts", ".lua"}

func TestTextFilesAreTidy(t *testing.T) {
	for _, name := range files() {
		text := readText(t, name)
		if len(text) == 0 || filepath.Base(name) == "LICENSE" {
			continue
		}
		for _, ending := range textNames {
			if path.Ext(name) == ending && text[len(text)-1] != '\n' {
				t.Errorf("%s: the last line has no end", name)
			}
		}
		if bytes.Contains(text, []byte("\r\n")) {
			t.Errorf("%s: lines end with CR LF", name)
		}
	}
}
