package policy

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestHintsAreSentences wants each hint that the source spells out to begin as
// a sentence does and to end with a full stop or a question mark.
func TestHintsAreSentences(t *testing.T) {
	seen := 0
	for _, f := range goFiles() {
		if f.inTests() {
			continue
		}
		look := func(e ast.Expr) {
			first, last, ok := ends(e)
			if !ok {
				return
			}
			seen++
			r, _ := utf8.DecodeRuneInString(first)
			if first != "" && unicode.IsLower(r) {
				t.Errorf("%s: the hint begins with %q: write a full sentence", f.line(e), first)
			}
			if last != "" && !strings.HasSuffix(last, ".") && !strings.HasSuffix(last, "?") {
				t.Errorf("%s: the hint ends with %q: write a full sentence", f.line(e), last)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Hint" {
					look(n.Value)
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "Hint" && i < len(n.Rhs) {
						look(n.Rhs[i])
					}
				}
			}
			return true
		})
	}
	if seen < 50 {
		t.Errorf("only %d hints were found", seen)
	}
}

// ends gives the texts that an expression begins and ends with: "" for a part
// that is no literal. ok is false for one that spells nothing out.
func ends(e ast.Expr) (first, last string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, text, err == nil && text != ""
	case *ast.BinaryExpr:
		first, _, begins := ends(e.X)
		_, last, stops := ends(e.Y)
		return first, last, begins || stops
	case *ast.CallExpr: // fmt.Sprintf
		if len(e.Args) == 0 {
			return "", "", false
		}
		return ends(e.Args[0])
	}
	return "", "", false
}
