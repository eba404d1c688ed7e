package main

import (
	"fmt"
	"strings"
	"unicode"

	"forklift/commands"
	"forklift/engine"
)

// partText says what of a checkpoint a restore was about.
func partText(part engine.Part, paths int) string {
	switch part {
	case engine.PartCode:
		return " (code only)"
	case engine.PartData:
		return " (data only)"
	case engine.PartPaths:
		return " (" + plural(paths, "path", "paths") + ")"
	}
	return ""
}

// renderRestorePlan tells what a restore would do.
func renderRestorePlan(p *printer, r *engine.RestorePlan) {
	p.line("Restoring %s%s would do this; nothing was changed:", p.name(r.Name), partText(r.Part, len(r.Paths)))
	p.row("plan", "%s", r.PlanID)
	if r.Part == engine.PartData {
		p.row("source", "left as it is")
	} else {
		p.row("source", "%s written (%s), %s removed, %s only a new mode, %s unchanged", formatCount(r.Written), formatBytes(r.Bytes),
			formatCount(r.Removed), formatCount(r.Modes), formatCount(r.Kept))
		for _, f := range r.Files {
			verb := map[string]string{"added": "create", "modified": "replace", "removed": "remove", "mode": "chmod"}[f.Change]
			p.row("", "%-7s %s", verb, plain(f.Path))
		}
		if all := r.Written + r.Removed + r.Modes; all > len(r.Files) {
			p.row("", "and %s more", formatCount(all-len(r.Files)))
		}
	}
	unselectedRow(p, r.Unselected)
	if db := r.Database; db == nil {
		p.row("database", "left as it is")
	} else {
		server := "its server does not run"
		if db.Stops {
			server = "its server would be away for a moment"
		}
		p.row("database", "%s, %s", formatBytes(db.Bytes), server)
		tables(p, db)
		p.warnings = append(p.warnings, db.Problems...)
	}
	p.row("before", "the present state is saved as %sTIME, unless a checkpoint holds it already", plain(r.Safety))
	for _, s := range r.InTheWay {
		p.row("in the way", "%s", plain(s))
	}
	p.doPlan("restore "+r.Name, r.PlanID)
	p.warnings = append(p.warnings, r.Warnings...)
}

// tables prints a row for each table that differs.
func tables(p *printer, db *engine.DatabasePlan) {
	list, known := db.Tables, db.RowsKnown
	for _, t := range list {
		p.row("", "%s", tableText(t))
	}
	if len(list) == 0 && known {
		p.row("", "the rows are the same")
	}
	if len(list) == 0 && !known {
		p.row("", "whether rows differ is not known")
	}
	for _, d := range db.Definitions {
		p.row("", "%s", definitionText(d))
	}
	if db.Catalogs && !db.DefinitionsKnown {
		p.row("", "files of system tables differ: whether definitions do is not known")
	}
}

// tableText is a table and how it differs.
func tableText(t engine.TableDiff) string {
	text := plain(t.Database) + " " + plain(t.Table)
	switch t.Change {
	case engine.TableTouched:
		return text + ": its files differ, rows unknown"
	case "rows":
	default:
		text += ": " + t.Change
	}
	if !t.RowsOK {
		return text
	}
	return text + fmt.Sprintf(" +%d ~%d -%d rows", t.Inserted, t.Updated, t.Deleted)
}

// definitionText is an object that is defined otherwise.
func definitionText(d engine.DefinitionChange) string {
	change := d.Change
	if change == engine.DefinitionChanged {
		change = "definition changed"
	}
	return plain(d.Database) + " " + plain(d.Kind) + " " + plain(d.Name) + ": " + change
}

// renderCat lists a directory; the bytes of a file were written as they are.
func renderCat(p *printer, r *commands.CatResult) {
	for _, e := range r.Entries {
		switch e.Type {
		case "directory":
			p.line("%s/", p.paint(cyan, plain(e.Name)))
		case "symlink":
			p.line("%s -> %s", plain(e.Name), plain(e.Target))
		case "omitted":
			p.line("%s", p.paint(dim, plain(e.Name)+" ("+plain(e.Reason)+", left out)"))
		default:
			p.line("%s", plain(e.Name))
		}
	}
}

// side is a side of a diff in words.
func side(s engine.DiffSide) string {
	if s.Working {
		return "the working state"
	}
	return s.Name
}

// renderDiff prints files as git does, and then what is known of tables.
// Warnings and all that "git apply" would stumble over go to stderr or begin
// with '#'.
func renderDiff(p *printer, r *commands.DiffResult) {
	for _, f := range r.Files {
		switch r.Style {
		case engine.DiffNames:
			p.line("%s", plain(f.Path))
		case engine.DiffStat:
			diffStat(p, f)
		default:
			diffPatch(p, f)
		}
	}
	if r.Style == engine.DiffStat && r.FileCount > 0 {
		p.line(" %s changed, %s inserted, %s deleted", plural(r.FileCount, "file", "files"), plural(r.Inserted, "line", "lines"), plural(r.Deleted, "line", "lines"))
	}
	if more := r.FileCount - len(r.Files); more > 0 {
		p.warnings = append(p.warnings, plural(more, "more file differs", "more files differ"))
	}
	for _, t := range r.Tables {
		if r.Style == engine.DiffNames {
			p.line("%s", plain(t.Database+" "+t.Table))
		} else {
			p.line("# table %s", tableText(t))
		}
	}
	for _, d := range r.Definitions {
		if r.Style == engine.DiffNames {
			p.line("%s", plain(d.Database+" "+d.Name))
		} else {
			p.line("# %s", definitionText(d))
		}
	}
	if r.Catalogs && !r.DefinitionsKnown && r.Style != engine.DiffNames {
		p.line("# system tables: their files differ; whether definitions do is not known")
	}
	p.warnings = append(p.warnings, r.Problems...)
}

// diffStat is a line of --stat.
func diffStat(p *printer, f engine.FileDiff) {
	how := fmt.Sprintf("+%d -%d", f.Inserted, f.Deleted)
	switch {
	case f.Change == "mode":
		how = "mode " + f.OldMode + " -> " + f.NewMode
	case f.Binary:
		how = f.Why + fmt.Sprintf(", %s -> %s", formatBytes(f.OldSize), formatBytes(f.NewSize))
	}
	p.line(" %s %s | %s", map[string]string{"added": "A", "modified": "M", "removed": "D", "mode": "m"}[f.Change], plain(f.Path), how)
}

// gitMode is a mode as git writes it: git only knows whether a file can be
// executed.
func gitMode(mode string) string {
	switch {
	case mode == "symlink":
		return "120000"
	case strings.ContainsAny(mode[len(mode)-3:len(mode)-2], "1357"):
		return "100755"
	}
	return "100644"
}

// gitPath is a path with a prefix as git writes it.
func gitPath(prefix, path string) string {
	if inner, ok := strings.CutPrefix(path, `"`); ok {
		return `"` + prefix + inner
	}
	return prefix + path
}

// diffPatch prints a file as git does.
func diffPatch(p *printer, f engine.FileDiff) {
	a, b := gitPath("a/", f.Path), gitPath("b/", f.Path)
	executable := f.OldMode != "" && f.NewMode != "" && gitMode(f.OldMode) != gitMode(f.NewMode) && f.Why == ""
	// What git's modes do not say: all but whether a file is executable.
	if f.OldMode != f.NewMode && f.OldMode != "" && f.NewMode != "" && (!executable || f.OldMode[0] != f.NewMode[0]) {
		p.line("# %s: mode %s -> %s", plain(f.Path), f.OldMode, f.NewMode)
		if f.Change == "mode" && !executable {
			return
		}
	}
	switch {
	case f.Binary && f.Why != "binary":
		p.line("# %s: %s, not compared by lines: %s", plain(f.Path), f.Change, f.Why)
		return
	case f.Truncated:
		p.line("# %s: %s, its patch is left out: all of them are too large", plain(f.Path), f.Change)
		return
	}
	p.line("%s", p.paint(bold, "diff --git "+a+" "+b))
	from, to := a, b
	switch f.Change {
	case "added":
		from = "/dev/null"
		p.line("new file mode %s", gitMode(f.NewMode))
	case "removed":
		to = "/dev/null"
		p.line("deleted file mode %s", gitMode(f.OldMode))
	default:
		if executable {
			p.line("old mode %s\nnew mode %s", gitMode(f.OldMode), gitMode(f.NewMode))
		}
	}
	switch {
	case f.Binary:
		p.line("Binary files %s and %s differ", from, to)
	case f.Patch != "":
		p.line("--- %s\n+++ %s", from, to)
		p.text.WriteString(patchText(p, f.Patch))
	}
}

// patchText is a patch for a file or a pipe, byte for byte; for a terminal it
// is coloured, and what could control the terminal is made plain.
func patchText(p *printer, patch string) string {
	if !p.color {
		return patch
	}
	var b strings.Builder
	for line := range strings.Lines(patch) {
		text := strings.TrimSuffix(line, "\n")
		if strings.IndexFunc(text, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) >= 0 {
			text = plain(text)
		}
		code := map[byte]string{'@': cyan, '+': green, '-': red}[line[0]]
		b.WriteString(p.paint(code, text) + "\n")
	}
	return b.String()
}
