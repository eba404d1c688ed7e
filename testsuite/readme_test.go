package testsuite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"forklift/testsuite/internal/harness"
)

// block matches a block of commands in README.md with the comment before it
// that says where they are run.
var block = regexp.MustCompile("(?s)(?:<!-- run: (top|repository|ci) -->\n)?```(console|sh|shell|bash)\n(.*?)```")

// readmeScripts collects the commands of README.md by the place where they
// run, as one reader types them: a block begins where the one before it ended.
// Those of the place "ci" are .ci/run's own.
func readmeScripts(t *testing.T, top, text string) map[string]string {
	t.Helper()
	scripts := map[string]string{"top": "set -eux\n", "repository": "set -eux\n"}
	ci, err := os.ReadFile(filepath.Join(top, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		if m[1] == "" || m[2] != "console" {
			t.Errorf("there are commands that no test runs:\n%s", m[3])
			continue
		}
		if m[1] == "ci" {
			for line := range strings.Lines(m[3]) {
				if command := strings.TrimSpace(strings.TrimPrefix(line, "$ ")); !strings.Contains(string(ci), command) {
					t.Errorf("README.md says %q, which .ci/run does not run", command)
				}
			}
			continue
		}
		for line := range strings.Lines(m[3]) {
			for _, prompt := range []string{"$ ", "> "} { // the latter: a command goes on
				if command, ok := strings.CutPrefix(line, prompt); ok {
					scripts[m[1]] += command
				}
			}
		}
	}
	return scripts
}

// TestReadmeCommands runs every command of README.md, in order.
func TestReadmeCommands(t *testing.T) { runDocument(t, "README.md") }

// TestRecipes runs every command of the recipes, in order.
func TestRecipes(t *testing.T) { runDocument(t, "commands/RECIPES.md") }

// runDocument runs the commands of a text: those about this repository in a
// copy of its build, the others in a repository like the one that the text
// speaks about.
func runDocument(t *testing.T, document string) {
	top, err := harness.Top()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(top, document))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(world.root, strings.ToLower(strings.TrimSuffix(filepath.Base(document), ".md")))
	home, repo := filepath.Join(dir, "home"), filepath.Join(dir, "shop")
	if err := harness.MakeHome(home); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"src/app.txt", "migrations/001"} {
		file := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("version 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := environ(home)
	env = append(env, "PATH="+world.bin+":"+world.pg+":"+os.Getenv("PATH"))
	sh := func(where, name, script string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", file)
		cmd.Dir, cmd.Env = where, env
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	scripts := readmeScripts(t, top, string(text))
	sh(repo, "prepare.sh", "set -eu\ngit init -q\ngit add -A\ngit commit -q -m first\n")
	sh(top, "top.sh", scripts["top"])
	sh(dir, "server.sh", dotenv)
	sh(repo, "repository.sh", scripts["repository"]+"forklift teardown --yes\n")
	sh(filepath.Join(dir, "server"), "end.sh", "forklift teardown --yes\n")
}

// dotenv makes what a text can take for granted: a running server with a
// database, and a .env in the repository that names it.
const dotenv = `set -eu
mkdir server
cd server
git init -q
git commit -q --allow-empty -m first
forklift setup --yes
forklift db start
forklift db shell -c 'CREATE TABLE orders AS SELECT i AS id FROM generate_series(1, 10) i'
echo "DATABASE_URL=$(forklift db url)" > ../shop/.env
`

// TestReadmeNamesEveryExitCode compares the text with the help of the program.
func TestReadmeNamesEveryExitCode(t *testing.T) {
	top, err := harness.Top()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, codes, found := strings.Cut(string(text), "Exit codes:")
	codes, _, _ = strings.Cut(codes, "\n\n")
	if !found {
		t.Fatal("README.md does not tell the exit codes")
	}
	for _, code := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 130} {
		if !regexp.MustCompile(fmt.Sprintf(`\b%d\b`, code)).MatchString(codes) {
			t.Errorf("README.md does not tell exit code %d", code)
		}
	}
}
