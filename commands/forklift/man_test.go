package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// knownMacro is what our pages may begin a line with.
var knownMacro = regexp.MustCompile(`^\.(\\"|TH|SH|SS|PP|TP|RS|RE|nf|fi|br)( |$)`)

// TestManualPages checks the structure of every page and, where a renderer is
// installed, that it has nothing to say about them.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	code, out, stderr := forklift(t, "man", "--dir", dir)
	if code != 0 || stderr != "" || !strings.Contains(out, "pages") {
		t.Fatalf("exit code %d, %q, %q", code, out, stderr)
	}
	verbs := newWorld(t).verbs()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(verbs)+1 {
		t.Fatalf("%d pages for %d verbs, %v", len(files), len(verbs), err)
	}
	for _, v := range verbs {
		name := pageName(v)
		raw, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, name, string(raw))
		_, printed, _ := forklift(t, append([]string{"man"}, strings.Fields(v.Name)...)...)
		if printed != string(raw) {
			t.Errorf("man %s prints something else than it writes", v.Name)
		}
		// It says what --help says: every flag and every exit code.
		for _, f := range v.Fields {
			if f.Flag != "" && !strings.Contains(string(raw), roff("--"+f.Flag)) {
				t.Errorf("%s does not name --%s", name, f.Flag)
			}
		}
		if !strings.Contains(string(raw), "\n.SH \"EXIT STATUS\"\n") {
			t.Errorf("%s does not tell the exit codes", name)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "forklift.1"))
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, "forklift", string(raw))
	for _, v := range verbs {
		if !strings.Contains(string(raw), roff(pageName(v))) {
			t.Errorf("forklift.1 does not lead to %s", pageName(v))
		}
	}
	renderPages(t, dir)
}

// checkPage checks what man(7) asks of a page.
func checkPage(t *testing.T, name, text string) {
	t.Helper()
	head := `.TH "` + roff(strings.ToUpper(name)) + `" "1" "`
	if !strings.Contains(text, "\n"+head) || !strings.Contains(text, "\n.SH \"NAME\"\n"+name+` \- `) {
		t.Errorf("%s: the head is not that of a page", name)
	}
	depth, literal := 0, false
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case line == "":
			t.Errorf("%s:%d: an empty line", name, i+1)
		case strings.HasPrefix(line, ".") && !knownMacro.MatchString(line):
			t.Errorf("%s:%d: an unknown macro: %s", name, i+1, line)
		case strings.HasPrefix(line, ".RS"):
			depth++
		case strings.HasPrefix(line, ".RE"):
			depth--
		case line == ".nf" || line == ".fi":
			if literal == (line == ".nf") {
				t.Errorf("%s:%d: %s twice", name, i+1, line)
			}
			literal = line == ".nf"
		}
	}
	if depth != 0 || literal {
		t.Errorf("%s: a block has no end", name)
	}
}

// renderPages asks mandoc and groff, if they are installed.
func renderPages(t *testing.T, dir string) {
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for tool, args := range map[string][]string{
		"mandoc": {"-T", "lint", "-W", "warning"},
		"groff":  {"-man", "-ww", "-z", "-T", "utf8"},
	} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("%s is not installed: only the structure was checked by us", tool)
			continue
		}
		if said, err := exec.Command(tool, append(args, pages...)...).CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("%s: %v\n%s", tool, err, said)
		}
	}
}

func TestManualRefusals(t *testing.T) {
	for want, args := range map[string][]string{
		`has no verb "capure"`: {"man", "capure"},
		"do not go together":   {"man", "capture", "--dir", "x"},
		"write manual":         {"man", "--dir", "/dev/null/x"},
	} {
		code, out, stderr := forklift(t, args...)
		if code == 0 || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
}
