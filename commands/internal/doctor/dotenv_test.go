package doctor

import (
	"strings"
	"testing"

	"forklift/engine"
)

// A stack's addresses are compared like the database's; its keys are not, and
// what may be a secret in an address is not shown.
func TestVariablesOfAStack(t *testing.T) {
	const gateway = "http://127.0.0.1:61000"
	env := []engine.EnvVar{{Name: "DATABASE_URL", Value: "postgresql://postgres:x@127.0.0.1:61001/postgres"},
		{Name: "NEXT_PUBLIC_SUPABASE_URL", Value: gateway}, {Name: "SUPABASE_ANON_KEY", Value: "key"}, {Name: "SUPABASE_URL", Value: gateway}}
	for _, c := range []struct {
		verdict Verdict
		found   string
		files   map[string]string
	}{
		{Warning, "web/.env.local:1 points NEXT_PUBLIC_SUPABASE_URL to https://abc.supabase.co; .env:1 points SUPABASE_URL to http://127.0.0.1:54321",
			map[string]string{".env": "SUPABASE_URL=http://127.0.0.1:54321\nSUPABASE_ANON_KEY=another\n", "web/.env.local": "NEXT_PUBLIC_SUPABASE_URL=https://me:hunter2@abc.supabase.co/?hunter2\n"}},
		{Warning, ".env:2 points DATABASE_URL to the database postgres on 127.0.0.1:54322",
			map[string]string{".env": "SUPABASE_URL=" + gateway + "\nDATABASE_URL=postgresql://postgres:hunter2@127.0.0.1:54322/postgres\n"}},
		{OK, "NEXT_PUBLIC_SUPABASE_URL, SUPABASE_URL in the worktree's files of variables are this worktree's",
			map[string]string{".env": "SUPABASE_URL=http://localhost:61000/\nNEXT_PUBLIC_SUPABASE_URL='" + gateway + "'\n"}},
		{"", "", map[string]string{".env": "SUPABASE_ANON_KEY=another\nOTHER_URL=http://x\n"}},
	} {
		f := healthy()
		f.Env, f.DotEnv = env, map[string][]byte{}
		for name, text := range c.files {
			f.DotEnv[name] = []byte(text)
		}
		verdict, found, do := dotEnv(f)
		if verdict != c.verdict || found != c.found || (do != "") != (verdict == Warning) || strings.Contains(found+do, "hunter2") {
			t.Errorf("%v: %s, %q, %q", c.files, verdict, found, do)
		}
	}
}
