package postgres

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forklift/engine"
	"forklift/storage/fault"
)

// environment is a Getenv of fixed values.
func environment(values map[string]string) func(string) string {
	return func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		if name == "XDG_RUNTIME_DIR" {
			return ""
		}
		return os.Getenv(name)
	}
}

func TestEnvIsTheSameForEver(t *testing.T) {
	c := initialised(t)
	vars, err := c.Env(t.Context(), "MY_URL")
	must(t, err)
	byName := map[string]string{}
	for _, v := range vars {
		byName[v.Name] = v.Value
		if v.Secret {
			t.Errorf("%s is no secret", v.Name)
		}
	}
	socket, err := c.socketDir(t.Context())
	must(t, err)
	if byName["PGHOST"] != socket || byName["PGPORT"] != "5432" || byName["PGUSER"] != "postgres" || byName["PGDATABASE"] != "app" ||
		byName["MY_URL"] != "postgresql://postgres@/app?host="+socket {
		t.Errorf("environment %v", byName)
	}
	must(t, c.Start(t.Context(), engine.SlotA))
	if got := run(t, c, "psql", "-d", byName["MY_URL"], "-Atc", "SELECT current_database()"); got != "app\n" {
		t.Errorf("psql with the URL: %q", got)
	}
	// Another login, another environment.
	other := branchIn(t, Options{FS: c.opt.FS, Clock: c.opt.Clock, RuntimeDir: "/elsewhere"}, filepath.Dir(c.branch.Dir), nil)
	again, err := other.Env(t.Context(), "MY_URL")
	must(t, err)
	if again[0] != vars[0] {
		t.Errorf("the URL became %s, it was %s", again[0].Value, vars[0].Value)
	}
}

func TestConnectionURLOfOddNames(t *testing.T) {
	got := connectionURL("/r un/a&b=c+d%?#'é", `a/b?c d"@:é`)
	u, err := url.Parse(got)
	must(t, err)
	if u.Query().Get("host") != "/r un/a&b=c+d%?#'é" || strings.Contains(got, "+") || u.Path != `/a/b?c d"@:é` || len(u.Query()) != 1 {
		t.Errorf("%s is read as %q, %q", got, u.Path, u.Query())
	}
}

func TestSocketDirectoryVanishes(t *testing.T) {
	c := initialised(t)
	must(t, c.Start(t.Context(), engine.SlotA))
	must(t, c.Stop(t.Context()))
	before, err := c.socketDir(t.Context())
	must(t, err)
	must(t, os.RemoveAll(filepath.Dir(before))) // a reboot, or the end of a login
	must(t, c.Start(t.Context(), engine.SlotA))
	if after, err := c.socketDir(t.Context()); err != nil || after != before {
		t.Errorf("the socket moved from %s to %s (%v)", before, after, err)
	}
	must(t, os.RemoveAll(before))
	if err := c.Start(t.Context(), engine.SlotA); err == nil || !strings.Contains(fault.HintOf(err), "db stop") {
		t.Errorf("a running server without its socket: %v", err)
	}
	must(t, c.Stop(t.Context()))
	must(t, c.Start(t.Context(), engine.SlotA))
	if got := value(t, c, "SELECT 'here'"); got != "here" {
		t.Error(got)
	}
}

func TestSocketDirectoryOfOthers(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"mode": func(dir string) error { return os.Chmod(dir, 0o755) },
		"link": func(dir string) error {
			real := dir + "-real"
			if err := os.Rename(dir, real); err != nil {
				return err
			}
			return os.Symlink(real, dir)
		},
		"file": func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		},
		"owner": func(dir string) error { return os.Chown(dir, 12345, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "owner" && os.Geteuid() != 0 {
				return // only root can make a directory another user's
			}
			c := initialised(t)
			socket, err := c.socketDir(t.Context())
			must(t, err)
			for _, dir := range []string{socket, filepath.Dir(socket)} {
				must(t, os.MkdirAll(socket, 0o700))
				must(t, spoil(dir))
				err := c.Start(t.Context(), engine.SlotA)
				if kind := fault.KindOf(err); kind != fault.Untrusted || !strings.Contains(err.Error(), dir) {
					t.Errorf("%s: %v (%s)", dir, err, kind)
				}
				must(t, os.RemoveAll(dir))
			}
		})
	}
}

func TestSocketNameHasALimit(t *testing.T) {
	opt := options(t)
	opt.RuntimeDir = "/x/" + strings.Repeat("y", 80)
	c := branch(t, opt)
	if _, err := c.Env(t.Context(), "URL"); fault.KindOf(err) != fault.Unsupported || !strings.Contains(fault.HintOf(err), "XDG_RUNTIME_DIR") {
		t.Errorf("a socket name of more than %d bytes: %v", maxSocketBytes, err)
	}
}

func TestSocketParent(t *testing.T) {
	c := branch(t, options(t))
	c.opt.RuntimeDir = ""
	own := identity{Method: Own, UID: os.Geteuid()}
	private, open := t.TempDir(), t.TempDir()
	must(t, os.Chmod(private, 0o700))
	must(t, os.Chmod(open, 0o755))
	for xdg, want := range map[string]string{
		private:                      private + "/forklift",
		open:                         c.sharedParent(own),
		"":                           c.sharedParent(own),
		"relative":                   c.sharedParent(own),
		filepath.Join(private, "no"): c.sharedParent(own),
	} {
		c.opt.Getenv = environment(map[string]string{"XDG_RUNTIME_DIR": xdg})
		if got := c.socketParent(own); got != want {
			t.Errorf("XDG_RUNTIME_DIR=%q: sockets in %s, want %s", xdg, got, want)
		}
	}
}

func TestRemove(t *testing.T) {
	c := initialised(t)
	must(t, c.Start(t.Context(), engine.SlotA))
	socket, err := c.socketDir(t.Context())
	must(t, err)
	if err := c.Remove(t.Context()); fault.KindOf(err) != fault.Busy {
		t.Errorf("a running server's socket was removed: %v", err)
	}
	must(t, c.Stop(t.Context()))
	must(t, c.Remove(t.Context()))
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket's directory is still there")
	}
	must(t, c.Remove(t.Context()))
}

// TestOldEnvironmentOfClients has the variables set that libpq reads: they must not lead
// our own sessions elsewhere.
func TestOldEnvironmentOfClients(t *testing.T) {
	for name, v := range map[string]string{"PGHOST": "example.invalid", "PGPORT": "1,2", "PGUSER": "nobody", "PGDATABASE": "nothing", "PGSERVICE": "not_there",
		"PGOPTIONS": "-c search_path=nowhere", "PGSSLMODE": "verify-full", "PGTARGETSESSIONATTRS": "standby", "PGCONNECT_TIMEOUT": "x", "PGAPPNAME": "x",
		"PGDATA": "/nowhere", "PGMINPROTOCOLVERSION": "9", "PGTZ": "Asia/Tokyo"} {
		t.Setenv(name, v)
	}
	c := started(t)
	if got := value(t, c, "SELECT current_user || current_database() || current_setting('timezone') || current_setting('application_name')"); got != "postgresappUTCforklift" {
		t.Errorf("connected as %s", got)
	}
	must(t, c.Load(t.Context(), []string{write(t, "x.sql", "CREATE TABLE t (n int);")}, ""))
}
