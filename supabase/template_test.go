package supabase

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// A template's name changes with everything that a new database is made of,
// and with nothing else.
func TestTemplateNames(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Dir(script(t, "echo 3.1.0").Path)
	name := func(environ ...string) string {
		t.Helper()
		environ = append(environ, "PATH="+bin+":"+os.Getenv("PATH"), accountVariable+"=somebody")
		got, err := newStack(t, t.TempDir(), "one", dir, environ...).Template(context.Background())
		ok(t, err)
		return got
	}
	write(t, dir, map[string]string{"supabase/config.toml": "[db.seed]\nsql_paths = [\"../seeds/*.sql\"]\n[auth.external.github]\nsecret = \"env(GITHUB_SECRET)\"\n",
		"supabase/migrations/1_a.sql": "", "seeds/a.sql": "1"})
	last := name()
	for _, c := range []struct {
		file, text string
		same       bool
	}{
		{"supabase/migrations/1_a.sql", "x", false},
		{"supabase/migrations/2_b.sql", "", false},
		{"supabase/roles.sql", "", false},
		{"seeds/a.sql", "2", false},
		{"seeds/b.sql", "", false},
		{".env", "A=1", false},
		{"supabase/functions/hello/index.ts", "x", true},
		{"src/app.js", "x", true},
	} {
		write(t, dir, map[string]string{c.file: c.text})
		now := name()
		if (now == last) != c.same {
			t.Errorf("%s: the name stays: %v, want %v", c.file, now == last, c.same)
		}
		last = now
	}
	if name("GITHUB_SECRET=x") == last || name("OTHER=x") != last {
		t.Error("a variable counts exactly if config.toml names it")
	}
}
