package policy

import (
	"bytes"
	"go/ast"
	"go/format"
	"testing"
)

// The largest file and function, in lines. Longer ones hide more than one
// thought.
const (
	maxFileLines = 700
	maxFuncLines = 80
)

func TestFilesAndFunctionsAreShort(t *testing.T) {
	for _, f := range goFiles() {
		if n := bytes.Count(f.text, []byte("\n")); n > maxFileLines {
			t.Errorf("%s: %d lines, at most %d", f.path, n, maxFileLines)
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			var name string
			switch fn := n.(type) {
			case *ast.FuncDecl:
				name = fn.Name.Name
			case *ast.FuncLit:
				name = "a function literal"
			default:
				return true
			}
			lines := f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
			if lines > maxFuncLines {
				t.Errorf("%s: %s has %d lines, at most %d", f.line(n), name, lines, maxFuncLines)
			}
			return true
		})
	}
}

func TestFilesAreFormatted(t *testing.T) {
	for _, f := range goFiles() {
		want, err := format.Source(f.text)
		if err != nil {
			t.Errorf("%s: %v", f.path, err)
		} else if !bytes.Equal(want, f.text) {
			t.Errorf("%s: not formatted; run gofmt -w %s", f.path, f.path)
		}
	}
}
