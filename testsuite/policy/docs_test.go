package policy

import (
	"go/ast"
	"go/token"
	"sort"
	"strings"
	"testing"
)

// minPackageDoc is the least length, in characters, of a package comment that
// can pass for a manual.
const minPackageDoc = 80

func TestEveryPackageHasADoc(t *testing.T) {
	docs, seen := map[string][]string{}, map[string]string{}
	for _, f := range goFiles() {
		if f.test {
			continue
		}
		seen[f.dir] = f.ast.Name.Name
		if f.ast.Doc == nil {
			continue
		}
		text := f.ast.Doc.Text()
		docs[f.dir] = append(docs[f.dir], f.path)
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name != "main" && !strings.HasPrefix(text, want) {
			t.Errorf("%s: the package comment begins with %q", f.path, want)
		}
		if len(text) < minPackageDoc || strings.Contains(text, "to be completed") {
			t.Errorf("%s: the package comment is the package's manual; this one says too little", f.path)
		}
	}
	var dirs []string
	for dir := range seen {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		if n := len(docs[dir]); n != 1 {
			t.Errorf("%s: %d files with a package comment, want 1 %v", dir, n, docs[dir])
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, f := range goFiles() {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				checkFuncDoc(t, f, d)
			case *ast.GenDecl:
				checkGroupDoc(t, f, d)
			}
		}
	}
}

// checkFuncDoc wants a comment that begins with the name on functions and on
// methods of exported types.
func checkFuncDoc(t *testing.T, f *goFile, d *ast.FuncDecl) {
	if !d.Name.IsExported() || (d.Recv != nil && !ast.IsExported(receiver(d))) {
		return
	}
	if !beginsWith(d.Doc, d.Name.Name) {
		t.Errorf("%s: %s needs a doc comment that begins with its name", f.line(d), d.Name.Name)
	}
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// checkGroupDoc wants a comment on each exported type, constant and variable;
// one comment serves a whole group of constants or variables.
func checkGroupDoc(t *testing.T, f *goFile, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			if s.Name.IsExported() && !beginsWith(doc, s.Name.Name) {
				t.Errorf("%s: type %s needs a doc comment that begins with its name", f.line(s), s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					t.Errorf("%s: %s %s needs a doc comment", f.line(s), d.Tok, name.Name)
				}
			}
		}
	}
}

// beginsWith reports that a comment begins with name, an article aside.
func beginsWith(doc *ast.CommentGroup, name string) bool {
	if doc == nil {
		return false
	}
	text := doc.Text()
	for _, article := range []string{"", "A ", "An ", "The "} {
		rest, ok := strings.CutPrefix(text, article+name)
		if ok && (rest == "" || !token.IsIdentifier(name+rest[:1])) {
			return true
		}
	}
	return false
}
