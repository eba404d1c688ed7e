package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBashCompletes presses Tab in a real bash without the package
// bash-completion. The program is a stand-in that answers as cobra does; that
// the real one does so is TestCompletion's.
func TestBashCompletes(t *testing.T) {
	_, script, _ := forklift(t, "completion", "bash")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"script": script,
		"forklift": `#!/bin/sh
shift
case "$*" in
"restore "*) printf 'before-migration\ta checkpoint\nother:after\nother:again\n:4\n' ;;
"rest") printf 'restore\tPut back\n:4\n' ;;
"env --format="*) printf 'dotenv\ndirenv\n:4\n' ;;
"run -- "*) printf ':0\n' ;;
"run ") printf 'verify\n:0\n' ;;
"broken "*) echo noise >&2; exit 1 ;;
*) echo "$# $*" >&2; printf ':4\n' ;;
esac
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"forklift rest":                "restore",
		"forklift restore ":            "before-migration other:after other:again",
		"forklift restore b":           "before-migration",
		"forklift restore other:a":     "after again", // bash replaces what is behind the colon
		"forklift restore other:ag":    "again",
		"forklift restore nothing":     "",
		"forklift env --format=d":      "dotenv direnv",
		"forklift run ":                "verify",
		"forklift run -- l":            "",
		"forklift broken ":             "",
		"forklift":                     "",
		dir + "/forklift rest":         "restore",
		"/nowhere/forklift rest":       "",
		"forklift restore $(touch ran": "",
		"forklift rest | x":            "",
	} {
		// Completing in a function has no terminal: compopt fails outside of
		// Tab, which the script must bear.
		program := fmt.Sprintf(`. ./script || exit 9
COMP_LINE=%s COMP_POINT=${#COMP_LINE}
COMP_POINT=${#COMP_LINE}
_forklift 2>stderr.tmp
printf '%%s\n' "${COMPREPLY[*]}"
grep -v 'compopt: not currently executing' stderr.tmp >&2
complete -p forklift >&2`, "'"+line+"'")
		cmd := exec.Command("bash", "--norc", "--noprofile", "-c", program)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir}
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%q: %v: %s", line, err, &errs)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != want || errs.String() != "complete -F _forklift forklift\n" {
			t.Errorf("%q: offered %q, want %q; it said %q", line, got, want, &errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a word of the line was run")
	}
}
