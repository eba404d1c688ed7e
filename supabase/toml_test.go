package supabase

import (
	"strings"
	"testing"

	"forklift/storage/fault"
)

const userConfig = `project_id = "notes" # of the project
[api]
port = 54321
schemas = ["public"] # port = 1
[db]
port=54322
  shadow_port = 54320
major_version = 17
[db.pooler]
"port" = 54329
[db.seed]
sql_paths = [
  "./a.sql",
  "port = 3",
]
[inbucket]
enabled = true
port = 54324
smtp_port = 54325
pop3_port = 54326
[auth.email.smtp]
port = 587
pass = """
[api]
port = 9
"""
[edge_runtime]
inspector_port = 8083
`

func TestDeriveDropsFixedPortsOnly(t *testing.T) {
	got, err := derive("config.toml", []byte(userConfig), map[string]int{"api": 20001, "db": 20002, "studio": 20003})
	if err != nil {
		t.Fatal(err)
	}
	want := `project_id = "notes" # of the project
[api]
port = 20001
schemas = ["public"] # port = 1
[db]
port = 20002
major_version = 17
[db.pooler]
[db.seed]
sql_paths = [
  "./a.sql",
  "port = 3",
]
[local_smtp]
enabled = true
[auth.email.smtp]
port = 587
pass = """
[api]
port = 9
"""
[edge_runtime]

[studio]
port = 20003
`
	if string(got) != want {
		t.Errorf("derive gave\n%s\nwant\n%s", got, want)
	}
}

func TestDeriveKnowsOtherSpellings(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"dotted keys":   {"api.port = 1\napi.enabled = true\n", "api.enabled = true\n"},
		"both mails":    {"[inbucket]\nport = 1\n[local_smtp]\nport = 2\nenabled = true\n", "[local_smtp]\nenabled = true\n"},
		"no last line":  {"[db]\nport = 1", "[db]\n"},
		"CRLF":          {"[db]\r\nport = 1\r\nmajor_version = 15\r\n", "[db]\r\nmajor_version = 15\r\n"},
		"spaced header": {"[ db . pooler ] # x\nport = 1\n", "[ db . pooler ] # x\n"},
	} {
		got, err := derive("config.toml", []byte(c.text), nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestDeriveRefusesWhatItCannotDo(t *testing.T) {
	for name, text := range map[string]string{
		"inline table": "api = { port = 54321 }\n",
		"no TOML":      "[api\n",
	} {
		if got, err := derive("config.toml", []byte(text), nil); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func FuzzDerive(f *testing.F) {
	f.Add(userConfig)
	f.Add("a = '''\n[api]\nport = 1\n'''\n[api]\nport = 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := derive("config.toml", []byte(text), nil)
		if err != nil {
			return
		}
		// What it takes, it takes again, unchanged: derived files stay.
		again, err := derive("config.toml", out, nil)
		if err != nil || string(again) != string(out) {
			t.Errorf("derived again:\n%q\nbecame\n%q, %v", out, again, err)
		}
	})
}

func TestRefusedSettingsAreNamed(t *testing.T) {
	list, err := refusals([]byte(`
[api.tls]
enabled = true
[db]
major_version = 14
[edge_runtime]
deno_version = 1
[auth.email.template.invite]
content_path = "./x.html"
[storage.vector]
enabled = true
[analytics]
backend = "bigquery"
`))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range list {
		keys = append(keys, r.key)
	}
	want := "analytics.backend api.tls auth.email.template.invite.content_path db.major_version edge_runtime.deno_version storage.vector"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("refused: %s, want %s", got, want)
	}
	if list, err := refusals([]byte(userConfig)); len(list) > 0 || err != nil {
		t.Errorf("an ordinary configuration: %v, %v", list, err)
	}
}
