package policy

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// rule forbids calls of functions of a package, except in some directories.
type rule struct {
	name    string
	pkg     string   // import path
	funcs   []string // of it
	allowed []string // package directories, everything below included
	tests   bool     // test code may, too
	reason  string
}

// writers are the packages that change files; every call of theirs is a step
// that the torture test dies at.
var writers = []string{"storage/vfs", "storage/durable", "storage/clone", "engine/worktree", "engine/postgres"}

// with adds exceptions to writers; each needs its reason beside the call of with.
func with(more ...string) []string { return append(slices.Clone(writers), more...) }

var rules = []rule{
	{
		name: "changing files", pkg: "os",
		funcs: []string{"Rename", "Remove", "RemoveAll", "WriteFile", "Mkdir", "MkdirAll", "MkdirTemp", "Create", "CreateTemp",
			"Symlink", "Link", "Chmod", "Chown", "Lchown", "Chtimes", "Truncate", "OpenFile", "CopyFS", "OpenRoot", "OpenInRoot"},
		// storage/failpoint writes its count, in test builds only.
		allowed: with("storage/failpoint"), tests: true,
		reason: "files are changed through storage/vfs and storage/durable, where steps are counted and made durable",
	},
	{
		name: "changing files", pkg: "golang.org/x/sys/unix",
		funcs: []string{"Rename", "Renameat", "Renameat2", "Unlink", "Unlinkat", "Rmdir", "Mkdir", "Mkdirat", "Link", "Linkat", "Symlink",
			"Symlinkat", "Open", "Openat", "Openat2", "Write", "Pwrite", "Ftruncate", "Truncate", "Fallocate", "IoctlFileClone", "IoctlFileCloneRange",
			"CopyFileRange", "Setxattr", "Lsetxattr", "Fsetxattr", "Fchmod", "Fchmodat", "Chmod", "Fsync", "Fdatasync", "Sync", "Syncfs", "Clonefile"},
		allowed: writers, tests: true,
		reason: "files are changed through storage/vfs and storage/durable, where steps are counted and made durable",
	},
	{
		name: "changing files", pkg: "syscall",
		funcs:   []string{"Rename", "Unlink", "Rmdir", "Mkdir", "Link", "Symlink", "Open", "Write", "Pwrite", "Ftruncate", "Truncate", "Fsync", "Fdatasync", "Chmod", "Fchmod"},
		allowed: writers, tests: true,
		reason: "files are changed through storage/vfs and storage/durable, where steps are counted and made durable",
	},
	{
		name: "asking the time", pkg: "time", funcs: []string{"Now"},
		allowed: []string{"storage/clock"}, tests: true,
		reason: "storage/clock is the only place that asks, so that tests can say",
	},
	{
		name: "starting programs", pkg: "os/exec", funcs: []string{"Command", "CommandContext"},
		// engine/gitdir asks git, engine/postgres starts servers and the npm client,
		// supabase the user's Supabase CLI, commands what the user asked it to run,
		// server/daemon itself.
		allowed: []string{"engine/gitdir", "engine/postgres", "supabase", "commands", "server/daemon"}, tests: true,
		reason: "few places start programs, so that all of them can be reviewed",
	},
	{
		name: "starting programs", pkg: "os", funcs: []string{"StartProcess"},
		allowed: []string{"engine/postgres", "commands"}, tests: true,
		reason: "few places start programs, so that all of them can be reviewed",
	},
	{
		name: "starting programs", pkg: "syscall", funcs: []string{"ForkExec", "Exec", "StartProcess"},
		allowed: []string{"engine/postgres", "commands"}, tests: true,
		reason: "few places start programs, so that all of them can be reviewed",
	},
	{
		name: "deprecated file calls", pkg: "io/ioutil", funcs: []string{"WriteFile", "TempFile", "TempDir", "ReadFile", "ReadAll", "ReadDir"},
		reason: "os has them",
	},
}

func TestCallsAreMadeWhereTheyBelong(t *testing.T) {
	for _, f := range goFiles() {
		names := f.imports()
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, r := range rules {
				if names[x.Name] != r.pkg || !slices.Contains(r.funcs, sel.Sel.Name) || (r.tests && f.inTests()) {
					continue
				}
				if !slices.ContainsFunc(r.allowed, func(dir string) bool { return under(f.dir, dir) }) {
					t.Errorf("%s: %s.%s: %s: %s", f.line(n), x.Name, sel.Sel.Name, r.name, r.reason)
				}
			}
			return true
		})
	}
}

// flushers may call the methods that make things durable or move them;
// everybody else goes through storage/durable, whose comments say what a
// crash leaves.
var flushers = map[string]string{
	"storage/vfs":     "it is the file system",
	"storage/durable": "it is the only place that orders flushes and renames",
	"engine/worktree": "installs by rename inside a root, and flushes when all is in place",
}

// durableMethods are the methods of vfs.FS and vfs.File that flush or move.
var durableMethods = []string{"Sync", "SyncDir", "SyncFS", "Rename"}

func TestFlushAndRenameAreInOnePlace(t *testing.T) {
	for _, f := range goFiles() {
		if _, ok := flushers[f.dir]; ok || f.inTests() {
			continue
		}
		names := f.imports()
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(durableMethods, sel.Sel.Name) {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && names[x.Name] != "" {
				return true // a function of a package: the rules above speak about those
			}
			t.Errorf("%s: .%s: go through storage/durable, which says what is durable afterwards", f.line(n), sel.Sel.Name)
			return true
		})
	}
}

func TestNoTestSleeps(t *testing.T) {
	for _, f := range goFiles() {
		if !f.inTests() {
			continue
		}
		names := f.imports()
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
				if x, ok := sel.X.(*ast.Ident); ok && names[x.Name] == "time" {
					t.Errorf("%s: time.Sleep: wait for what is to happen, with a deadline", f.line(n))
				}
			}
			return true
		})
	}
}

func TestNoShellIsGivenText(t *testing.T) {
	shells := map[string]bool{"sh": true, "bash": true, "/bin/sh": true, "/bin/bash": true, "zsh": true, "dash": true}
	for _, f := range goFiles() {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			var list []ast.Expr
			switch e := n.(type) {
			case *ast.CallExpr:
				list = e.Args
			case *ast.CompositeLit:
				if !f.test { // there it may be an example that must not run
					list = e.Elts
				}
			}
			for i := 1; i < len(list); i++ {
				if shells[literal(list[i-1])] && literal(list[i]) == "-c" {
					t.Errorf("%s: a shell is given text: programs are started with a list of arguments", f.line(n))
				}
			}
			return true
		})
	}
}

// literal is the value of a string literal, or "".
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}
