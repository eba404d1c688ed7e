package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forklift/commands"
)

// complete is what a shell is offered for a command line.
func complete(t *testing.T, args ...string) []string {
	t.Helper()
	w := newWorld(t)
	w.engine.Settings = commands.Settings{Commands: map[string][]string{"verify": {"true"}}}
	if code := w.main(append([]string{"__complete"}, args...)); code != 0 {
		t.Fatalf("exit code %d: %s", code, &w.stderr)
	}
	var words []string
	for _, line := range strings.Split(w.out.String(), "\n") {
		if word, _, _ := strings.Cut(line, "\t"); word != "" && !strings.HasPrefix(word, ":") {
			words = append(words, word)
		}
	}
	return words
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"rest"}, []string{"restore"}},
		{[]string{"restore", ""}, []string{"before-migration", "after", "other:after"}},
		{[]string{"restore", "oth"}, []string{"other:after"}},
		{[]string{"cat", "a"}, []string{"after:"}},
		{[]string{"cat", "after:s"}, []string{"after:src/", "after:setup.py"}},
		{[]string{"project", "show", "b"}, []string{"before-migration"}},
		{[]string{"restore", "after", ""}, nil},
		{[]string{"setup", "--seed", ""}, []string{"demo", "empty"}},
		{[]string{"seed", "remove", "d"}, []string{"demo"}},
		{[]string{"run", ""}, []string{"verify"}},
		{[]string{"env", "--format", "d"}, []string{"dotenv", "direnv"}},
		{[]string{"completion", "b"}, []string{"bash"}},
		{[]string{"db", "s"}, []string{"shell", "start", "stop"}},
		{[]string{"capture", "--disc"}, []string{"--disconnect"}},
		{[]string{"help", "d"}, []string{"daemon", "db", "diff", "doctor", "du"}},
	} {
		if got := complete(t, c.args...); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, stderr := forklift(t, "completion", shell)
		if code != 0 || stderr != "" || !strings.Contains(out, "__complete") {
			t.Errorf("%s: exit code %d, stderr %q, %d bytes", shell, code, stderr, len(out))
		}
		if shell != "bash" {
			continue
		}
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command("bash", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("bash does not read it: %v\n%s", err, said)
		}
	}
}
