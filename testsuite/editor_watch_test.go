package testsuite

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forklift/testsuite/internal/lspclient"
)

// git runs git in the worktree.
func (d *desk) git(args ...string) {
	d.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = d.repo, d.env
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// trusted waits for a pushed status that tells whether the file is approved.
func (e *editor) trusted(mark int, want bool) {
	e.t.Helper()
	_, err := e.Until(mark, "an approval", func(m lspclient.Message) bool {
		var s struct{ Trusted bool }
		return m.Method == "forklift/status" && json.Unmarshal(m.Params, &s) == nil && s.Trusted == want
	})
	e.must(err)
}

// TestEditorsAreToldWhatChangesElsewhere: an approval of the command line, and
// what git ignores by its index and by the user's own rules, are pushed without
// any other change.
func TestEditorsAreToldWhatChangesElsewhere(t *testing.T) {
	d := newDesk(t, plainConfig)
	a := d.open(nil)
	a.settled(0, 0)
	mark := a.Mark()
	d.write(".forklift.json", `{"format": 1, "source": ["src"], "commands": {"x": ["true"]}}`)
	a.trusted(mark, false)
	mark = a.Mark()
	d.cli("trust")
	a.trusted(mark, true)

	d.write(".gitignore", "*.secret\n")
	mark = a.Mark()
	d.write("src/new.secret", "x\n")
	d.write("src/seen.txt", "x\n")
	a.settled(mark, 1)
	mark = a.Mark()
	d.git("add", "-f", "src/new.secret")
	a.settled(mark, 2)
	mark = a.Mark()
	d.git("rm", "-q", "--cached", "src/new.secret")
	a.settled(mark, 1)

	mark = a.Mark()
	rules := filepath.Join(d.home, "config", "git", "ignore")
	must(t, os.MkdirAll(filepath.Dir(rules), 0o755))
	must(t, os.WriteFile(rules, []byte("seen.txt\n"), 0o644))
	a.settled(mark, 0)
	mark = a.Mark()
	must(t, os.WriteFile(rules, []byte("other\n"), 0o644))
	a.settled(mark, 1)
}

// TestEditorsAreToldOfGitsSettings: where git's own settings, of the repository, of
// the user or of a file that they include, name another file of rules, its rules
// count at once, and so do those that come into it later.
func TestEditorsAreToldOfGitsSettings(t *testing.T) {
	d := newDesk(t, plainConfig)
	rules := filepath.Join(d.home, "rules")
	put := func(dir, name, text string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Join(d.home, dir), 0o755))
		must(t, os.WriteFile(filepath.Join(d.home, dir, name), []byte(text), 0o644))
	}
	put("rules", "both", "*.one\n*.two\n")
	put("rules", "one", "*.one\n")
	a := d.open(nil)
	a.settled(0, 0)
	mark := a.Mark()
	d.write("src/a.one", "x\n")
	d.write("src/a.two", "x\n")
	a.settled(mark, 2)

	mark = a.Mark()
	d.git("config", "core.excludesFile", filepath.Join(rules, "both"))
	a.settled(mark, 0)
	mark = a.Mark()
	put("rules", "both", "*.two\n")
	a.settled(mark, 1)
	mark = a.Mark()
	d.git("config", "--unset", "core.excludesFile")
	a.settled(mark, 2)

	// Forklift calls git without the variable that gives this test other settings.
	own := filepath.Join(d.home, ".gitconfig")
	mark = a.Mark()
	d.git("config", "--file", own, "core.excludesFile", filepath.Join(rules, "one"))
	a.settled(mark, 1)
	mark = a.Mark()
	d.git("config", "--file", own, "--unset", "core.excludesFile")
	a.settled(mark, 2)

	mark = a.Mark()
	put("more", "settings", "[core]\n\texcludesFile = "+filepath.Join(rules, "one")+"\n")
	d.git("config", "include.path", filepath.Join(d.home, "more/settings"))
	a.settled(mark, 1)
	mark = a.Mark()
	put("rules", "all", "*.one\n*.two\n")
	put("more", "settings", "[core]\n\texcludesFile = "+filepath.Join(rules, "all")+"\n")
	a.settled(mark, 0)
}

// TestUnsavedBuffersOfANestedWorktree: they keep the worktree around it from
// nothing, and the inner one from a restore, whether it is open or not.
func TestUnsavedBuffersOfANestedWorktree(t *testing.T) {
	for name, open := range map[string]bool{"open": true, "not open": false} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, plainConfig)
			inner := d.path("src/inner")
			d.cli("worktree", "add", inner, "--git-branch", "inner", "--from", "c1")
			in := *d
			in.repo = inner
			in.cli("capture", "i1")
			in.write("src/a.txt", "two\n")
			dirs := []string{d.repo}
			if open {
				dirs = append(dirs, inner)
			}
			a := d.open(nil, dirs...)
			a.settled(0, 0)
			file := filepath.Join(inner, "src/a.txt")
			a.show(file, "two\n")
			a.retype(file, "typed\n", 2)
			d.await("the record of the inner worktree", func() bool {
				_, out := in.try("status", "--json")
				return strings.Contains(out, `"unsaved"`) && strings.Contains(out, "Script")
			})
			if code, out := in.try("restore", "i1"); code != 10 || !strings.Contains(out, "src/a.txt") {
				t.Errorf("restore of the inner one: exit code %d\n%s", code, out)
			}
			if _, out := d.try("status", "--json"); strings.Contains(out, "Script") {
				t.Errorf("the outer worktree has the record, too:\n%s", out)
			}
			d.cli("capture", "around")
			a.must(a.Command("capture", map[string]any{"worktree": lspclient.URI(d.repo), "name": "c2"}, nil))
			a.must(a.Notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": lspclient.URI(file)}}))
			d.await("it is closed", func() bool { code, _ := in.try("restore", "i1"); return code == 0 })
			in.try("db", "stop")
		})
	}
}
