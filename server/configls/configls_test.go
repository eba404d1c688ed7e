package configls

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forklift/commands"
	"forklift/engine/config"
	"forklift/server/lsp"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"
)

var update = flag.Bool("update", false, "write the schema anew")

// worktree is a place with some files, and programs of which only make is there.
func worktree(t *testing.T) Place {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"src/deep", "migrations", "vendor/lib/.git", ".git", "store"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("src", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "schema.sql"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return Place{Root: root, Store: filepath.Join(root, "store"), Kinds: commands.Kinds(),
		Program: func(name string) error {
			if name == "make" {
				return nil
			}
			return errors.New("it is not there")
		},
		Approved: func() bool { return false }}
}

// shown is a finding in one line.
func shown(f Finding) string {
	var fixes []string
	for _, x := range f.Fixes {
		fixes = append(fixes, x.Title)
	}
	return fmt.Sprintf("%d:%d-%d:%d %v %v %v [%s]", f.Range.Start.Line, f.Range.Start.Character, f.Range.End.Line, f.Range.End.Character,
		f.Severity, f.Code, f.Message, strings.Join(fixes, "; "))
}

func TestEveryProblemHasItsRangeAndFixes(t *testing.T) {
	place := worktree(t)
	text := `{
  "format": "1", "𝄞": 1, "sorce": 3,
  "source": ["src", "src/deep", "/etc", "migratons", "link/deep", "vendor/lib", "store"],
  "gitignored": "no",
  "hooks": {"stop": ["make"], "start": ["mke", "x"]},
  "database": {"kind": "postgres", "databse": "x"}
}`
	var got []string
	for _, f := range Diagnose(text, place) {
		got = append(got, shown(f))
	}
	want := []string{
		`1:12-1:15 1 type Format must be a number, not a string [Change it to 1]`,
		`1:17-1:21 1 unknown-key Unknown key "𝄞" [Remove the key]`,
		`1:26-1:33 1 unknown-key Unknown key "sorce" (did you mean "source"?) [Change it to "source"; Remove the key]`,
		`2:20-2:30 1 overlap Source "src/deep": "src" is part of it already [Remove it]`,
		`2:32-2:38 1 outside Source "/etc": it must be relative to the worktree [Remove it]`,
		`2:40-2:51 2 missing-path "migratons" does not exist. A checkpoint records that, and a restore removes what is there then. [Change it to "migrations"; Remove it]`,
		`2:53-2:64 1 link "link" is a symbolic link: name the real path. Links are saved as links and never followed. [Change it to "src/deep"]`,
		`2:66-2:78 2 repository "vendor/lib" is another git repository: nothing of it is saved. [Remove it]`,
		`2:80-2:87 2 store Forklift's store ` + place.Store + ` is in the way: it is left out of checkpoints. []`,
		`3:16-3:20 1 value Gitignored must be "skip" or "include", not "no" [Change it to "skip"; Change it to "include"]`,
		"4:2-4:9 2 untrusted Not approved in this worktree: captures and restores are refused, unless told to leave the app alone, until you trust this configuration. [Trust this configuration]",
		`4:40-4:45 2 no-program "mke" could not be started: it is not there. []`,
		`5:35-5:44 1 unknown-key The database kind "postgres" has no key "databse" [Change it to "database"; Remove the key]`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAGoodFileHasNoFindings(t *testing.T) {
	place := worktree(t)
	place.Approved = func() bool { return true }
	text := `{"format": 1, "source": ["src", "migrations"], "hooks": {"stop": ["make"]}, "database": {"kind": "postgres", "database": "x"}}`
	if list := Diagnose(text, place); len(list) > 0 {
		t.Errorf("found %s", shown(list[0]))
	}
	for text, want := range map[string]string{
		`{"format": 1`: "0:12-0:12 1 syntax Not JSON: unexpected end of JSON input []",
		`{"format": 1, "source": ["src"], "supabase": {"exclud": []}}`:                      `0:46-0:54 1 unknown-key The database kind "supabase" has no key "exclud" [Change it to "exclude"; Remove the key]`,
		`{"format": 1, "source": ["src"], "supabase": {"env": {"VITE_KEY": "SECRET_KEY"}}}`: `0:45-0:80 1 value Env: VITE_KEY would show the secret SECRET_KEY to every visitor of the app`,
		`{"format": 1, "source": ["src"], "database": {"kind": "mysql"}}`:                   `0:54-0:61 1 kind This Forklift knows no database kind "mysql". [Change it to "postgres"; Change it to "supabase"]`,
		`{"format": 1, "source": ["src"], "database": {"database": "template0"}}`:           `0:45-0:70 1 value "template0" is a template that new databases are copied from []`,
		`{"format": 1, "source": ["` + place.Root + `/src"]}`:                               `: it must be relative to the worktree [Change it to "src"; Remove it]`,
		`{"commands": {"x": "make"}}`:                                                       `0:0-0:1 1 missing-key The key "format" is missing [Add "format": 1 and "source": ["src"]]`,
		`{"format": 1, "source": "src"}`:                                                    `0:24-0:29 1 type Source must be an array of strings, not a string [Change it to ["src"]]`,
		`{"format": 1, "source": ["."], "hooks": {"timeout_seconds": 0, "stop": ["make"]}}`: `Timeout_seconds must be a number from 1 to 3600 [Change it to 60]`,
	} {
		found := ""
		for _, f := range Diagnose(text, place) {
			found += shown(f) + "\n"
		}
		if !strings.Contains(found, want) {
			t.Errorf("%s: found\n%s, want %s", text, found, want)
		}
	}
}

// apply does the edits of a fix.
func apply(text string, f Fix) string {
	for _, e := range f.Edits {
		text = text[:lsp.Offset(text, e.Range.Start)] + e.NewText + text[lsp.Offset(text, e.Range.End):]
	}
	return text
}

// TestFixesMend applies the first fix of the first finding until none is left.
func TestFixesMend(t *testing.T) {
	place := worktree(t)
	place.Approved = nil
	place.Store = ""
	for _, text := range []string{
		`{}`, "{\n  \"formt\": 1,\n  \"source\": \"src\"\n}", `{"format": "1", "source": [], "x": 1}`, `{"format": 2.5, "source": ["link/deep", "src", "src/"]}`,
		`{"source": ["sr", "nowhere", "src/deep"], "format": 1, "gitignored": "skp", "ignore": "*.log", "ignore": []}`,
		`{"format": 1, "source": ["src"], "hooks": {"strt": ["make"], "timeout_seconds": 9999}, "database": {"kind": "postgrs", "x": 1}}`,
	} {
		now := text
		for range 20 {
			list := Diagnose(now, place)
			if len(list) == 0 {
				break
			}
			if len(list[0].Fixes) == 0 {
				t.Fatalf("%s\nhas no fix for %s", now, shown(list[0]))
			}
			now = apply(now, list[0].Fixes[0])
		}
		if _, err := config.Parse("f", []byte(now)); err != nil || len(Diagnose(now, place)) > 0 {
			t.Errorf("%s\nbecame %s: %v", text, now, err)
		}
	}
}

// at is a text without its mark | and the position of that.
func at(marked string) (string, protocol.Position) {
	before, after, _ := strings.Cut(marked, "|")
	return before + after, lsp.PositionOf(before, len(before))
}

func TestHoverTellsWhatAKeyMeans(t *testing.T) {
	place := worktree(t)
	for marked, want := range map[string]string{
		`{"for|mat": 1}`:                              "**format**: the number 1, required",
		`{"gitignored": "sk|ip"}`:                     "**gitignored**: `\"skip\"` or `\"include\"`, usually `\"skip\"`",
		`{"hooks": {"timeout_se|conds": 1}}`:          "**timeout_seconds**: a number from 1 to 3600, usually `60`",
		`{"hooks": {"stop": ["ma|ke"]}}`:              "**stop**: a program and its arguments",
		`{"commands": {"te|st": ["x"]}}`:              "What `forklift run test` starts",
		`{"database": {"data|base": "x"`:              "**database**: a string",
		`{"source": ["a", "b|`:                        "**source**: a list of paths, required",
		`{"database": {"ki|nd": 1}}`:                  "**kind**: `\"postgres\"`",
		`{"nothing|": 1}`:                             "",
		`{"format": 1}  |`:                            "",
		`|`:                                           "",
		`{"nothing": {"for|mat": 1}}`:                 "",
		"{\"source\": [\"a\"],\n\"ignore\": [\"x|\"]": "**ignore**",
	} {
		text, p := at(marked)
		got := ""
		if h := Hover(text, p, place); h != nil {
			got = h.Contents.(*protocol.MarkupContent).Value
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", marked, got, want)
		}
	}
}

func TestCompletion(t *testing.T) {
	place := worktree(t)
	for marked, want := range map[string]string{
		`{|`:                                       `"format": 1|"source": ["src"]|"ignore": ["*.log"]|"gitignored": "skip"`,
		`{"format": 1, "so|"`:                      `"source": ["src"]|"ignore"`,
		`{"format": 1, "so|": []}`:                 `"source"|"ignore"`,
		`{"gitignored": |}`:                        `"skip"|"include"`,
		`{"gitignored": "i|`:                       `"skip"|"include"`,
		`{"hooks": {"stop": ["x"], |}}`:            `"start": ["make", "start"]|"timeout_seconds": 60`,
		`{"database": {"kind": "|"}}`:              `"postgres"|"supabase"`,
		`{"supabase": {"exclude": ["rest", "|"]}}`: `"auth"|"realtime"`,
		`{"database": {|}}`:                        `"kind": "postgres"|"database": "app"`,
		`{"source": ["src", "|"]}`:                 `"link"|"migrations"|"schema.sql"|"store"|"vendor"`,
		`{"source": ["src/|"]}`:                    `"src/deep"`,
		`{"source": ["../|"]}`:                     ``,
		`{"source": ["/|"]}`:                       ``,
		`{"source": [|`:                            `"link"|"migrations"|"schema.sql"|"src"|"store"|"vendor"`,
		`{"connection_env": |`:                     `"DATABASE_URL"`,
		`{"format": |`:                             `1`,
		`{"commands": {"x|`:                        ``,
		`{"source": |`:                             `["src"]`,
		`|`:                                        ``,
		`{"format": 1, "source": ["."]} |`:         ``,
	} {
		text, p := at(marked)
		var got []string
		for _, item := range Complete(text, p, place).Items {
			got = append(got, item.TextEdit.(*protocol.TextEdit).NewText)
		}
		list := strings.Join(got, "|")
		if list != want && !(strings.Count(want, "|") > 0 && strings.HasPrefix(list, want)) {
			t.Errorf("%s: %s, want %s", marked, list, want)
		}
	}
}

func TestTheSchemaIsCurrent(t *testing.T) {
	name := filepath.Join("..", "..", "editors", "vscode", "schemas", "forklift.schema.json")
	got := Schema(commands.Kinds())
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("run go generate ./server/configls:\n%s", d)
	}
}

// FuzzTexts asks everything of texts in any state, at every place.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{`{"format": 1, "source": ["src", "x`, "{\"a\\", `[{]}:,"`, `{"database": {"kind": "p", "𝄞": [1, {}]}}`} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		place := Place{Kinds: commands.Kinds()}
		p := lsp.PositionOf(text, at)
		if h := Hover(text, p, place); h != nil && h.Range.Start == h.Range.End {
			t.Errorf("an empty hover of %q", text)
		}
		Complete(text, p, place)
		for _, found := range Diagnose(text, place) {
			for _, fix := range found.Fixes {
				apply(text, fix)
			}
		}
	})
}
