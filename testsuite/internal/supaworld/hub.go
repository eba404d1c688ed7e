package supaworld

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"testing"
	"time"

	"forklift/testsuite/internal/harness"
)

// headerTimeout is how long the archive server waits for a request's head.
const headerTimeout = time.Minute

// Hub is what all worlds of a test process share: the CLI, the stand-ins, and
// the server of the archives.
type Hub struct {
	// CLI is the folder of the program supabase.
	CLI string
	// Env are the variables that lead the CLI to the archives, as "NAME=value".
	Env []string
	// Lock is the supabase.lock that names the archives' digests; a project
	// that lacks it makes the CLI look for the real ones.
	Lock string

	bin, pg string
	server  *http.Server
}

// Open installs the CLI, builds the stand-in into bin, and serves archives of
// it and of the PostgreSQL in pg on 127.0.0.1 until Close. bin is the folder
// of the forklift program; an unprivileged account must be able to reach it, so
// it is made readable for all.
func Open(bin, pg string) (*Hub, error) {
	cli, err := cliDir()
	if err != nil {
		return nil, err
	}
	standin, err := buildStandin(bin)
	if err != nil {
		return nil, err
	}
	account, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	pins, served := map[string]any{}, map[string][]byte{}
	for _, s := range services {
		a, err := s.pack(pg, standin)
		if err != nil {
			return nil, err
		}
		pins[s.key] = s.pin(a)
		release := s.name + "-" + s.release()
		served["/"+release+"/"+release+"-"+target()+".tar.zst"] = a.archive
		served["/"+release+"/"+release+"-"+target()+".manifest.json"] = a.manifest
	}
	lock, err := json.MarshalIndent(map[string]any{"$schema": "https://supabase.com/docs/cli/supabase-lock/v1.schema.json",
		"lockfileVersion": 1, "services": pins}, "", "  ")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	url := "http://" + listener.Addr().String()
	h := &Hub{CLI: cli, Lock: string(lock) + "\n", bin: bin, pg: pg, Env: []string{
		"SUPABASE_INTERNAL_SLIM_RELEASES_URL=" + url, "SUPABASE_INTERNAL_SLIM_REGISTRY_URL=" + url, "DO_NOT_TRACK=1", "SUPABASE_NO_UPDATE_NOTIFIER=1"}}
	if account != "" {
		h.Env = append(h.Env, "SUPABASE_NATIVE_POSTGRES_USER="+account)
	}
	h.server = &http.Server{ReadHeaderTimeout: headerTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := served[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	})}
	go func() { _ = h.server.Serve(listener) }()
	return h, nil
}

// With is the same hub for another forklift, the one in the folder bin.
func (h *Hub) With(bin string) *Hub {
	return &Hub{CLI: h.CLI, Env: h.Env, Lock: h.Lock, bin: bin, pg: h.pg, server: h.server}
}

// Close stops the server of the archives.
func (h *Hub) Close() error { return h.server.Close() }

// postgresAccount is whom root runs the database as: the CLI does not choose,
// and takes only an account that has a group of its own. Where there is none,
// one is made. "" for everybody else than root.
func postgresAccount() (string, error) {
	if os.Geteuid() != 0 {
		return "", nil
	}
	const own = "supabase-postgres"
	for _, name := range []string{own, "postgres"} {
		if u, err := user.Lookup(name); err == nil && u.Uid != "0" && u.Gid != "0" {
			return name, nil
		}
	}
	if out, err := exec.Command("useradd", "--system", "--user-group", own).CombinedOutput(); err != nil {
		return "", fmt.Errorf("make the account %s for the database: %w\n%s", own, err, out)
	}
	return own, nil
}

// NewWorld makes a home and a repository with one commit of files, in which
// the CLI and the archives are at hand. A project needs the hub's Lock beside
// its config.toml: Project adds it.
func (h *Hub) NewWorld(t testing.TB, files map[string]string) *harness.World {
	t.Helper()
	w := harness.NewRoot(t)
	h.Fill(t, w, files)
	return w
}

// Fill is NewWorld for a root that is there.
func (h *Hub) Fill(t testing.TB, w *harness.World, files map[string]string) {
	t.Helper()
	w.Fill(t, h.bin, h.pg, files)
	h.Equip(t, w)
}

// Equip adds the CLI and the archives to the environment of a world, and lets
// the database's account pass through the world's directories.
func (h *Hub) Equip(t testing.TB, w *harness.World) {
	t.Helper()
	w.Env = append(w.Env, "PATH="+h.bin+string(os.PathListSeparator)+h.CLI+string(os.PathListSeparator)+os.Getenv("PATH"))
	w.Env = append(w.Env, h.Env...)
	home := harness.Lookup(w.Env, "HOME")
	for _, dir := range []string{w.Root, w.Root + "/w", home, home + "/data", home + "/tmp"} {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
}

// Project adds the hub's lock to the files of a project, beside each
// config.toml of a folder named supabase.
func (h *Hub) Project(files map[string]string) map[string]string {
	all := maps.Clone(files)
	for name := range files {
		if dir, ok := strings.CutSuffix(name, "supabase/config.toml"); ok {
			all[dir+"supabase/supabase.lock"] = h.Lock
		}
	}
	return all
}
