package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"forklift/commands"
	"forklift/storage/fault"
)

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		line string
		code int
		want string // both lines of stderr
	}{
		{"captur", 2, "forklift: error: forklift has no verb \"captur\"\nhint: Did you mean capture?\n"},
		{"save x", 2, "forklift: error: forklift has no verb \"save\"\nhint: Did you mean capture?\n"},
		{"db strat", 2, "forklift: error: forklift db has no verb \"strat\"\nhint: Did you mean start?\n"},
		{"zzzzzzzz", 2, "forklift: error: forklift has no verb \"zzzzzzzz\"\nhint: `forklift --help` lists the verbs.\n"},
		{"help captur", 2, "forklift: error: forklift has no verb \"captur\"\nhint: Did you mean capture?\n"},
		{"project seed", 2, "forklift: error: forklift project has no verb \"seed\"\nhint: `forklift project --help` lists the verbs.\n"},
		{"capture --disconect", 2, "forklift: error: forklift capture has no flag --disconect\nhint: Did you mean --disconnect?\n"},
		{"capture --zzzzzzzz", 2, "forklift: error: forklift capture has no flag --zzzzzzzz\nhint: See `forklift capture --help`.\n"},
		{"capture --message x", 2, "forklift: error: forklift capture has no flag --message\nhint: Did you mean --note?\n"},
		{"restore x --dry-run", 2, "forklift: error: forklift restore has no flag --dry-run\nhint: Did you mean --plan?\n"},
		{"forget x --dry-run", 2, "forklift: error: forklift forget has no flag --dry-run\nhint: See `forklift forget --help`.\n"},
		{"forget x --force", 2, "forklift: error: forklift forget has no flag --force\nhint: Did you mean --yes?\n"},
		{"restore x --plan abc", 2, "forklift: error: restore: unexpected argument \"abc\"\nhint: It is no id of a plan: those have 12 digits from 0 to f, and `forklift restore ... --plan` gives one.\n"},
		{"restore x src/a", 2, "forklift: error: restore: unexpected argument \"src/a\"\nhint: Paths stand behind --: `forklift restore ... -- src/a`.\n"},
		{"capture -z", 2, "forklift: error: forklift capture has no flag -z\nhint: See `forklift capture --help`.\n"},
		{"capture --wait soon", 2, "forklift: error: --wait: \"soon\" is not a duration such as 90s or 2m\nhint: See `forklift capture --help`.\n"},
		{"capture --wait", 2, "forklift: error: flag needs an argument: --wait\nhint: See `forklift capture --help`.\n"},
		{"capture a b", 2, "forklift: error: capture: unexpected argument \"b\"\nhint: See `forklift capture --help`.\n"},
		{"restore", 2, "forklift: error: restore: NAME is missing\nhint: See `forklift restore --help`.\n"},
		{"log -n -1", 2, "forklift: error: --limit: \"-1\" is not a number of 0 or more\nhint: See `forklift log --help`.\n"},
		{"completion tcsh", 2, "forklift: error: completion: \"tcsh\" is not one of bash, zsh, fish, powershell\nhint: See `forklift completion --help`.\n"},
		{"run --zzz", 125, "forklift: error: forklift run has no flag --zzz\nhint: See `forklift run --help`.\n"},
		{"run", 125, "forklift: error: run: nothing to run\nhint: Give a command after --, as in `forklift run -- npm test`.\n"},
		{"-C no-such-dir status", 4, ""},
	} {
		code, out, stderr := forklift(t, strings.Fields(c.line)...)
		if code != c.code || out != "" || (c.want != "" && stderr != c.want) {
			t.Errorf("%s: exit code %d, want %d; stdout %q, stderr:\n%s\nwant:\n%s", c.line, code, c.code, out, stderr, c.want)
		}
		code, out, stderr = forklift(t, append([]string{"--json"}, strings.Fields(c.line)...)...)
		var doc struct{ Error commands.Failure }
		if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Error.Message == "" || code != c.code || stderr != "" {
			t.Errorf("--json %s: %v, exit code %d, stdout %q, stderr %q", c.line, err, code, out, stderr)
		}
	}
	// --json counts although the flags could not be read.
	if _, out, _ := forklift(t, "capture", "--zzz", "--json"); !strings.HasPrefix(out, "{\n  \"error\": {") {
		t.Errorf("stdout %q", out)
	}
}

func TestErrorsOfTheEngine(t *testing.T) {
	busy := &fault.Error{
		Op: "capture", Kind: fault.Busy, Err: errors.New("2 managed commands run"),
		Items: []string{"4242 npm run dev", "17 sh\x1b[2J"}, Hint: "Wait for them with --wait.",
	}
	w := newWorld(t)
	w.engine.Fail = map[string]error{"capture": busy}
	code := w.main([]string{"capture"})
	want := "forklift: error: capture: 2 managed commands run\n  4242 npm run dev\n  17 sh\\x1b[2J\nhint: Wait for them with --wait.\n"
	if code != 3 || w.out.String() != "" || w.stderr.String() != want {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s\nwant:\n%s", code, &w.out, &w.stderr, want)
	}

	w = newWorld(t)
	w.engine.Fail = map[string]error{"capture": busy}
	code = w.main([]string{"capture", "--json"})
	var doc map[string]map[string]any
	if err := json.Unmarshal(w.out.Bytes(), &doc); err != nil || code != 3 || w.stderr.String() != "" {
		t.Fatalf("%v, exit code %d, stderr %q", err, code, &w.stderr)
	}
	e := doc["error"]
	if len(doc) != 1 || e["kind"] != "busy" || e["op"] != "capture" || e["hint"] != busy.Hint || len(e["items"].([]any)) != 2 {
		t.Errorf("%v", doc)
	}

	for kind := fault.Failed; kind <= fault.Canceled; kind++ {
		w := newWorld(t)
		w.engine.Fail = map[string]error{"status": &fault.Error{Op: "look", Kind: kind, Err: errors.New("x")}}
		if code := w.main([]string{"status"}); code != kind.ExitCode() {
			t.Errorf("%v: exit code %d, want %d", kind, code, kind.ExitCode())
		}
	}
}

func TestRunOnTheCommandLine(t *testing.T) {
	settings := commands.Settings{Commands: map[string][]string{"verify": {"sh", "-c"}}}
	for _, c := range []struct {
		line []string
		argv string // of the command that enters
		code int
	}{
		{[]string{"run", "--", "true", "--json"}, "enter [true --json]", 0},
		{[]string{"run", "--", "false"}, "enter [false]", 1},
		{[]string{"run", "verify", "exit 3", "--json", "-m"}, "enter [sh -c exit 3 --json -m]", 3},
		{[]string{"run", "verify", "--", "exit 4"}, "enter [sh -c exit 4]", 4},
		{[]string{"project", "run", "--", "sh", "-c", "kill -9 $$"}, "enter [sh -c kill -9 $$]", 137},
		{[]string{"run", "--", "no-such-program"}, "", 127},
	} {
		w := newWorld(t)
		w.engine.Settings, w.engine.Path = settings, t.TempDir()
		w.environ = []string{"PATH=/usr/bin:/bin"}
		code := w.main(c.line)
		entered := slices.ContainsFunc(w.engine.Calls(), func(call string) bool { return call == c.argv })
		if code != c.code || (c.argv != "" && !entered) {
			t.Errorf("%q: exit code %d, want %d; %v; %s", c.line, code, c.code, w.engine.Calls(), &w.stderr)
		}
	}

	w := newWorld(t)
	w.engine.Path, w.environ = t.TempDir(), []string{"PATH=/usr/bin:/bin"}
	w.main([]string{"run", "--json", "--", "echo", "said"})
	var doc commands.RunResult
	if err := json.Unmarshal(w.out.Bytes(), &doc); err != nil || doc.Argv[0] != "echo" || w.stderr.String() != "said\n" {
		t.Errorf("--json: %v, %+v, stderr %q", err, doc, &w.stderr)
	}
}
