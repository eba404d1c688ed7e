package sqlshell

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitterFindsTheEndOfStatements(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines string
		want  []string
		rest  string
	}{
		{"one", "select 1;", []string{"select 1;"}, ""},
		{"two on a line and a rest", "a; b; c", []string{"a;", "b;"}, "c"},
		{"several lines", "select\n  1\n;", []string{"select\n  1\n;"}, ""},
		{"empty ones", ";; ;\n;", nil, ""},
		{"in quotes", `select ';', ";", 'it''s;' ;`, []string{`select ';', ";", 'it''s;' ;`}, ""},
		{"quote over lines", "select 'a;\nb';x", []string{"select 'a;\nb';"}, "x"},
		{"backslash is plain", `select 'a\'; b`, []string{`select 'a\';`}, "b"},
		{"backslash escapes", `select E'a\'; b';`, []string{`select E'a\'; b';`}, ""},
		{"dollar quotes", "select $$a;b$$, $x$;$$;$x$;", []string{"select $$a;b$$, $x$;$$;$x$;"}, ""},
		{"parameter is no quote", "select $1;$2", []string{"select $1;"}, "$2"},
		{"dollar in a name", "select a$b$;", []string{"select a$b$;"}, ""},
		{"line comment", "select 1 -- no;\n;", []string{"select 1 -- no;\n;"}, ""},
		{"quote in a comment", "-- it's\nselect 1;", []string{"-- it's\nselect 1;"}, ""},
		{"comment after the end", "select 1;-- it's\nx;", []string{"select 1;", "-- it's\nx;"}, ""},
		{"nested comment", "/* a /* ; */ ; */ select 1;", []string{"/* a /* ; */ ; */ select 1;"}, ""},
		{"parentheses", "create rule r as on insert to t do (a; b);", []string{"create rule r as on insert to t do (a; b);"}, ""},
		{
			"body of a function", "create function f() returns int begin atomic\nselect case when true then 1 end;\nselect 2;\nend; x;",
			[]string{"create function f() returns int begin atomic\nselect case when true then 1 end;\nselect 2;\nend;", "x;"}, "",
		},
		{"begin by itself", "begin; end;", []string{"begin;", "end;"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Splitter
			var got []string
			for _, line := range strings.Split(c.lines, "\n") {
				got = append(got, s.Add(line)...)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("statements (-want +got):\n%s", diff)
			}
			if pending := s.Pending(); pending != (c.rest != "") {
				t.Errorf("Pending() = %v", pending)
			}
			if rest := s.Rest(); rest != c.rest {
				t.Errorf("Rest() = %q, want %q", rest, c.rest)
			}
		})
	}
}

func TestTableIsAligned(t *testing.T) {
	text := func(s string) *string { return &s }
	var b strings.Builder
	err := (&table{
		columns: []string{"id", "a name"},
		right:   []bool{true, false},
		rows:    [][]*string{{text("1"), text("größe")}, {text("200"), nil}, {nil, text("two\nlines\x1b[2J")}},
	}).write(&b)
	if err != nil {
		t.Fatal(err)
	}
	want := "" +
		" id  |  a name\n" +
		"-----+-----------\n" +
		"   1 | größe\n" +
		" 200 |\n" +
		"     | two\n" +
		"     | lines\uFFFD[2J\n" +
		"(3 rows)\n\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCopyKind(t *testing.T) {
	for statement, want := range map[string]string{
		"copy t from stdin;": "stdin", "-- c\n/* d */ COPY t (a)\nFROM  STDIN WITH (FORMAT csv);": "stdin",
		"COPY (SELECT 'from stdin') TO STDOUT;": "stdout", "copy t from '/x';": "", "select 'copy t from stdin';": "",
		"copyright": "", "co": "", "--": "", "/* copy t from stdin": "",
	} {
		if got := copyKind(statement); got != want {
			t.Errorf("%q: %q, want %q", statement, got, want)
		}
	}
}

func TestCopyReaderEndsAtTheMark(t *testing.T) {
	lines := []string{"1\ta", "", `\.`, "select 1;"}
	r := &copyReader{next: func() (string, error) {
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}}
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "1\ta\n\n" || len(lines) != 1 || !r.ended {
		t.Errorf("%q, %v, %q left", got, err, lines)
	}
}
