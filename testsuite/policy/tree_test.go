package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// maxFileBytes is the largest file that the rules about text look into.
const maxFileBytes = 4 << 20

// unlisted are directories that hold nothing committed.
var unlisted = map[string]bool{".git": true, "bin": true, ".cache": true, "node_modules": true}

// goFile is one Go source file of the tree.
type goFile struct {
	path string // slash-separated, from the top
	dir  string // its package's directory; "." is the top
	test bool   // _test.go
	text []byte
	ast  *ast.File
	fset *token.FileSet
}

// line is the place of a node as "path:line".
func (f *goFile) line(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(n.Pos()).Line)
}

// imports maps the names by which the file calls its imports to their paths.
func (f *goFile) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
	}
	return names
}

// inTests reports code that is not part of the product.
func (f *goFile) inTests() bool { return f.test || under(f.dir, "testsuite") }

// under reports that dir is top or below it.
func under(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

// top finds the directory that holds go.mod.
var top = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			panic("no go.mod above the test")
		}
		dir = parent
	}
})

// files lists every regular file of the tree, slash-separated from the top.
var files = sync.OnceValue(func() []string {
	var list []string
	err := filepath.WalkDir(top(), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if unlisted[d.Name()] {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(top(), name)
			if err != nil {
				return err
			}
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return list
})

// goFiles parses every Go file of the module once.
var goFiles = sync.OnceValue(func() []*goFile {
	var list []*goFile
	fset := token.NewFileSet()
	for _, name := range files() {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(top(), name))
		if err != nil {
			panic(err)
		}
		parsed, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		list = append(list, &goFile{
			path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
			text: text, ast: parsed, fset: fset,
		})
	}
	return list
})

// readText reads a committed file for the rules about text; binary and very
// large files give nil.
func readText(t *testing.T, name string) []byte {
	t.Helper()
	info, err := os.Stat(filepath.Join(top(), name))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxFileBytes {
		t.Errorf("%s: %d bytes; nothing that large is committed", name, info.Size())
		return nil
	}
	text, err := os.ReadFile(filepath.Join(top(), name))
	if err != nil {
		t.Fatal(err)
	}
	if strings.IndexByte(string(text[:min(len(text), 8000)]), 0) >= 0 {
		return nil
	}
	return text
}
