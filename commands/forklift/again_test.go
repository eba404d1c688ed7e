package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestShellWord has a shell read the words back.
func TestShellWord(t *testing.T) {
	for _, s := range []string{"plain", "", "two words", "it's", `a\b"$HOME`, "new\nline", "end\n\n", "\x1b[2J", "\xff\xfe", "ä", "-rf", "*", "%s%d", "`id`"} {
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte("printf %s "+shellWord(s)+"; printf ."), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("sh", script).Output()
		if err != nil || string(out) != s+"." {
			t.Errorf("%q as %s is read as %q, %v", s, shellWord(s), out, err)
		}
	}
}

func TestDoPlan(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "forklift seed remove dev --yes --plan 0123456789ab"},
		{[]string{"restore", "one", "--plan", "--", "../a b"}, "forklift restore one --yes --plan 0123456789ab -- '../a b'"},
		{[]string{"restore", "--plan", "ffffffffffff", "one"}, "forklift restore one --yes --plan 0123456789ab"},
		{[]string{"-C", "my dir", "forget", "--keep-last", "3"}, "forklift -C 'my dir' forget --keep-last 3 --yes --plan 0123456789ab"},
	} {
		p := &printer{args: c.args}
		p.doPlan("seed remove dev", "0123456789ab")
		if got := p.text.String(); got != "To do exactly this: "+c.want+"\n" {
			t.Errorf("%q: %s", c.args, got)
		}
	}
}
