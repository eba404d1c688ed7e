// Package configls is what an editor gets while .forklift.json is edited. It
// knows texts and positions, and nothing of sessions: whoever has the text of
// an open file asks for what its editor asks for.
//
//	Diagnose   every problem at once, with its range, severity, code and fixes
//	Hover      what the key at a place means
//	Complete   the keys, values and paths that can stand at a place
//	Schema     the same knowledge as a JSON schema, for other editors
//
// What the keys are, and what they mean, is the table that the parser reads
// the file by ([config.Keys]) and the database kinds' own. Texts may be in any state: Hover and
// Complete read them with a scanner that stops at nothing. Ranges count
// UTF-16 code units, as LSP has it. Nothing of the repository is run, and no
// symbolic link is followed out of the worktree.
//
// The codes of diagnostics are those of package config ("unknown-key",
// "type", ...) and those that only a worktree has:
//
//	missing-path  a source that does not exist (a warning: it is saved as absent)
//	link          a source that is reached through a symbolic link
//	repository    a source that is another git repository (a warning: it is left out)
//	store         a source that holds, or is in, Forklift's store (a warning: that is left out)
//	kind          a database kind that there is not
//	no-program    a program that cannot be found (a warning)
//	untrusted     programs that were not approved in this worktree (a warning)
package configls

import (
	"forklift/engine/config"
	"forklift/server/lsp"

	"github.com/tailscale/hujson"
	"go.lsp.dev/protocol"
)

// The codes that only a worktree has.
const (
	codeMissingPath = "missing-path"
	codeLink        = "link"
	codeRepository  = "repository"
	codeStore       = "store"
	codeKind        = "kind"
	codeNoProgram   = "no-program"
	codeUntrusted   = "untrusted"
)

// Place is where a .forklift.json is.
type Place struct {
	Root  string // top of the worktree; absolute
	Store string // Forklift's store; "" when it is not known
	Kinds []config.Kind
	// Program says why a program could not be started in the worktree; nil
	// does not look.
	Program func(name string) error
	// Approved tells whether the user approved what the text on disk would
	// run; nil does not look.
	Approved func() bool
	// Unsaved is set when the text is not the one on disk: it can be
	// approved once it is.
	Unsaved bool
}

// Finding is a diagnostic with what mends it.
type Finding struct {
	protocol.Diagnostic
	Fixes []Fix
}

// Fix is a way to mend a finding: edits of the text, or the user's approval.
type Fix struct {
	Title string
	Edits []protocol.TextEdit
	Trust bool // run the verb trust
}

// Diagnose tells everything that is wrong with a text, in the order of the
// text. Only findings of severity error keep Forklift from working with it.
func Diagnose(text string, place Place) []Finding {
	f, root, problems := config.Inspect([]byte(text))
	d := &diagnosis{text: text, place: place, root: root, bad: map[int]bool{}}
	for _, p := range problems {
		d.bad[p.Start] = true
		d.problem(p)
	}
	if root != nil {
		d.sources()
		d.database()
		d.options()
		d.programs(f)
	}
	d.sort()
	return d.list
}

// diagnosis collects findings.
type diagnosis struct {
	text  string
	place Place
	root  *hujson.Value // nil: not JSON
	bad   map[int]bool  // starts of what has a problem already
	list  []Finding
}

// add records a finding about some bytes.
func (d *diagnosis) add(start, end int, severity protocol.DiagnosticSeverity, code, message string, fixes ...Fix) {
	d.list = append(d.list, Finding{
		Diagnostic: protocol.Diagnostic{
			Range: lsp.RangeOf(d.text, start, end), Severity: severity, Source: protocol.NewOptional("forklift"),
			Code: protocol.String(code), Message: protocol.String(message),
		},
		Fixes: fixes,
	})
}

// replace is a fix that replaces some bytes.
func (d *diagnosis) replace(title string, start, end int, text string) Fix {
	return Fix{Title: title, Edits: []protocol.TextEdit{{Range: lsp.RangeOf(d.text, start, end), NewText: text}}}
}
