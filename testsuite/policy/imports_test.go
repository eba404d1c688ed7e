package policy

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// topLevel are the only names at the top of the tree beside dot files.
var topLevel = map[string]bool{
	"server": true, "commands": true, "engine": true, "storage": true, "supabase": true,
	"editors": true, "testsuite": true, "go.mod": true, "go.sum": true, "Makefile": true,
	"README.md": true, "LICENSE": true, "bin": true, // bin is what make builds; never committed
}

func TestTopLevelIsFixed(t *testing.T) {
	entries, err := os.ReadDir(top())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); !topLevel[name] && !strings.HasPrefix(name, ".") {
			t.Errorf("%s: the names at the top of the tree are fixed", name)
		}
	}
}

// layers from the bottom: a package may import its own layer and those before.
var layers = []string{"storage", "engine", "supabase", "commands", "server", "commands/forklift", "testsuite"}

// layer finds the place of a package directory in layers.
func layer(dir string) int {
	found := -1
	for i, name := range layers {
		if under(dir, name) {
			found = i // the later ones are the more special ones
		}
	}
	return found
}

// closed are arrows inside a layer that are not allowed: importer, imported,
// reason. "/..." at the end of the importer means everything below it.
var closed = []struct{ from, to, reason string }{
	{"engine", "engine/postgres", "the engine knows database kinds only by their interface; commands wires them in"},
	{"engine/worktree", "engine", "it is below the engine"},
	{"engine/config", "engine", "it is below the engine"},
	{"engine/gitdir", "engine", "it is below the engine"},
	{"engine/trust", "engine", "it is below the engine"},
	{"storage/vfs", "storage", "the store is built on it"},
	{"storage/durable", "storage", "the store is built on it"},
	{"storage/fault", "storage", "everything is built on it"},
	{"storage/clock", "storage", "everything is built on it"},
}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range goFiles() {
		from := layer(f.dir)
		if from < 0 {
			t.Errorf("%s: a package outside the known layers", f.path)
			continue
		}
		for _, spec := range f.ast.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			if target == "forklift" || !strings.HasPrefix(target, "forklift/") {
				continue
			}
			to := strings.TrimPrefix(target, "forklift/")
			if layer(to) > from {
				t.Errorf("%s: %s must not import %s: imports point from %s to storage only",
					f.line(spec), f.dir, to, strings.Join(reversed(layers[:len(layers)-1]), ", "))
			}
			for _, c := range closed {
				if f.dir == c.from && to == c.to && !f.test {
					t.Errorf("%s: %s must not import %s: %s", f.line(spec), c.from, c.to, c.reason)
				}
			}
		}
	}
}

func reversed(list []string) []string {
	var out []string
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, list[i])
	}
	return out
}

func TestOnlyTheCommandIsMain(t *testing.T) {
	for _, f := range goFiles() {
		if f.ast.Name.Name == "main" && f.dir != "commands/forklift" && !under(f.dir, "testsuite") {
			t.Errorf("%s: the only program of the product is commands/forklift", f.path)
		}
		if f.dir == "commands/forklift" && f.ast.Name.Name != "main" {
			t.Errorf("%s: commands/forklift is package main", f.path)
		}
	}
}

// vague are package names that say nothing about what is inside.
var vague = map[string]bool{"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "misc": true, "base": true, "lib": true}

func TestPackageNamesSayWhatIsInside(t *testing.T) {
	for _, f := range goFiles() {
		if vague[strings.TrimSuffix(f.ast.Name.Name, "_test")] {
			t.Errorf("%s: package %s: name it after what it does", f.path, f.ast.Name.Name)
		}
	}
}
