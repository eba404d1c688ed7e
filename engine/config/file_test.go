package config

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forklift/storage/fault"
	"forklift/storage/vfs"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// example is the file that must work as it stands.
const example = `{"format": 1, "source": ["src", "migrations"], "connection_env": "DATABASE_URL", "commands": {"verify": ["python3", "src/app.py"]}}`

func TestExampleWorksAsItStands(t *testing.T) {
	got, err := Parse(Name, []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Format: 1, Source: []string{"src", "migrations"}, Gitignored: "skip", ConnectionEnv: "DATABASE_URL",
		Commands: map[string][]string{"verify": {"python3", "src/app.py"}}, Content: []byte(example),
		Hooks: Hooks{Limit: DefaultHookLimit},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !got.Runs() {
		t.Error("it has something to run")
	}
	sel := Selection{Source: []string{"src", "migrations"}, Gitignored: "skip"}
	if d := cmp.Diff(sel, got.Selection()); d != "" {
		t.Error(d)
	}
}

func TestEverything(t *testing.T) {
	text := `{
	"format": 1,
	"source": ["./src/", "a//b", "migrations"],
	"ignore": ["*.log", "!keep.log"],
	"gitignored": "include",
	"connection_env": "PG",
	"commands": {"test:unit": ["go", "test", "./..."], "x": ["true"]},
	"hooks": {"stop": ["make", "stop"], "start": ["make", "start"], "timeout_seconds": 5},
	"database": {"kind": "postgres", "name": "app"},
	"supabase": {"exclude": ["studio"]}
}`
	got, err := Parse(Name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Format: 1, Source: []string{"src", "a/b", "migrations"}, Ignore: []string{"*.log", "!keep.log"}, Gitignored: "include", ConnectionEnv: "PG",
		Commands: map[string][]string{"test:unit": {"go", "test", "./..."}, "x": {"true"}},
		Hooks:    Hooks{Stop: []string{"make", "stop"}, Start: []string{"make", "start"}, Limit: 5 * time.Second},
		Database: Database{Kind: "postgres", Settings: []byte(`{"kind": "postgres", "name": "app"}`)},
		Supabase: []byte(`{"exclude": ["studio"]}`),
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(File{}, "Content")); d != "" {
		t.Error(d)
	}
}

// TestProblemsComeAllAtOnce checks every problem of a file with its place.
func TestProblemsComeAllAtOnce(t *testing.T) {
	text := `{
  "format": "1",
  "sorce": ["src"],
  "gitignored": "no",
  "conection_env": "X",
  "connection_env": "9X",
  "commands": {"a b": ["x"], "ok": [], "n": [1], "m": "make"},
  "hooks": {"stop": ["x"], "begin": ["x"], "timeout_seconds": 0},
  "database": {"kind": 3},
  "supabase": [],
  "ignore": ["", 7],
  "ignore": [],
  "ünknown": 1, "x": 2
}`
	_, err := Parse("f.json", []byte(text))
	want := []string{
		`f.json:1:1: the key "source" is missing`,
		`f.json:2:13: format must be a number, not a string`,
		`f.json:3:3: unknown key "sorce" (did you mean "source"?)`,
		`f.json:4:17: gitignored must be "skip" or "include", not "no"`,
		`f.json:5:3: unknown key "conection_env" (did you mean "connection_env"?)`,
		`f.json:6:21: connection_env "9X" is not the name of an environment variable`,
		`f.json:7:16: "a b" cannot be the name of a command: use up to 128 letters, digits and . _ - : /, not beginning with -`,
		`f.json:7:36: command "ok" must begin with a program`,
		`f.json:7:46: an element of command "n" must be a string, not a number`,
		`f.json:7:55: command "m" must be an array of strings, not a string`,
		`f.json:8:28: unknown key "begin" (there are stop, start, timeout_seconds)`,
		`f.json:8:63: timeout_seconds must be a number from 1 to 3600`,
		`f.json:9:24: kind must be a string, not a number`,
		`f.json:10:15: supabase must be an object, not an array`,
		`f.json:11:14: ignore: a pattern is one line that is not empty`,
		`f.json:11:18: an element of ignore must be a string, not a number`,
		`f.json:12:3: "ignore" is there twice`,
		`f.json:13:3: unknown key "ünknown"`,
		`f.json:13:17: unknown key "x"`,
	}
	if d := cmp.Diff(want, fault.ItemsOf(err)); d != "" {
		t.Error(d)
	}
	if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Errorf("kind %v, hint %q", fault.KindOf(err), fault.HintOf(err))
	}
	if !strings.Contains(err.Error(), "and 18 more") {
		t.Errorf("message %q", err)
	}
}

func TestSyntaxErrors(t *testing.T) {
	cases := map[string]string{
		"":                         "f:1:1: not JSON: unexpected end of JSON input",
		"[]":                       "f:1:1: the file must hold an object, not an array",
		"{\n  // x\n}":             "f:2:3: not JSON: invalid character '/' looking for beginning of object key string",
		"{\"format\": 1,}":         "f:1:14: not JSON: invalid character '}' looking for beginning of object key string",
		"{\"format\": 1":           "f:1:13: not JSON: unexpected end of JSON input",
		"{\"ä\": 01}":              "f:1:8: not JSON: invalid character '1' after object key:value pair",
		"{} x":                     "f:1:4: not JSON: invalid character 'x' after top-level value",
		"{\"a\": \"\xff\"}":        "f:1:8: not UTF-8 text",
		"\ufeff{}":                 "f:1:1: not JSON: invalid character 'ï' looking for beginning of value",
		"{\"format\": 1.5}":        `f:1:1: the key "source" is missing`,
		`{"format":0,"source":[]}`: "f:1:11: format must be 1, not 0",
	}
	for text, want := range cases {
		_, err := Parse("f", []byte(text))
		if items := fault.ItemsOf(err); len(items) == 0 || items[0] != want {
			t.Errorf("%q: problems %q, want %q first", text, items, want)
		}
	}
}

func TestNewerFormatIsNamed(t *testing.T) {
	_, err := Parse("f", []byte(`{"format": 2, "source": {"new": true}, "more": 1}`))
	if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "newer Forklift") || len(fault.ItemsOf(err)) != 1 {
		t.Errorf("error %v, items %q", err, fault.ItemsOf(err))
	}
}

func TestManyProblemsAreLimited(t *testing.T) {
	text := `{"format": 1, "source": ["."], "ignore": [` + strings.Repeat("1,", 5000) + `1]}`
	_, err := Parse("f", []byte(text))
	if items := fault.ItemsOf(err); len(items) != maxProblems+1 || items[maxProblems] != "f: and 4901 more" {
		t.Errorf("%d problems, last %q", len(items), items[len(items)-1])
	}
}

func TestSources(t *testing.T) {
	bad := map[string]string{
		`""`: "empty", `"/etc"`: "relative", `"~/x"`: "relative", `"../x"`: "leaves", `"a/../../b"`: "leaves", `"a/.."`: "leaves", `"a\u0000"`: "not a path",
		`".git"`: "never saved", `".GIT/hooks"`: "never saved", `"a/.git"`: "never saved", `".g\u200cit"`: "never saved", `"git~1"`: "never saved", `".git. "`: "never saved",
		`".forklift-staging-1"`: "Forklift's own", `"a", "a/"`: "twice", `"a", "a/b"`: `"a" is part of it already`, `"a/b", "a"`: `"a/b" is part of it`,
		`".", "src"`: "part of it already", `"` + strings.Repeat("x", 256) + `"`: "more than 255", `"` + strings.Repeat("x/", 3000) + `"`: "longer than",
	}
	for in, want := range bad {
		_, err := Parse("f", []byte(`{"format": 1, "source": [`+in+`]}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", in, err, want)
		}
	}
	good := map[string][]string{
		`"."`: {"."}, `"./"`: {"."}, `".", ".forklift.json"`: {".", Name}, `"a", "ab"`: {"a", "ab"}, `"...", "..a"`: {"...", "..a"}, `".github"`: {".github"}, `"a b\nc"`: {"a b\nc"},
	}
	for in, want := range good {
		got, err := Parse("f", []byte(`{"format": 1, "source": [`+in+`]}`))
		if err != nil || !slices.Equal(got.Source, want) {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	if _, err := CleanSource([]string{"a", "../b"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("CleanSource: %v", err)
	}
	if got, err := CleanSource([]string{"./a", "b/"}); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("CleanSource: %q, %v", got, err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, Name)
	_, err := Load(vfs.OS(), name)
	if fault.KindOf(err) != fault.NotFound || fault.HintOf(err) == "" || !strings.HasSuffix(err.Error(), "there is no .forklift.json") {
		t.Errorf("absent: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), []byte(example), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", name); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(vfs.OS(), name); fault.KindOf(err) != fault.Usage {
		t.Errorf("a link: %v", err)
	}
	if err := os.Rename(filepath.Join(dir, "other"), name); err != nil {
		t.Fatal(err)
	}
	if f, err := Load(vfs.OS(), name); err != nil || string(f.Content) != example {
		t.Errorf("%v, %v", f, err)
	}
	if err := os.WriteFile(name, bytes.Repeat([]byte(" "), MaxBytes+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(vfs.OS(), name); err == nil {
		t.Error("too long a file was read")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{"format": 2, "source": [[]], "commands": {"x": null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("f", data)
		if (cfg == nil) == (err == nil) {
			t.Fatalf("file %v, error %v", cfg, err)
		}
		if err != nil && len(fault.ItemsOf(err)) == 0 {
			t.Fatalf("an error without problems: %v", err)
		}
	})
}
