package testsuite

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// find walks a JSON document along a path such as files.0.path; len at the end
// gives a length.
func find(doc any, path string) (any, bool) {
	if path == "" || path == "." {
		return doc, true
	}
	for _, key := range strings.Split(path, ".") {
		switch node := doc.(type) {
		case map[string]any:
			value, ok := node[key]
			if !ok {
				return nil, false
			}
			doc = value
		case []any:
			if key == "len" {
				doc = json.Number(strconv.Itoa(len(node)))
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			doc = node[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// text is a JSON value as a script writes it: strings without quotes.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(data)
}

// document reads the one JSON document on stdout.
func document(ts *testscript.TestScript) any {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("stdout is not JSON: %v", err)
	}
	if dec.More() {
		ts.Fatalf("more than one JSON document on stdout")
	}
	return doc
}

// cmdJSON: `json PATH VALUE` compares a value of the last stdout, `json PATH
// ~REGEXP` matches it, `json PATH` wants it to be there and not empty; `!`
// negates.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: json PATH [VALUE | ~REGEXP]")
	}
	value, found := find(document(ts), args[0])
	got := text(value)
	var ok bool
	switch {
	case len(args) == 1:
		ok = found && got != "null" && got != "" && got != "false" && got != "0" && got != "[]" && got != "{}"
	case strings.HasPrefix(args[1], "~"):
		re, err := regexp.Compile(args[1][1:])
		ts.Check(err)
		ok = found && re.MatchString(got)
	default:
		ok = found && got == args[1]
	}
	if ok == neg {
		ts.Fatalf("%s is %s (there: %v)", args[0], got, found)
	}
}

// cmdSetvar: `setvar NAME PATH` keeps a value of the last stdout in a variable.
func cmdSetvar(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: setvar NAME PATH")
	}
	value, found := find(document(ts), args[1])
	if !found {
		ts.Fatalf("%s is not there", args[1])
	}
	ts.Setenv(args[0], text(value))
}

func TestFindWalksJSON(t *testing.T) {
	var doc any
	dec := json.NewDecoder(strings.NewReader(`{"a": [{"b": "x"}, 2.50], "c": null}`))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a.0.b": "x", "a.1": "2.50", "a.len": "2", "c": "null", ".": `{"a":[{"b":"x"},2.50],"c":null}`} {
		value, found := find(doc, path)
		if !found || text(value) != want {
			t.Errorf("find %s = %s (found: %v), want %s", path, text(value), found, want)
		}
	}
	for _, path := range []string{"b", "a.2", "a.x", "c.d", "a.0.b.c"} {
		if value, found := find(doc, path); found {
			t.Errorf("find %s = %v, want nothing", path, value)
		}
	}
}
