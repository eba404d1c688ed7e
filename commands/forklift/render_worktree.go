package main

import (
	"strings"

	"forklift/commands"
	"forklift/engine"
)

// stateColor shows which states want something done.
var stateColor = map[engine.WorktreeState]string{
	engine.StateOK: green, engine.StateOrphan: yellow, engine.StateCopy: yellow, engine.StateUnknown: red,
	engine.StateTornDown: dim, engine.StateNone: dim,
}

func renderWorktrees(p *printer, r *commands.WorktreeListResult) {
	defer func() {
		if r.TornDown > 0 {
			p.line("Torn down, with checkpoints that are left: %s. To see them: forklift worktree list --torn-down",
				plural(r.TornDown, "worktree", "worktrees"))
		}
	}()
	if len(r.Worktrees) == 0 {
		p.line("There is none.")
		return
	}
	var rows [][]cell
	for _, w := range r.Worktrees {
		mark, size := "", ""
		if w.Current {
			mark = "*"
		}
		if w.Bytes > 0 {
			size = formatBytes(w.Bytes)
		}
		server := w.Server
		if w.Stopped {
			server = "stopped now"
		}
		rows = append(rows, []cell{
			text(mark), {text: plain(w.Name), color: bold}, {text: string(w.State), color: stateColor[w.State]},
			text(server), number(formatCount(w.Checkpoints)), number(size), text(w.Path),
		})
	}
	p.table([]string{"", "NAME", "STATE", "SERVER", "CHECKPOINTS", "DATABASE", "PATH"}, rows)
	orphans := false
	for _, w := range r.Worktrees {
		orphans = orphans || w.State == engine.StateOrphan
		if w.Why != "" && w.State != engine.StateNone && w.State != engine.StateTornDown {
			p.line("%s: %s", p.name(w.Name), plain(w.Why))
		}
		if w.Interrupted != "" {
			p.line("%s: a %s was interrupted", p.name(w.Name), plain(w.Interrupted))
		}
	}
	if orphans {
		p.line("To take an orphan over: forklift adopt NAME, in a new worktree. To remove its database: forklift worktree prune")
	}
}

func renderWorktreeAdd(p *printer, r *commands.WorktreeAddResult) {
	database := newDatabase(r.Worktree.Kind)
	switch {
	case r.From != "":
		database = "both halves of the checkpoint " + p.name(r.From)
	case r.Seed != "":
		database = "a database of its own, from the seed " + p.name(r.Seed)
	}
	p.line("The worktree %s has %s.", p.name(r.Worktree.Name), database)
	p.row("path", "%s", plain(r.Worktree.Path))
	branch := "detached"
	if r.GitBranch != "" {
		branch = plain(r.GitBranch)
	}
	p.row("git branch", "%s, at %s", branch, plain(r.Head[:min(len(r.Head), 12)]))
	if r.Changed+r.Removed > 0 {
		p.row("source", "%s not as in that commit", plural(r.Changed+r.Removed, "file is", "files are"))
	}
	if r.Config != "" {
		p.row("config", "%s (written now: git does not have it)", plain(r.Config))
	}
	p.warnings = append(p.warnings, r.Warnings...)
}

func renderAdopt(p *printer, r *commands.AdoptResult) {
	p.line("This worktree is %s now, with its database and %s.", p.name(r.Worktree.Name), plural(r.Checkpoints, "checkpoint", "checkpoints"))
	p.row("path", "%s", plain(r.Worktree.Path))
	p.row("was", "%s", plain(r.From))
	switch {
	case r.Interrupted != "":
		p.line("Its last %s was interrupted. To end it: forklift recover", plain(r.Interrupted))
	case r.ConfigGone:
		p.line("There is no .forklift.json here. To write one: forklift setup")
	default:
		p.line("Its files are as they were. To see how they differ from the last checkpoint: forklift status")
	}
	p.warnings = append(p.warnings, r.Warnings...)
}

func renderWorktreePrune(p *printer, r *commands.WorktreePruneResult) {
	switch {
	case r.Declined:
		p.line("Nothing was removed.")
		return
	case len(r.Worktrees) == 0:
		p.line("No worktree of this repository is gone.")
		return
	case r.Done:
		p.line("Removed, %s:", formatBytes(r.Bytes))
	default:
		p.line("Nothing was removed. This would be, %s:", formatBytes(r.Bytes))
	}
	for _, w := range r.Worktrees {
		p.line("  the database of %s, which was at %s (%s)", p.name(w.Name), plain(w.Path), plain(w.Why))
		if w.Interrupted != "" {
			p.line("    with a %s that was interrupted", plain(w.Interrupted))
		}
	}
	p.line("%s in the store.", plural(r.Checkpoints, "checkpoint stays", "checkpoints stay"))
	if !r.Done {
		p.doPlan("worktree prune", r.Plan)
	}
}

// renderOrphans is the line of a status about worktrees that are gone.
func renderOrphans(p *printer, names []string) {
	if len(names) > 0 {
		p.row("orphans", "%s (%s)", p.paint(yellow, plain(strings.Join(names, " "))), "forklift worktree list --orphans")
	}
}
