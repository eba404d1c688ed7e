package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forklift/commands"
	"forklift/engine"
	"forklift/storage"
)

func renderCapture(p *printer, r *commands.CaptureResult) {
	p.line("Captured %s", p.name(r.Name))
	p.row("source", "%s, %s", plural(r.Files, "file", "files"), formatBytes(r.SourceBytes))
	if r.Unchanged {
		p.row("database", "%s, nothing had changed: it was not stopped", formatBytes(r.DataBytes))
	} else {
		p.row("database", "%s", formatBytes(r.DataBytes))
	}
	p.row("stored", "%s more, %s read", formatBytes(r.AddedBytes), formatBytes(r.ReadBytes))
	p.row("time", "%s", wallText(r.WallMs, r.AwayMs))
	if r.Sessions > 0 {
		p.row("sessions", "%s cut off", plural(r.Sessions, "session was", "sessions were"))
	}
	hookRows(p, r.Hooks)
	for _, s := range r.Skipped {
		p.row("skipped", "%s (%s)", plain(s.Path), plain(s.Reason))
	}
	p.warnings = append(p.warnings, r.Warnings...)
}

func wallText(wall, away int64) string {
	if away == 0 {
		return formatMs(wall)
	}
	return fmt.Sprintf("%s, the database was away for %s", formatMs(wall), formatMs(away))
}

func renderRestore(p *printer, r *commands.RestoreResult) {
	if r.Plan != nil {
		renderRestorePlan(p, r.Plan)
		return
	}
	head := map[string]string{"undo": "Undone: back at", "redo": "Redone: at"}[r.Verb]
	if head == "" {
		head = "Restored"
	}
	p.line("%s %s%s", head, p.name(r.Name), partText(r.Part, len(r.Paths)))
	if r.Part == engine.PartData {
		p.row("source", "left as it is")
	} else {
		p.row("source", "%s written, %s removed, %s unchanged", plural(r.Changed, "file", "files"), formatCount(r.Removed), formatCount(r.Kept))
	}
	unselectedRow(p, r.Unselected)
	server := "stopped"
	switch {
	case r.Part == engine.PartCode || r.Part == engine.PartPaths:
		p.row("database", "left as it is")
	case r.Running:
		server = "running again"
		fallthrough
	default:
		p.row("database", "%s written, %s", formatBytes(r.PatchedBytes), server)
	}
	p.row("time", "%s", wallText(r.WallMs, r.AwayMs))
	hookRows(p, r.Hooks)
	p.row("before", "%s; \"forklift undo\" goes back to it", plain(r.SafetyName))
	rescued(p, r.Rescued, r.RescueName)
	p.warnings = append(p.warnings, r.Warnings...)
}

// unselectedRow tells where a restore changes what is not selected now.
func unselectedRow(p *printer, paths []string) {
	if len(paths) > 0 {
		p.row("also", "%s: in the checkpoint, though .forklift.json does not select it now", plain(strings.Join(paths, ", ")))
	}
}

// rescued tells which files somebody changed meanwhile.
func rescued(p *printer, paths []string, name string) {
	if len(paths) == 0 {
		return
	}
	var names []string
	for _, path := range paths {
		names = append(names, plain(path))
	}
	p.warnings = append(p.warnings, fmt.Sprintf(
		"%s edited meanwhile; the edited content is kept in the checkpoint %s:\n%s",
		plural(len(paths), "file was", "files were"), name, strings.Join(names, "\n")))
}

func renderRecover(p *printer, r *commands.RecoverResult) {
	p.warnings = append(p.warnings, r.Warnings...)
	if r.Nothing {
		p.line("There is nothing to recover.")
		hookRows(p, r.Hooks)
		return
	}
	how := "finished: it is as if it had never been interrupted"
	if r.Direction == "back" {
		how = "taken back: it is as if it had never begun"
	}
	p.line("The interrupted %s was %s.", p.name(r.Verb), how)
	if r.Name != "" {
		p.row("at", "%s", plain(r.Name))
	}
	p.row("database", "%s", map[bool]string{true: "running", false: "stopped"}[r.Running])
	hookRows(p, r.Hooks)
	rescued(p, r.Rescued, r.RescueName)
}

// hookRows tells what the hooks did to the app.
func hookRows(p *printer, hooks []engine.HookResult) {
	for i, h := range hooks {
		what := map[string]string{engine.HookStop: "stopped", engine.HookStart: "started again"}[h.Hook]
		if h.Hook == engine.HookStop && h.ExitCode == engine.HookNotRunning {
			what = "not running"
		}
		p.row(map[bool]string{true: "app"}[i == 0], "%s in %s", what, formatMs(h.WallMs))
	}
}

func renderList(p *printer, r *commands.ListResult) {
	if len(r.Checkpoints) == 0 {
		p.line("There is no checkpoint yet. To make one: forklift capture NAME")
		return
	}
	var rows [][]cell
	for _, c := range r.Checkpoints {
		mark, name := cell{text: " "}, plain(c.Name)
		switch {
		case c.Current:
			mark = cell{text: "*", color: green}
		case c.Half != "":
			mark = cell{text: string(c.Half), color: green}
		}
		if c.Worktree != r.Worktree {
			name = plain(c.Worktree) + ":" + name
		}
		kind := ""
		if c.Kind != storage.Capture {
			kind = string(c.Kind)
		}
		rows = append(rows, []cell{
			mark, {text: name, color: bold}, text(kind), text(p.ago(c.Created)), number(formatCount(c.Files)),
			number(formatBytes(c.LogicalBytes)), number(formatBytes(c.OwnBytes)), number(formatBytes(c.SharedBytes)),
			text(c.GitBranch), text(firstLine(c.Note, c.Reason)),
		})
	}
	p.table([]string{"", "NAME", "KIND", "AGE", "FILES", "SIZE", "OWN", "SHARED", "GIT BRANCH", "NOTE"}, rows)
}

func firstLine(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			line, _, _ := strings.Cut(t, "\n")
			return line
		}
	}
	return ""
}

func renderShow(p *printer, r *commands.ShowResult) {
	p.line("%s", p.name(r.Name))
	p.row("id", "%s", r.ID)
	p.row("kind", "%s", r.Kind)
	p.row("worktree", "%s", plain(r.Worktree))
	p.row("made", "%s (%s) by %s", r.Created.UTC().Format("2006-01-02 15:04:05 UTC"), p.ago(r.Created), plain(r.Actor))
	optional(p, "reason", r.Reason)
	optional(p, "note", r.Note)
	if r.Protected {
		p.row("protected", "it is not forgotten until forklift unprotect")
	}
	if r.Head != "" {
		p.row("git", "%s %s", plain(r.GitBranch), r.Head[:min(len(r.Head), 12)])
	}
	p.row("size", "%s; stored %s for it alone, %s shared", formatBytes(r.LogicalBytes), formatBytes(r.OwnBytes), formatBytes(r.SharedBytes))
	if r.Pair == nil {
		return
	}
	if len(r.Pair.Source.Paths) > 0 {
		p.row("source", "%s, %s, from %s", plural(r.Pair.Source.Files, "file", "files"),
			formatBytes(r.Pair.Source.Bytes), plain(strings.Join(r.Pair.Source.Paths, " ")))
	}
	for i, db := range r.Pair.Databases {
		p.row("database", "%s, %s", plain(db.Kind), plain(db.State))
		for _, tree := range db.Trees {
			p.row("", "%s: %s, %s", plain(tree.Name), plural(tree.Files, "file", "files"), formatBytes(tree.Bytes))
		}
		if i < len(r.Facts) {
			showFacts(p, r.Facts[i])
		}
	}
}

// facts is what people want to know of a database's facts; --json has all.
type facts struct {
	Version      string `json:"version"`
	Architecture string `json:"architecture"`
	Observed     struct {
		Databases []struct {
			Name       string            `json:"name"`
			Encoding   string            `json:"encoding"`
			Locale     string            `json:"locale"`
			Extensions map[string]string `json:"extensions"`
		} `json:"databases"`
	} `json:"observed"`
}

func showFacts(p *printer, raw json.RawMessage) {
	var f facts
	// Another kind's facts, or a newer version's, are shown by --json.
	if json.Unmarshal(raw, &f) != nil || f.Version == "" {
		return
	}
	p.row("", "version %s, %s", plain(f.Version), plain(f.Architecture))
	for _, db := range f.Observed.Databases {
		var extensions []string
		for name, version := range db.Extensions {
			extensions = append(extensions, plain(name+" "+version))
		}
		slices.Sort(extensions)
		p.row("", "%s: %s, %s; %s", plain(db.Name), plain(db.Encoding), plain(db.Locale), strings.Join(extensions, ", "))
	}
}

func optional(p *printer, label, value string) {
	for i, line := range strings.Split(value, "\n") {
		if line != "" {
			p.row(map[bool]string{true: label}[i == 0], "%s", plain(line))
		}
	}
}

func renderLog(p *printer, r *commands.LogResult) {
	if len(r.Operations) == 0 {
		p.line("Nothing was done here yet.")
		return
	}
	var rows [][]cell
	for _, op := range r.Operations {
		rows = append(rows, []cell{
			text(p.ago(op.Started)), {text: plain(op.Verb), color: bold}, text(op.Name + partText(op.Part, len(op.Paths))), outcome(op),
			text(op.Actor), text(firstLine(op.Error, op.Reason)),
		})
	}
	p.table([]string{"WHEN", "WHAT", "CHECKPOINT", "OUTCOME", "BY", "WHY"}, rows)
}

func outcome(op engine.Operation) cell {
	switch op.Outcome {
	case "":
		return cell{text: "not ended", color: yellow}
	case "done":
		return cell{text: "done", color: green}
	case "back":
		return cell{text: "taken back", color: yellow}
	}
	return cell{text: plain(op.Outcome), color: red}
}
