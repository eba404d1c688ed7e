package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"forklift/storage/clock"

	"forklift/commands/internal/standin"
	"forklift/engine"
)

// lineOf is a command line for each verb.
var lineOf = map[string][]string{
	"rename": {"after", "works"}, "note": {"after", "a note"}, "protect": {"after"}, "unprotect": {"after"},
	"forget": {"try-1"}, "repair": {"--yes"},
	"restore": {"before-migration"}, "show": {"after"}, "seed create": {"demo", "--sql", "/a.sql"}, "seed remove": {"demo"}, "seed refresh": {"demo", "--", "/bin/sh"},
	"completion": {"fish"}, "cat": {"after:src/app.py"}, "adopt": {"feature"}, "worktree add": {"/srv/try", "--from", "before-migration"}, "run": {"--", "true"}, "db shell": nil, "capture": {"c1", "-m", "a note"}, "setup": {"--seed", "demo"},
}

func TestEveryResultIsRendered(t *testing.T) {
	for _, v := range newWorld(t).verbs() {
		if renderers[v.Name] == nil {
			t.Errorf("%s has no renderer", v.Name)
			continue
		}
		if slices.Contains([]string{"run", "db shell", "version", "completion", "man", "doctor", "lsp", "daemon", "daemon status", "daemon stop", "daemon logs"}, v.Name) {
			continue // they print what others say
		}
		args := append(strings.Fields(v.Name), lineOf[v.Name]...)
		file := strings.ReplaceAll(v.Name, " ", "_")
		code, out, stderr := forklift(t, args...)
		if code != 0 {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		text := out
		if stderr != "" {
			text += "--- stderr\n" + stderr
		}
		golden(t, "text/"+file+".txt", text)

		code, out, stderr = forklift(t, slices.Concat(strings.Fields(v.Name), []string{"--json"}, lineOf[v.Name])...)
		if code != 0 || stderr != "" || !json.Valid([]byte(out)) {
			t.Errorf("%v --json: exit code %d, stderr %q", args, code, stderr)
		}
		golden(t, "json/"+file+".json", out)
	}
	_, listing, _ := forklift(t, "cat", "after:")
	golden(t, "text/cat_directory.txt", listing)
	for name, args := range map[string][]string{"diff_stat": {"diff", "--stat"}, "diff_names": {"diff", "a", "b", "--name-only"},
		"restore_plan": {"restore", "before-migration", "--plan"}} {
		_, text, _ := forklift(t, args...)
		golden(t, "text/"+name+".txt", text)
	}
	w := newWorld(t)
	w.term.color = true
	w.main([]string{"diff"})
	golden(t, "text/diff_terminal.txt", w.out.String())
	if err := renderers["capture"](&printer{}, 1); err == nil {
		t.Error("a result of a wrong type is rendered")
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	w := newWorld(t)
	w.term.color = true
	w.main([]string{"status"})
	colored := w.out.String()
	if !strings.Contains(colored, "\x1b[32mA\x1b[0m") {
		t.Errorf("no colours:\n%q", colored)
	}
	_, plainText, _ := forklift(t, "status")
	if strings.Contains(plainText, "\x1b") {
		t.Errorf("colours in plain text, or control characters of a name:\n%q", plainText)
	}
}

func TestStatusOfAnInterruptedWorktree(t *testing.T) {
	w := newWorld(t)
	w.engine.Status = standin.StatusResult(engine.WorktreeInfo{Name: "invoices", Path: "/srv/invoices"})
	w.engine.Status.Interrupted = &engine.Interrupted{Verb: "restore", Since: standin.Now, Forward: true, Target: "before-migration"}
	w.engine.Status.Operation = &engine.RunningOp{Verb: "recover", PID: 77, Since: standin.Now}
	w.engine.Status.Problems = []string{"the store is read-only"}
	w.engine.Status.RowsKnown = false
	w.engine.Status.Server = engine.ServerInfo{State: "stopped"}
	w.engine.Status.Trusted = true
	w.engine.Status.Files, w.engine.Status.FileCount = nil, 0
	for range 25 {
		w.engine.Status.Files = append(w.engine.Status.Files, engine.FileChange{Path: "a", Change: "added"})
	}
	w.engine.Status.FileCount = 1042
	w.main([]string{"status"})
	golden(t, "text/status_interrupted.txt", w.out.String())

	w = newWorld(t)
	w.engine.Status = standin.StatusResult(engine.WorktreeInfo{Name: "invoices", Path: "/srv/invoices"})
	w.engine.Status.Checkpoint = nil
	w.main([]string{"status"})
	golden(t, "text/status_new.txt", w.out.String())
}

func TestEnvFormats(t *testing.T) {
	for _, format := range []string{"shell", "dotenv", "json"} {
		code, out, stderr := forklift(t, "env", "--format", format)
		if code != 0 {
			t.Errorf("%s: %s", format, stderr)
		}
		golden(t, "text/env_"+format+".txt", out)
	}
	if code, _, stderr := forklift(t, "env", "-f", "csv"); code != 2 || !strings.Contains(stderr, "shell, dotenv, json") {
		t.Errorf("csv: exit code %d, %s", code, stderr)
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"größe ☃": "größe ☃", "a\nb\tc": `a\nb\tc`, "\x1b[31m": `\x1b[31m`, "\xff\xfe": `\xff\xfe`, "a\u202eb": `a\xe2\x80\xaeb`, "": "",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		formatBytes(0): "0 B", formatBytes(1536): "1.5 KiB", formatBytes(-1): "0 B", formatCount(1234567): "1,234,567",
		formatMs(123): "0.12 s", formatMs(2000): "2 s", plural(1, "file", "files"): "1 file", plural(2000, "file", "files"): "2,000 files",
		clock.Ago(standin.Now, standin.Now.Add(1e10)): "just now", clock.Ago(standin.Now, standin.Now.Add(-3*60e9)): "3 minutes ago",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
