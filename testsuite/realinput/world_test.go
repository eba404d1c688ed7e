package realinput

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forklift/testsuite/internal/harness"
)

// deadline is how long one run of the command, or one dump, may take.
const deadline = 10 * time.Minute

// everything asks for fifty rounds and large sources (make torture).
var everything = os.Getenv("FORKLIFT_TORTURE") == "all"

//go:embed schemas/*.sql
var schemas embed.FS

// shared is what all tests use.
var shared struct{ bin, pg string }

func TestMain(m *testing.M) {
	harness.Main(m, func(bin, pg string) error {
		shared.bin, shared.pg = bin, pg
		return nil
	})
}

// world is a worktree whose database was loaded from one of the schemas.
type world struct {
	*harness.World
	t *testing.T
}

// newWorld loads a schema into a seed and sets a worktree up with it; without
// a schema the database is empty.
func newWorld(t *testing.T, schema string) *world {
	t.Helper()
	w := &world{t: t, World: harness.NewWorld(t, shared.bin, shared.pg, map[string]string{
		"src/app.txt": "version 1\n", ".forklift.json": `{"format": 1, "source": ["src"]}` + "\n"})}
	if schema == "" {
		w.forklift("setup", "--yes")
		return w
	}
	text, err := schemas.ReadFile("schemas/" + schema + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.Root, schema+".sql")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.forklift("seed", "create", schema, "--sql", file)
	w.forklift("setup", "--seed", schema, "--yes")
	return w
}

// forklift runs the command, which has to succeed, and gives its stdout.
func (w *world) forklift(args ...string) string {
	w.t.Helper()
	r := w.Exec(w.t, deadline, nil, "forklift", args...)
	if r.Code != 0 {
		w.t.Fatalf("forklift %s: %v", strings.Join(args, " "), r)
	}
	return r.Stdout
}

// query gives the rows of a query, columns separated by |.
func (w *world) query(sql string) string {
	w.t.Helper()
	return w.forklift("run", "--", filepath.Join(shared.pg, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql)
}

// dump writes everything in the cluster to a file, as pg_dumpall sees it, and
// gives its SHA-256.
func (w *world) dump(name string) string {
	w.t.Helper()
	cmd := exec.Command(w.Forklift(), "run", "--", filepath.Join(shared.pg, "pg_dumpall"))
	cmd.Dir, cmd.Env, cmd.Stderr = w.Repo, w.Env, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(w.Root, name))
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	timer := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	hash, to := sha256.New(), bufio.NewWriter(file)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		// The key of \restrict is another one in each dump.
		if !strings.HasPrefix(string(line[:min(len(line), 12)]), `\restrict`) && !strings.HasPrefix(string(line[:min(len(line), 12)]), `\unrestrict`) {
			hash.Write(line)
			if _, err := to.Write(line); err != nil {
				w.t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		w.t.Fatalf("pg_dumpall: %v", err)
	}
	if err := to.Flush(); err != nil {
		w.t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// sameDump fails if the cluster does not say what it said in the dump want.
func (w *world) sameDump(want, hash, after string) {
	w.t.Helper()
	if w.dump("now.sql") == hash {
		return
	}
	var texts [2]string
	for i, name := range []string{"now.sql", want} {
		text, err := os.ReadFile(filepath.Join(w.Root, name))
		if err != nil {
			w.t.Fatal(err)
		}
		texts[i] = string(text)
	}
	w.t.Fatalf("%s the dump differs: %s", after, harness.FirstDifference(texts[0], texts[1]))
}

// files describes the worktree with hashes, without git's.
func (w *world) files() string {
	w.t.Helper()
	text, err := harness.DescribeTree(w.Repo, harness.TreeOptions{Omit: []string{".git"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// decode reads a --json answer.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("read the answer: %v\n%s", err, text)
	}
}
