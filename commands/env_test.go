package commands_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forklift/commands"
	"forklift/commands/internal/standin"
	"forklift/storage/fault"
)

// nasty are values that break careless quoting.
var nasty = []string{
	"", "plain", "with space", `it's`, `"double"`, "$HOME ${HOME} $(id) `id`", `back\slash\n`, "new\nline", "#no comment",
	"a#b", "!history!", "tab\there", "ends with \\", "'", "''", "\"'$`\\\n", "größe ☃", "a=b&c;d|e>f", "*?[x]~",
}

func variables() []commands.Variable {
	var vars []commands.Variable
	for i, value := range nasty {
		vars = append(vars, commands.Variable{Name: "V_" + strings.Repeat("x", i+1), Value: value})
	}
	return vars
}

func TestShellFormatReadsBack(t *testing.T) {
	text, err := commands.FormatEnv(variables(), nil, "shell")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(text+"exec env -0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range strings.Split(string(out), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	for _, v := range variables() {
		if got[v.Name] != v.Value {
			t.Errorf("%q came back as %q", v.Value, got[v.Name])
		}
	}
}

// readDotenv reads the way that the common readers agree on: bare values up
// to the end of the line, literal single quotes, escapes in double quotes.
func readDotenv(t *testing.T, text string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("no variable: %q", line)
		}
		switch {
		case strings.HasPrefix(value, "'"):
			value = strings.TrimSuffix(value[1:], "'")
			if strings.Contains(value, "'") {
				t.Fatalf("a quote in single quotes: %q", line)
			}
		case strings.HasPrefix(value, `"`):
			unescape := strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, "$", "\\`", "`", `\n`, "\n", `\r`, "\r")
			value = unescape.Replace(strings.TrimSuffix(value[1:], `"`))
		case strings.ContainsAny(value, " #'\"$`\\"):
			t.Fatalf("needs quotes: %q", line)
		}
		got[name] = value
	}
	return got
}

func TestDotenvFormatReadsBack(t *testing.T) {
	text, err := commands.FormatEnv(variables(), nil, "dotenv")
	if err != nil {
		t.Fatal(err)
	}
	got := readDotenv(t, text)
	for _, v := range variables() {
		if got[v.Name] != v.Value {
			t.Errorf("%q came back as %q", v.Value, got[v.Name])
		}
	}
}

func TestJSONFormatIsOneObject(t *testing.T) {
	text, err := commands.FormatEnv(variables(), nil, "json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	for _, v := range variables() {
		if got[v.Name] != v.Value {
			t.Errorf("%q came back as %q", v.Value, got[v.Name])
		}
	}
	if empty, err := commands.FormatEnv(nil, nil, "json"); err != nil || empty != "{}\n" {
		t.Errorf("no variables: %q, %v", empty, err)
	}
}

func TestNamesThatAShellWouldRunAreRefused(t *testing.T) {
	for _, v := range []commands.Variable{{Name: "A;id", Value: "x"}, {Name: "", Value: "x"}, {Name: "1A", Value: "x"}, {Name: "A", Value: "a\x00b"}} {
		if text, err := commands.FormatEnv([]commands.Variable{v}, nil, "shell"); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %q, %v", v, text, err)
		}
	}
}

func TestURLIsThatOfTheConnectionVariable(t *testing.T) {
	e := &standin.Engine{}
	r, err := commands.DBURL(context.Background(), newEnv(t, e), commands.DBURLRequest{})
	if err != nil || r.URL != standin.Vars()[0].Value {
		t.Errorf("%+v, %v", r, err)
	}
	e.Settings.ConnectionEnv = "OTHER_URL"
	if _, err := commands.DBURL(context.Background(), newEnv(t, e), commands.DBURLRequest{}); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("no such variable: %v", err)
	}
}

func TestVariablesThatNoShellTakes(t *testing.T) {
	for _, v := range []commands.Variable{{Name: "A-B", Value: "x"}, {Name: "1A", Value: "x"}, {Name: "A", Value: "x\x00y"}} {
		text, err := commands.FormatEnv([]commands.Variable{v}, nil, "shell")
		if text != "" || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "it cannot be written as a variable of a shell") {
			t.Errorf("%+v is written as %q, %v", v, text, err)
		}
	}
}
