package policy

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// leastSeen is the share of refusals whose text some test reads, in percent.
// It only goes up. What no test comes to is a server that does not get ready
// for ten minutes, and a restore of more than 16 million files.
const leastSeen = 98

// window is how much of a text a test must have of it, to count as one that
// reads it; of a shorter one all.
const window = 14

// refusal is a place that makes an error for the user, with the parts of its
// text that are always the same.
type refusal struct {
	place string
	parts []string
}

// TestRefusalsAreRead counts the errors that the verbs make with a text of
// their own, and those of them whose text is read by a script or a test. With -v
// it lists the others.
func TestRefusalsAreRead(t *testing.T) {
	read := readTexts(t)
	var unread []string
	all := refusals()
	for _, r := range all {
		if !slices.ContainsFunc(r.parts, func(part string) bool { return isRead(part, read) }) {
			unread = append(unread, r.place+": "+strings.Join(r.parts, " … "))
		}
	}
	for _, line := range unread {
		t.Log(line)
	}
	share := 100 * (len(all) - len(unread)) / max(1, len(all))
	t.Logf("%d refusals, of %d a test reads the text: %d %%", len(all), len(all)-len(unread), share)
	if share < leastSeen {
		t.Errorf("tests read the text of %d %% of the refusals, which is less than %d %%: write a script that is refused", share, leastSeen)
	}
}

// refusals lists what package fault's errors are made of in the verbs and the
// engine.
func refusals() []refusal {
	var list []refusal
	for _, f := range goFiles() {
		if f.inTests() || !under(f.dir, "commands") && !under(f.dir, "engine") || under(f.dir, "commands/internal/standin") {
			continue
		}
		add := func(e ast.Expr) {
			if parts := fixedParts(e); len(parts) > 0 {
				list = append(list, refusal{f.line(e), parts})
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if sel, ok := n.Type.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Error" || fmt.Sprint(sel.X) != "fault" {
					return true
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && fmt.Sprint(kv.Key) == "Err" {
						add(kv.Value)
					}
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "Err" && i < len(n.Rhs) {
						add(n.Rhs[i])
					}
				}
			}
			return true
		})
	}
	return list
}

// verb matches what a format puts something else for.
var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(\.[0-9]+)?[a-zA-Z%]`)

// fixedParts are the parts of the text of errors.New or fmt.Errorf that are
// always the same, without those that are too short to be known by.
func fixedParts(e ast.Expr) []string {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return nil
	}
	const tooShort = 6
	var parts []string
	for _, part := range verb.Split(text, -1) {
		if len(part) >= tooShort {
			parts = append(parts, part)
		}
	}
	return parts
}

// readTexts are the texts that scripts and tests look for.
func readTexts(t *testing.T) []string {
	var list []string
	for _, name := range files() {
		if path.Dir(name) != "testsuite/scripts" {
			continue
		}
		for line := range strings.Lines(string(readText(t, name))) {
			rest, ok := strings.CutPrefix(line, "stderr ")
			if !ok { // with --json a refusal is the result
				rest, ok = strings.CutPrefix(line, "stdout ")
			}
			if ok {
				list = append(list, unescaped(strings.Trim(strings.TrimSpace(rest), "'")))
			}
		}
	}
	for _, f := range goFiles() {
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					list = append(list, unescaped(text))
				}
			}
			return true
		})
	}
	return list
}

// unescaped is a regular expression as the text that it stands for, as far as
// it is one.
func unescaped(pattern string) string {
	return strings.ReplaceAll(strings.ReplaceAll(pattern, "''", "'"), `\`, "")
}

// isRead reports that a text has enough of part to be about it.
func isRead(part string, read []string) bool {
	size := min(window, len(part))
	return slices.ContainsFunc(read, func(text string) bool {
		if len(text) < size {
			return false
		}
		for i := 0; i+size <= len(part); i++ {
			if strings.Contains(text, part[i:i+size]) {
				return true
			}
		}
		return false
	})
}
