package gitignore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRules(t *testing.T) {
	cases := []struct {
		lines string
		path  string
		want  bool
	}{
		{"*.log", "a.log", true}, {"*.log", "d/a.log", true}, {"*.log", "a.log.txt", false},
		{"/a", "a", true}, {"/a", "d/a", false}, {"d/a", "d/a", true}, {"d/a", "x/d/a", false},
		{"d/", "d/", true}, {"d/", "d", false}, {"d/", "x/d/y", true},
		{"*.log\n!keep.log", "keep.log", false}, {"!keep.log\n*.log", "keep.log", true},
		{"d/\n!d/keep", "d/keep", true}, // a directory that is excluded is not looked into
		{"d/*\n!d/keep", "d/keep", false},
		{"a/**", "a/", false}, {"a/**", "a/b", true}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true}, {"**/b", "b", true},
		{"[!a]x", "bx", true}, {"[!a]x", "ax", false}, {"[^a]x", "bx", true}, {"[[:digit:]]", "7", true}, {"a[]-]b", "a]b", true}, {"a[]-]b", "a-b", true},
		{"[a-c]", "b", true}, {"[a\\-c]", "b", false}, {"[a", "[a", false}, {"[[:nope:]]", "n", false},
		{"# x", "# x", false}, {"\\# x", "# x", true}, {"\\!x", "!x", true}, {"", "", false},
		{"a ", "a", true}, {"a ", "a ", false}, {"a\\ ", "a ", true}, {"a\r", "a", true},
		{"a\\*b", "a*b", true}, {"a\\*b", "axb", false}, {"x**y", "xaby", true}, {"x**/y", "x/a/y", true}, {"/x**/y", "xa/b/y", true}, {"x**/y", "xy", true}, {"x**/y", "a/xy", false},
		{"[x]**/y", "xa/y", true}, {"[x]**/y", "x/a/y", false}, {"-**/[^b] ", "-*", true},
		{"a?c", "a/c", false}, {"*/foo", "x/foo", true}, {"*/foo", "x/y/foo", false}, {"\xff*", "\xffz", true}, {"a\\", "a", false},
	}
	for _, c := range cases {
		path, dir := strings.CutSuffix(c.path, "/")
		if got := New(strings.Split(c.lines, "\n")).Excluded(path, dir); got != c.want {
			t.Errorf("%q %q: %v, want %v", c.lines, c.path, got, c.want)
		}
	}
}

// TestAgreesWithGit compares random patterns and paths with git check-ignore.
func TestAgreesWithGit(t *testing.T) {
	seed := uint64(os.Getpid())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for round := range 60 {
		var lines []string
		for range 1 + rng.IntN(3) {
			lines = append(lines, randomPattern(rng))
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for range 200 {
			paths = append(paths, randomPath(rng))
		}
		compare(t, fmt.Sprintf("round %d", round), dir, lines, paths)
	}
}

// compare asks git about paths; those with a slash at the end, and what leads
// to them, are made as directories first, the others need not exist.
func compare(t *testing.T, what, dir string, lines, paths []string) {
	t.Helper()
	var in bytes.Buffer
	for i, p := range paths {
		if path, ok := strings.CutSuffix(p, "/"); ok {
			if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
				t.Fatal(err)
			}
			paths[i] = path
		}
	}
	for _, p := range paths {
		in.WriteString("./" + p + "\x00")
	}
	cmd := exec.Command("git", "-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false", "check-ignore", "-z", "--stdin")
	cmd.Dir, cmd.Stdin = dir, &in
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%s: git check-ignore: %v", what, err)
	}
	ignored := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		ignored[strings.TrimPrefix(p, "./")] = true
	}
	m := New(lines)
	for _, p := range paths {
		info, err := os.Lstat(filepath.Join(dir, p))
		if got := m.Excluded(p, err == nil && info.IsDir()); got != ignored[p] {
			t.Errorf("%s: patterns %q, path %q: %v, git says %v", what, lines, p, got, ignored[p])
		}
	}
}

var pieces = []string{"a", "b", "ab", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[^b]", "[a-b]", "[]a]", "[[:alpha:]]", "\\a", "\\*", ".", "!", "#", " ", "[", "]", "-", "**/", "/**"}

func randomPattern(rng *rand.Rand) string {
	var b strings.Builder
	if rng.IntN(5) == 0 {
		b.WriteByte('!')
	}
	for range 1 + rng.IntN(6) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

func randomPath(rng *rand.Rand) string {
	var elems []string
	for range 1 + rng.IntN(4) {
		var b strings.Builder
		for range 1 + rng.IntN(3) {
			b.WriteString([]string{"a", "b", "*", ".c", "!", "#", " ", "]", "-", "x"}[rng.IntN(10)])
		}
		elems = append(elems, b.String())
	}
	path := strings.Join(elems, "/")
	if rng.IntN(3) == 0 {
		path += "/"
	}
	return path
}

func TestHardPatternsEnd(t *testing.T) {
	for _, glob := range []string{strings.Repeat("*a", 60) + "b", strings.Repeat("**/a", 30) + "/b", strings.Repeat("a*", 60) + "b"} {
		done := make(chan bool, 1)
		go func() { done <- New([]string{glob}).Match(strings.Repeat("a/a", 80), false) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("%.20q... takes too long", glob)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a/**/[!b]*", "a/c/d")
	f.Fuzz(func(t *testing.T, glob, path string) {
		if len(glob) > 64 || len(path) > 64 {
			return
		}
		New([]string{glob}).Excluded(path, true)
	})
}
