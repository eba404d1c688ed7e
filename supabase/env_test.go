package supabase

import (
	"strings"
	"testing"

	"forklift/storage/fault"
)

var status = map[string]string{apiURL: "http://127.0.0.1:1", dbURL: "postgresql://postgres:pw@127.0.0.1:2/postgres", publishableKey: "sb_publishable_x",
	anonKey: "anon", secretKey: "sb_secret_x", serviceRoleKey: "role", "STORAGE_S3_URL": "http://127.0.0.1:1/s3"}

// named are the variables of options, "NAME=value", secrets with a star.
func named(o Options, connection string) string {
	var list []string
	for _, v := range o.variables(status, connection) {
		text := v.Name + "=" + v.Value
		if v.Secret {
			text += "*"
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func TestVariables(t *testing.T) {
	plain := "SUPABASE_ANON_KEY=anon SUPABASE_DB_URL=" + status[dbURL] + "* SUPABASE_PUBLISHABLE_KEY=sb_publishable_x SUPABASE_SECRET_KEY=sb_secret_x* SUPABASE_SERVICE_ROLE_KEY=role* SUPABASE_URL=http://127.0.0.1:1"
	if got, want := named(Options{Presets: []string{}}, ""), plain; got != want {
		t.Errorf("without presets:\n%s\nwant\n%s", got, want)
	}
	want := "DATABASE_URL=" + status[dbURL] + "* NEXT_PUBLIC_SUPABASE_ANON_KEY=anon NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY=sb_publishable_x NEXT_PUBLIC_SUPABASE_URL=http://127.0.0.1:1 " + plain
	if got := named(Options{}, "DATABASE_URL"); got != want {
		t.Errorf("by default:\n%s\nwant\n%s", got, want)
	}
	o := Options{Presets: []string{"vite", "expo"}, Env: map[string]string{"DIRECT_URL": dbURL, "S3": "STORAGE_S3_URL", "ABSENT": "STUDIO_URL"}}
	want = "DIRECT_URL=" + status[dbURL] + "* EXPO_PUBLIC_SUPABASE_ANON_KEY=anon EXPO_PUBLIC_SUPABASE_PUBLISHABLE_KEY=sb_publishable_x EXPO_PUBLIC_SUPABASE_URL=http://127.0.0.1:1 S3=http://127.0.0.1:1/s3 " + plain +
		" VITE_SUPABASE_ANON_KEY=anon VITE_SUPABASE_PUBLISHABLE_KEY=sb_publishable_x VITE_SUPABASE_URL=http://127.0.0.1:1"
	if got := named(o, ""); got != want {
		t.Errorf("with two presets:\n%s\nwant\n%s", got, want)
	}
}

func TestNoPresetShowsASecret(t *testing.T) {
	for _, v := range (Options{Presets: presetNames()}).variables(status, "") {
		if v.Secret && publicName(v.Name) {
			t.Errorf("%s shows a secret", v.Name)
		}
	}
}

func TestOptionsAreRefusedByName(t *testing.T) {
	for text, want := range map[string]string{
		`{"env": {"NEXT_PUBLIC_KEY": "SECRET_KEY"}}`:              "NEXT_PUBLIC_KEY would show the secret SECRET_KEY",
		`{"env": {"VITE_ROLE": "SERVICE_ROLE_KEY"}}`:              "VITE_ROLE would show the secret SERVICE_ROLE_KEY",
		`{"env": {"PUBLIC_S3": "S3_PROTOCOL_ACCESS_KEY_SECRET"}}`: "PUBLIC_S3 would show",
		`{"env": {"EXPO_PUBLIC_DB": "DB_URL"}}`:                   "EXPO_PUBLIC_DB would show",
		`{"env": {"nuxt_public_x": "JWT_SECRET"}}`:                "nuxt_public_x would show",
		`{"env": {"NEXT_PUBLIC_LATER": "SOME_NEW_KEY"}}`:          "NEXT_PUBLIC_LATER would show",
		`{"env": {"SUPABASE_HOME": "API_URL"}}`:                   "SUPABASE_HOME is set by Forklift itself",
		`{"env": {"A B": "API_URL"}}`:                             `"A B" is not the name`,
		`{"env": {"A": "api.url"}}`:                               `"api.url" is not a name`,
		`{"exclude": ["kong"]}`:                                   `there is no service "kong"`,
		`{"presets": ["rails"]}`:                                  `there is no preset "rails"`,
		`{"exlude": []}`:                                          `unknown field "exlude"`,
	} {
		err := new(Options).parse([]byte(text))
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := new(Options).parse([]byte(`{"exclude": ["studio"], "presets": [], "env": {"NEXT_PUBLIC_A": "ANON_KEY", "KEY": "SECRET_KEY"}}`)); err != nil {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	for text, want := range map[string]fault.Kind{
		`{"kind": "supabase", "runtime": "docker"}`: fault.Unsupported,
		`{"kind": "supabase", "runtime": "podman"}`: fault.Unsupported,
		`{"kind": "supabase", "runtime": "lxc"}`:    fault.Usage,
		`{"kind": "postgres"}`:                      fault.Usage,
		`{"directory": "../x"}`:                     fault.Usage,
		`{"directory": "/x"}`:                       fault.Usage,
		`{"path": "x"}`:                             fault.Usage,
	} {
		if err := new(Settings).parse([]byte(text)); err == nil || fault.KindOf(err) != want || fault.HintOf(err) == "" {
			t.Errorf("%s: %v (%v), want %v", text, err, fault.KindOf(err), want)
		}
	}
	if err := new(Settings).parse([]byte(`{"kind": "supabase", "runtime": "native", "directory": "apps/db"}`)); err != nil {
		t.Error(err)
	}
}
