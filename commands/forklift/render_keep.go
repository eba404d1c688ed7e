package main

import (
	"fmt"
	"strings"

	"forklift/commands"
	"forklift/engine"
	"forklift/storage"
)

func renderForget(p *printer, r *commands.ForgetResult) {
	if r.Declined {
		p.line("Nothing was forgotten.") // the question has told the rest
		return
	}
	if len(r.Keep) > 0 {
		var rows [][]cell
		for _, k := range r.Keep {
			rows = append(rows, []cell{{text: plain(k.Worktree + ":" + k.Name), color: bold}, text(p.ago(k.Created)), text(strings.Join(k.Reasons, ", "))})
		}
		p.table([]string{"KEPT", "AGE", "WHY"}, rows)
		p.line("")
	}
	if len(r.Forget) == 0 {
		p.line("There is nothing to forget.")
		return
	}
	if r.Done {
		p.line("Forgotten:")
	} else {
		p.line("Nothing was forgotten. To forget:")
	}
	for _, f := range r.Forget {
		p.line("  %s, %s", p.name(f.Worktree+":"+f.Name), p.ago(f.Created))
	}
	if !r.Done {
		p.doPlan("forget", r.Plan)
		return
	}
	switch {
	case r.FreeBytes > 0:
		p.line("About %s can be freed now: forklift prune", formatBytes(r.FreeBytes))
	case r.LaterBytes > 0:
		p.line("A prune frees nothing of it yet: too little is unused. About %s can be freed by force: forklift prune --max-unused 0%%", formatBytes(r.LaterBytes))
	default:
		p.line("Nothing can be freed yet: other checkpoints, databases or undo need all of it.")
	}
}

func renderPrune(p *printer, r *commands.PruneResult) {
	switch {
	case r.Declined:
		p.line("Nothing was freed.")
		return
	case commands.PruneIsEmpty(&r.PruneResult):
		p.line("There is nothing to free: %s in %s.", formatBytes(r.Bytes), plural(r.Packs, "pack", "packs"))
	case r.Done:
		p.line("Freed %s.", formatBytes(r.FreedBytes))
	default:
		p.line("Nothing was freed. A prune frees about %s of %s.", formatBytes(r.FreedBytes), formatBytes(r.Bytes))
	}
	if r.Remove+r.Repack > 0 {
		p.row("packs", "%s removed, %s written again without what is not needed", formatCount(r.Remove), formatCount(r.Repack))
	}
	for i, s := range r.Safety {
		p.row(map[bool]string{true: "old"}[i == 0], "%s, %s", plain(s.Worktree+":"+s.Name), p.ago(s.Created))
	}
	if r.Unfinished > 0 {
		p.row("unfinished", "%s that never ended", plural(r.Unfinished, "capture", "captures"))
	}
	if r.Stray > 0 {
		p.row("left over", "%s of captures that were killed", plural(r.Stray, "file", "files"))
	}
	if r.UnusedBytes > 0 {
		p.row("stays", "%s that nothing needs; --max-unused 0%% frees it too", formatBytes(r.UnusedBytes))
	}
	if r.Limited {
		p.warnings = append(p.warnings, "more can be freed, but there is too little space to write what is needed of it again; run it again afterwards")
	}
	if !r.Done && !commands.PruneIsEmpty(&r.PruneResult) {
		p.doPlan("prune", r.Plan)
	}
}

func renderDu(p *printer, r *commands.DuResult) {
	var rows [][]cell
	for _, c := range r.Checkpoints {
		kind := ""
		if c.Kind != storage.Capture {
			kind = string(c.Kind)
		}
		rows = append(rows, []cell{
			{text: plain(c.Worktree + ":" + c.Name), color: bold}, text(kind), text(p.ago(c.Created)),
			number(formatBytes(c.LogicalBytes)), number(formatBytes(c.OwnBytes)), number(formatBytes(c.SharedBytes)),
		})
	}
	if len(rows) > 0 {
		p.table([]string{"NAME", "KIND", "AGE", "SIZE", "OWN", "SHARED"}, rows)
		p.line("")
	}
	limit := ""
	if r.StoreLimit != "" {
		limit = ", limit " + r.StoreLimit
	}
	p.row("store", "%s in %s%s  %s", formatBytes(r.Stored.Bytes), plural(r.Stored.Packs, "pack", "packs"), plain(limit), p.paint(dim, plain(r.Store)))
	for i, b := range r.Branches {
		aside := ""
		if b.SetAsideBytes > 0 {
			aside = fmt.Sprintf(", %s of it set aside by --discard-current", formatBytes(b.SetAsideBytes))
		}
		p.row(map[bool]string{true: "databases"}[i == 0], "%s %s%s", formatBytes(b.Bytes), plain(b.Worktree), aside)
	}
	floor := ""
	if r.FreeLimit != "" {
		floor = ", at least " + r.FreeLimit + " must stay free"
	}
	p.row("free", "%s%s", formatBytes(r.FreeBytes), plain(floor))
}

func renderCheck(p *printer, r *commands.CheckResult) {
	p.line("The store is whole: %s, %s, %s.", plural(r.Pairs, "checkpoint", "checkpoints"),
		plural(r.Packs, "pack", "packs"), plural(int(r.Blobs), "piece of data", "pieces of data"))
	switch {
	case r.Read == 0:
		p.line("Their data was not read; forklift check --read-data does that.")
	default:
		p.line("%s of %s were read.", formatBytes(r.ReadSize), plural(r.Read, "pack", "packs"))
	}
	if r.SetAside > 0 {
		p.line("%s could not be saved and %s there as set aside.", plural(r.SetAside, "database", "databases"), map[bool]string{true: "is", false: "are"}[r.SetAside == 1])
	}
	if len(r.Unused) > 0 {
		p.line("%s left by killed captures; forklift prune removes them.", plural(len(r.Unused), "file was", "files were"))
	}
}

func renderRepair(p *printer, r *commands.RepairResult) {
	plan := r.RepairReport.Plan
	switch {
	case r.Declined:
		p.line("Nothing was changed.")
		return
	case plan.Empty():
		p.line("There is nothing to repair: %s read.", plural(r.Packs, "pack was", "packs were"))
	case r.Done:
		p.line("Repaired.")
	default:
		p.line("Nothing was changed. A repair does this:")
	}
	repairList(p, "lost", plan.Lost)
	repairList(p, "damaged", plan.Damaged)
	repairList(p, "damaged", plan.Indexes)
	repairList(p, "damaged", plan.Records)
	repairList(p, "index anew", plan.Reindex)
	if r.Salvaged > 0 {
		p.row("saved", "%s of damaged packs", plural(int(r.Salvaged), "piece of data", "pieces of data"))
	}
	if r.Done && len(plan.Damaged)+len(plan.Indexes)+len(plan.Records) > 0 {
		p.row("set aside", "%s", plain(r.Aside))
	}
	for _, h := range r.Hurt {
		p.line("%s", p.paint(red, fmt.Sprintf("%s cannot be restored as a whole: %s lost", plain(r.Names[string(h.ID)]), plural(h.Count, "file is", "files are"))))
		for _, f := range h.Files {
			p.line("  %s", plain(f))
		}
	}
	if len(r.Hurt) > 0 {
		p.line("Capture again to store what is still there; then forget those checkpoints.")
	}
	if !r.Done && !plan.Empty() {
		p.doPlan("repair", r.ID)
	}
}

func repairList(p *printer, label string, names []string) {
	for i, name := range names {
		p.row(map[bool]string{true: label}[i == 0], "%s", plain(name))
	}
}

func renderRename(p *printer, r *commands.RenameResult) {
	p.line("The checkpoint %s is named %s now.", plain(r.Was), p.name(r.Name))
	checkpointRow(p, r.Checkpoint)
}

func renderNote(p *printer, r *commands.NoteResult) {
	if r.Note == "" {
		p.line("The checkpoint %s has no note any more.", p.name(r.Name))
	} else {
		p.line("The checkpoint %s has this note now.", p.name(r.Name))
	}
	checkpointRow(p, r.Checkpoint)
}

func renderProtect(p *printer, r *commands.ProtectResult) {
	for _, c := range r.Checkpoints {
		if c.Protected {
			p.line("The checkpoint %s is protected: nothing forgets it until forklift unprotect.", p.name(c.Name))
		} else {
			p.line("The checkpoint %s is not protected any more: it can be forgotten.", p.name(c.Name))
		}
		checkpointRow(p, c)
	}
}

// checkpointRow is the line about a checkpoint that was changed.
func checkpointRow(p *printer, c engine.Checkpoint) {
	state := ""
	if c.Protected {
		state = ", protected"
	}
	p.line("  %s:%s, %s%s", plain(c.Worktree), p.name(c.Name), p.ago(c.Created), state)
	optional(p, "note", c.Note)
}
