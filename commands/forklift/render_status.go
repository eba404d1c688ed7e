package main

import (
	"fmt"
	"strings"

	"forklift/commands"
	"forklift/engine"
)

// maxShownFiles is how many changed files status names for people.
const maxShownFiles = 20

func renderStatus(p *printer, r *commands.StatusResult) {
	if r.Porcelain {
		p.text.WriteString(commands.Porcelain(&r.StatusResult))
		p.warnings = append(p.warnings, r.Problems...)
		return
	}
	p.line("Worktree %s  %s", p.name(r.Worktree.Name), p.paint(dim, plain(r.Worktree.Path)))
	if i := r.Interrupted; i != nil {
		way := "takes it back"
		if i.Forward {
			way = "finishes it"
		}
		p.line("%s", p.paint(red, fmt.Sprintf("interrupted: %s of %s, %s", plain(i.Verb), plain(i.Target), p.ago(i.Since))))
		p.line("  \"forklift recover\" %s; until then commands and changes are refused", way)
	}
	if op := r.Operation; op != nil {
		p.row("under way", "%s, process %d, for %s", plain(op.Verb), op.PID, p.span(op.Since))
		if op.Phase != "" {
			p.row("", "%s", plain(op.Phase))
		}
	}
	restsOn(p, r)
	statusFiles(p, r)
	renderServerRow(p, r.Server)
	statusTables(p, r)
	for i, h := range r.Holders {
		label := "commands"
		if i > 0 {
			label = ""
		}
		p.row(label, "%d %s, for %s", h.PID, plain(strings.Join(h.Argv, " ")), p.span(h.Since))
	}
	if r.App != nil {
		p.row("app", "%s", p.paint(yellow, fmt.Sprintf("stopped for a %s %s and not started again; \"forklift recover\" starts it", plain(r.App.Verb), p.ago(r.App.Since))))
	}
	if !r.Trusted && len(r.Source) > 0 {
		p.row("trust", "the commands and hooks of .forklift.json are not approved; see forklift trust")
	}
	renderOrphans(p, r.Orphans)
	for _, problem := range r.Problems {
		p.row("problem", "%s", p.paint(yellow, plain(problem)))
	}
}

// restsOn tells the checkpoint, or those of the two halves.
func restsOn(p *printer, r *commands.StatusResult) {
	text := func(c *engine.Checkpoint) string {
		if c == nil {
			return "none yet"
		}
		name := plain(c.Name)
		if c.Worktree != "" && c.Worktree != r.Worktree.Name {
			name = plain(c.Worktree) + ":" + name
		}
		return name + ", " + p.ago(c.Created)
	}
	if r.SourceCheckpoint == nil && (r.Checkpoint == nil || r.Checkpoint.Half == "") {
		p.row("checkpoint", "%s", text(r.Checkpoint))
		return
	}
	p.row("checkpoint", "%s (source)", text(r.SourceCheckpoint))
	p.row("", "%s (database)", text(r.Checkpoint))
}

func statusFiles(p *printer, r *commands.StatusResult) {
	if len(r.Source) == 0 {
		return // .forklift.json cannot be read; a problem says why
	}
	if r.SourceCheckpoint == nil && (r.Checkpoint == nil || r.Checkpoint.Half != "") {
		p.row("source", "%s", plain(strings.Join(r.Source, " ")))
		return
	}
	if !r.FilesKnown {
		p.row("source", "not compared: %s", plain(strings.Join(r.Source, " ")))
		return
	}
	if r.FileCount == 0 {
		p.row("source", "no file changed in %s", plain(strings.Join(r.Source, " ")))
		return
	}
	p.row("source", "%s in %s", plural(r.FileCount, "file changed", "files changed"), plain(strings.Join(r.Source, " ")))
	for i, f := range r.Files {
		if i == maxShownFiles {
			break
		}
		letter, color := changeLetter(f.Change)
		p.row("", "%s %s", p.paint(color, letter), plain(f.Path))
	}
	if more := r.FileCount - min(len(r.Files), maxShownFiles); more > 0 {
		p.row("", "and %s", plural(more, "more", "more"))
	}
}

func changeLetter(change string) (letter, color string) {
	switch change {
	case "added":
		return "A", green
	case "removed":
		return "D", red
	case "mode":
		return "m", yellow
	}
	return "M", yellow
}

func statusTables(p *printer, r *commands.StatusResult) {
	switch {
	case r.Checkpoint == nil:
		return
	case !r.RowsKnown && r.Server.State == "running":
		p.row("rows", "not known: the server cannot be asked, or has no counts to compare")
		return
	case !r.RowsKnown:
		p.row("rows", "not counted while the server does not run; what is known: forklift diff")
		return
	case len(r.Tables) == 0:
		p.row("rows", "no row inserted, updated or deleted")
		return
	}
	for i, t := range r.Tables {
		label := "rows"
		if i > 0 {
			label = ""
		}
		p.row(label, "%s %s %s  %s", p.paint(green, fmt.Sprintf("+%d", t.Inserted)), p.paint(yellow, fmt.Sprintf("~%d", t.Updated)),
			p.paint(red, fmt.Sprintf("-%d", t.Deleted)), plain(t.Database+": "+t.Table))
	}
}

func renderServer(p *printer, r *commands.DBServerResult) {
	p.line("The server is %s.", serverText(p, r.ServerInfo))
}

func renderServerRow(p *printer, s engine.ServerInfo) {
	p.row("database", "%s", serverText(p, s))
}

func serverText(p *printer, s engine.ServerInfo) string {
	text := plain(s.State)
	if s.State == "running" {
		text = p.paint(green, text)
	}
	if s.Version != "" {
		text += ", PostgreSQL " + plain(s.Version)
	}
	if s.PID != 0 {
		text += fmt.Sprintf(", process %d, for %s", s.PID, p.span(s.Since))
	}
	if s.Pinned {
		text += ", kept until \"forklift db stop\""
	}
	return text
}
