package supabase

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forklift/testsuite/internal/harness"
	"forklift/testsuite/internal/supaworld"
)

// shape is a kind of project that is met outside.
type shape struct {
	files map[string]string
	query string // after setup
	want  string
	dir   string // of the project, which setup has to find; "" for the top
	back  bool   // it is restored, too
}

// config17 begins the config.toml of a shape.
const config17 = "project_id = \"shape\"\n[db]\nmajor_version = 17\n"

var shapes = map[string]shape{
	// The project below the top, and a config.toml from before the mail service
	// got its present name.
	"monorepo": {dir: "apps/web", back: true,
		files: map[string]string{
			"package.json":                                          `{"name": "all", "private": true, "workspaces": ["apps/*"]}`,
			"apps/web/package.json":                                 `{"name": "web", "private": true}`,
			"apps/web/src/page.js":                                  "export default 1\n",
			"apps/web/supabase/config.toml":                         config17 + "[inbucket]\nenabled = true\nport = 54324\nsmtp_port = 54325\npop3_port = 54326\n",
			"apps/web/supabase/migrations/1.md":                     "no migration\n",
			"apps/web/supabase/migrations/20260101000000_pages.sql": "CREATE TABLE public.pages (title text);\nINSERT INTO public.pages VALUES ('home');\n",
		},
		query: `SELECT title FROM pages`, want: "home"},
	// Secrets of log-in providers come from the environment or an .env file.
	"providers": {
		files: map[string]string{
			".gitignore":   ".env\n",
			"package.json": `{"name": "app", "private": true}`,
			"supabase/config.toml": config17 + `[auth]
site_url = "env(APP_ADDRESS)"
[auth.external.github]
enabled = true
client_id = "env(GITHUB_ID)"
secret = "env(GITHUB_SECRET)"
redirect_uri = "env(GITHUB_BACK)"
`,
			"supabase/.env": "APP_ADDRESS=http://127.0.0.1:3000\nGITHUB_ID=an-id\nGITHUB_SECRET=a-secret\nGITHUB_BACK=http://127.0.0.1:3000/back\n",
			"supabase/migrations/20260101000000_plans.sql": "CREATE TABLE public.plans (name text);\nINSERT INTO public.plans VALUES ('free');\n",
		},
		query: `SELECT name FROM plans`, want: "free"},
	// Edge functions, and a function of the database that Auth calls.
	"functions": {
		files: map[string]string{
			"package.json": `{"name": "app", "private": true}`,
			"supabase/config.toml": config17 + `[functions.hello]
verify_jwt = false
import_map = "./functions/hello/deno.json"
[auth.hook.custom_access_token]
enabled = true
uri = "pg-functions://postgres/public/claims"
`,
			"supabase/functions/hello/index.ts":  "Deno.serve(() => new Response(\"hello\"))\n",
			"supabase/functions/hello/deno.json": "{\"imports\": {}}\n",
			"supabase/migrations/20260101000000_claims.sql": "CREATE FUNCTION public.claims(event jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT event';\n" +
				"GRANT EXECUTE ON FUNCTION public.claims TO supabase_auth_admin;\n",
		},
		query: `SELECT count(*) FROM pg_proc WHERE proname = 'claims'`, want: "1"},
	// Seed files found by patterns, and roles of the project's own.
	"seeds": {back: true,
		files: map[string]string{
			"package.json":         `{"name": "app", "private": true}`,
			"supabase/config.toml": config17 + "[db.seed]\nenabled = true\nsql_paths = [\"./seeds/*.sql\", \"./more/last.sql\"]\n",
			"supabase/roles.sql":   "CREATE ROLE librarian NOLOGIN;\n",
			"supabase/migrations/20260101000000_books.sql": "CREATE TABLE public.books (id int, title text);\nGRANT SELECT ON public.books TO librarian;\n",
			"supabase/seeds/1_first.sql":                   "INSERT INTO public.books VALUES (1, 'one');\n",
			"supabase/seeds/2_second.sql":                  "INSERT INTO public.books SELECT max(id) + 1, 'two' FROM public.books;\n",
			"supabase/more/last.sql":                       "INSERT INTO public.books SELECT max(id) + 1, 'three' FROM public.books;\n",
		},
		query: `SELECT string_agg(title, ',' ORDER BY id) FROM books JOIN pg_roles ON rolname = 'librarian'`, want: "one,two,three"},
}

// TestShapesOfProjects sets up projects that have no .forklift.json: setup
// writes one that names the project, the stack has what migrations and seeds
// say, and, of those that differ in where things are, a restore brings it back.
func TestShapesOfProjects(t *testing.T) {
	t.Parallel()
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s.files)
			w.setUp()
			text, err := os.ReadFile(filepath.Join(w.Repo, ".forklift.json"))
			must(t, err)
			var written struct {
				Database struct{ Kind, Directory string }
			}
			must(t, json.Unmarshal(text, &written))
			if written.Database.Kind != "supabase" || written.Database.Directory != s.dir {
				t.Errorf("setup wrote %s", text)
			}
			if got := w.query(s.query); got != s.want {
				t.Errorf("%s: %s, want %s", s.query, got, s.want)
			}
			if s.back {
				w.forklift("capture", "good")
				w.query(`CREATE TABLE public.bad_idea (x int)`)
				w.forklift("restore", "good")
				if got := w.query(`SELECT coalesce(to_regclass('public.bad_idea')::text, 'none')`); got != "none" {
					t.Errorf("after restore there is %s", got)
				}
				if got := w.query(s.query); got != s.want {
					t.Errorf("after restore: %s: %s, want %s", s.query, got, s.want)
				}
			}
			if got := strings.TrimSpace(w.git("status", "--porcelain")); got != "?? .forklift.json" {
				t.Errorf("git status: %s", got)
			}
		})
	}
}

// TestAFailingMigration sets up a project whose second migration is wrong:
// setup says what the CLI says and leaves nothing; with the migration put right
// it goes through.
func TestAFailingMigration(t *testing.T) {
	t.Parallel()
	const wrong = "supabase/migrations/20260301000000_wrong.sql"
	w := newWorld(t, fixture(t, map[string]string{wrong: "ALTER TABLE public.no_such_table ADD COLUMN x int;\n"}))
	r := w.run("setup", "--yes")
	if r.Code != 1 || !strings.Contains(r.Stderr, "no_such_table") || !strings.Contains(r.Stderr, "hint: ") {
		t.Errorf("setup with a wrong migration: %v", r)
	}
	if left, err := harness.WaitForNone(w.Root, patience); err != nil || len(left) > 0 {
		t.Errorf("processes are left: %v %v", left, err)
	}
	if r := w.run("status"); r.Code != 4 {
		t.Errorf("status after a setup that failed: %v", r)
	}
	for _, place := range []string{"worktrees", "branches"} {
		found, err := filepath.Glob(filepath.Join(harness.Lookup(w.Env, "XDG_DATA_HOME"), "forklift", place, "*"))
		if err != nil || len(found) > 0 {
			t.Errorf("the failed setup left %v, %v", found, err)
		}
	}
	w.clean()
	w.Write(t, wrong, "ALTER TABLE public.notes ADD COLUMN x int;\n")
	anybody, _ := w.setUp()
	if _, _, err := anybody.SignUp(ada, adaWord); err != nil {
		t.Error(err)
	}
	// A migration that fails later does not hurt the running stack.
	w.Write(t, "supabase/migrations/20260302000000_wrong.sql", "SELECT 1 / 0;\n")
	if r := w.run("run", "--", "supabase", "migration", "up"); r.Code == 0 || !strings.Contains(r.Stderr+r.Stdout, "division by zero") {
		t.Errorf("a migration that fails: %v", r)
	}
	if _, err := anybody.LogIn(ada, adaWord); err != nil {
		t.Errorf("after a migration that failed: %v", err)
	}
}

// TestOldCLI refuses a CLI without stacks by its version, and a project
// without any by what to install. The question for the version leaves nothing in
// ~/.supabase: the CLI is told not to look for a newer one, nor to count its use.
func TestOldCLI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fixture(t, nil))
	old := filepath.Join(w.Root, "old")
	must(t, os.Mkdir(old, 0o755))
	must(t, os.WriteFile(filepath.Join(old, "supabase"), []byte("#!/bin/sh\nenv >\"$0.env\"\necho 2.117.0\n"), 0o755))
	path := harness.Lookup(w.Env, "PATH")
	bin, rest, _ := strings.Cut(path, string(os.PathListSeparator))
	for first, want := range map[string]string{old + string(os.PathListSeparator): "2.117.0", "": `"database": {"kind": "postgres"}`} {
		env := []string{"PATH=" + bin + string(os.PathListSeparator) + first + strings.ReplaceAll(rest, shared.hub.CLI+string(os.PathListSeparator), ""),
			"DO_NOT_TRACK=", "SUPABASE_NO_UPDATE_NOTIFIER="}
		if r := w.Exec(t, deadline, env, "forklift", "setup", "--yes"); r.Code == 0 || !strings.Contains(r.Stderr, want) {
			t.Errorf("want a refusal that says %q: %v", want, r)
		}
	}
	told, err := os.ReadFile(filepath.Join(old, "supabase.env"))
	must(t, err)
	for _, name := range []string{"DO_NOT_TRACK=1\n", "SUPABASE_NO_UPDATE_NOTIFIER=1\n"} {
		if !strings.Contains(string(told), name) {
			t.Errorf("the CLI is not told %s", name)
		}
	}
	w.clean()
}

// TestPublicNamesOfSecrets refuses a mapping that would show a secret key to
// browsers, and gives the variables of other frameworks.
func TestPublicNamesOfSecrets(t *testing.T) {
	t.Parallel()
	const settings = `{"format": 1, "source": ["src"], "database": {"kind": "supabase"}, "supabase": {"presets": ["vite", "nuxt"], "env": {%s}}}` + "\n"
	w := newWorld(t, fixture(t, map[string]string{".forklift.json": strings.Replace(settings, "%s", `"VITE_KEY": "SERVICE_ROLE_KEY"`, 1)}))
	if r := w.run("setup", "--yes"); r.Code != 2 || !strings.Contains(r.Stderr, "VITE_KEY") {
		t.Errorf("a secret under a public name: %v", r)
	}
	w.Write(t, ".forklift.json", strings.Replace(settings, "%s", `"DIRECT_URL": "DB_URL"`, 1))
	w.setUp()
	vars := w.vars()
	anybody := supaworld.Client{URL: vars["VITE_SUPABASE_URL"], Key: vars["NUXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY"]}
	if _, _, err := anybody.SignUp(ada, adaWord); err != nil {
		t.Error(err)
	}
	if vars["DIRECT_URL"] == "" || vars["DIRECT_URL"] != vars["DATABASE_URL"] {
		t.Errorf("DIRECT_URL is not the database's address")
	}
	for name, value := range vars {
		secret := value == vars["SUPABASE_SECRET_KEY"] || value == vars["SUPABASE_SERVICE_ROLE_KEY"]
		if secret && strings.Contains(name, "PUBLIC") || secret && strings.HasPrefix(name, "VITE_") {
			t.Errorf("%s is a secret under a public name", name)
		}
	}
}
