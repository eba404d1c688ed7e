package psql

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// items reads all of a text: one line per item, "kind line text".
func items(text string, standard bool) ([]string, error) {
	s := NewScanner(strings.NewReader(text), 1<<20)
	s.StandardStrings = standard
	var got []string
	for {
		item, err := s.Next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		line := fmt.Sprintf("%d %d %s", item.Kind, item.Line, item.Text)
		if item.Kind == Copy {
			data, err := io.ReadAll(item.Data)
			if err != nil {
				return got, err
			}
			line += fmt.Sprintf(" <%d: %s>", item.DataLine, data)
		}
		got = append(got, line)
	}
}

func TestScan(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", " \n-- only a comment\n/* and /* another */ */;;\n", nil},
		{"two on a line", "SELECT 1; SELECT 2;", []string{"0 1 SELECT 1;", "0 1 SELECT 2;"}},
		{"no last semicolon", "SELECT 1;\n\nSELECT 2\n", []string{"0 1 SELECT 1;", "0 3 SELECT 2\n"}},
		{"byte order mark", "\xEF\xBB\xBFSELECT 1;", []string{"0 1 SELECT 1;"}},
		{"comments before", "-- a\n\n/* b\n */ SELECT -- c;\n 1;", []string{"0 4 SELECT \n 1;"}},
		{"comment keeps tokens apart", "SELECT/*;*/1;", []string{"0 1 SELECT 1;"}},
		{"semicolons in quotes", `SELECT ';''', ";""", 1;`, []string{`0 1 SELECT ';''', ";""", 1;`}},
		{"a backslash is a character", `SELECT '\'; SELECT 2;`, []string{`0 1 SELECT '\';`, "0 1 SELECT 2;"}},
		{"escape string", `SELECT E'\';', e';\\'; SELECT 2;`, []string{`0 1 SELECT E'\';', e';\\';`, "0 1 SELECT 2;"}},
		{"escape string with doubled quote", `SELECT E'a''\';'; SELECT 2;`, []string{`0 1 SELECT E'a''\';';`, "0 1 SELECT 2;"}},
		{"escape string goes on", "SELECT E'a'\n '\\';'; SELECT 2;", []string{"0 1 SELECT E'a'\n '\\';';", "0 2 SELECT 2;"}},
		{"no escape string", `SELECT type'\'; SELECT 2;`, []string{`0 1 SELECT type'\';`, "0 1 SELECT 2;"}},
		{"unicode string", `SELECT U&'\'; SELECT 2;`, []string{`0 1 SELECT U&'\';`, "0 1 SELECT 2;"}},
		{"dollar quotes", "SELECT $$;'$$, $a$ $$; $b$ $a$, $é$;$é$; SELECT $1;", []string{"0 1 SELECT $$;'$$, $a$ $$; $b$ $a$, $é$;$é$;", "0 1 SELECT $1;"}},
		{"dollar in a name", "SELECT a$b$ FROM t; SELECT 2;", []string{"0 1 SELECT a$b$ FROM t;", "0 1 SELECT 2;"}},
		{"dollar that overlaps", "SELECT $a$$a$; SELECT $a$$a$a$;", []string{"0 1 SELECT $a$$a$;", "0 1 SELECT $a$$a$a$;"}},
		{"rule in parentheses", "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3;",
			[]string{"0 1 CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2);", "0 1 SELECT 3;"}},
		{"atomic body", "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3;",
			[]string{"0 1 CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END;", "0 1 SELECT 3;"}},
		{"transaction", "BEGIN; CREATE TABLE case_(); END;", []string{"0 1 BEGIN;", "0 1 CREATE TABLE case_();", "0 1 END;"}},
		{"commands", "\\connect app\nSELECT 1;\n\\echo ;'\n\\q", []string{"2 1 connect app", "0 2 SELECT 1;", "2 3 echo ;'", "2 4 q"}},
		{"escaped colon", `SELECT a\:\:int;`, []string{"0 1 SELECT a::int;"}},
		{"copy", "COPY public.t (a, b) FROM stdin;\n1\t;'\n\\\\.\n\\.\n\nSELECT 2;",
			[]string{"1 1 COPY public.t (a, b) FROM stdin; <2: 1\t;'\n\\\\.\n>", "0 6 SELECT 2;"}},
		{"copy without rows", "COPY t FROM STDIN; -- rows\n\\.\nSELECT 2;", []string{"1 1 COPY t FROM STDIN; <2: >", "0 3 SELECT 2;"}},
		{"copy with line ends of Windows", "copy t from\n stdin with (format csv);\r\n1\r\n\\.\r\nSELECT 2;\r\n",
			[]string{"1 1 copy t from\n stdin with (format csv); <3: 1\r\n>", "0 5 SELECT 2;"}},
		{"copy to the end", "COPY t FROM stdin;\n1\n2", []string{"1 1 COPY t FROM stdin; <2: 1\n2>"}},
		{"copy from a file", "COPY t FROM 'stdin'; COPY (SELECT 1 FROM stdin) TO '/x';", []string{"0 1 COPY t FROM 'stdin';", "0 1 COPY (SELECT 1 FROM stdin) TO '/x';"}},
		{"not copy", "SELECT * FROM stdin;\n1;", []string{"0 1 SELECT * FROM stdin;", "0 2 1;"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := items(test.text, true)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestScanOldStrings(t *testing.T) {
	got, err := items(`SELECT '\';'; SELECT 2;`, false)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{`0 1 SELECT '\';';`, "0 1 SELECT 2;"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestScanErrors(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1;\nSELECT 'x":                   "the file ends in a string that begins in line 2",
		"SELECT \"x":                             "the file ends in a quoted name that begins in line 1",
		"\nSELECT $a$ $b$":                       "the file ends in the dollar quote $a$ that begins in line 2",
		"/* /* */ \n":                            "the file ends in a comment that begins in line 1",
		"COPY t FROM stdin; SELECT 1;\n1\n\\.\n": `"SELECT 1;" stands between COPY and its data`,
		"SELECT '" + strings.Repeat("x", 1<<20):  "the statement that begins in line 1 has more than 1048576 bytes",
	} {
		if _, err := items(text, true); err == nil || err.Error() != want {
			t.Errorf("%.20q: error %v, want %s", text, err, want)
		}
	}
}

func TestScanCopyOfLongLines(t *testing.T) {
	long := strings.Repeat("abc\\.", 100_000)
	text := "COPY t FROM stdin;\n" + long + "\n" + long + "\n\\.\nSELECT 2;"
	got, err := items(text, true)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 1 COPY t FROM stdin; <2: " + long + "\n" + long + "\n>", "0 5 SELECT 2;"}
	if !cmp.Equal(want, got) {
		t.Errorf("%d items, the first of %d bytes", len(got), len(got[0]))
	}
}

// FuzzScan checks that no text makes the scanner lose bytes of COPY data or
// statements, hang or fail otherwise than by an error.
func FuzzScan(f *testing.F) {
	f.Add("COPY t FROM stdin;\n1\n\\.\n\\connect x\nSELECT $a$;$a$, E'\\'', \"a\"\"b\" /* /* */ */ -- c\n;", true)
	f.Add("CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END;", false)
	f.Add("\\:\\;\\\\ 'x", true)
	f.Fuzz(func(t *testing.T, text string, standard bool) {
		if len(text) > 1<<16 {
			return
		}
		got, err := items(text, standard)
		total := 0
		for _, line := range got {
			total += len(line)
		}
		const perItem = 60 // the kind, two lines, brackets
		if total > len(text)+perItem*len(got) {
			t.Errorf("%d bytes became %d (%v)", len(text), total, err)
		}
	})
}
