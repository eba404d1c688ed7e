package main

import (
	"slices"
	"strings"

	"forklift/commands"
	"forklift/engine"
)

// newDatabase is what a worktree has that began without seed and checkpoint.
func newDatabase(kind string) string {
	if kind == "supabase" {
		return "a local Supabase stack of its own, from its migrations and seeds"
	}
	return "an empty database of its own"
}

func renderSetup(p *printer, r *commands.SetupResult) {
	w := r.Worktree
	if !r.Created {
		p.line("The worktree %s is set up already.", p.name(w.Name))
	} else {
		database := newDatabase(w.Kind)
		if r.Seed != "" {
			database = "a database of its own, from the seed " + plain(r.Seed)
		}
		p.line("The worktree %s has %s.", p.name(w.Name), database)
	}
	p.row("path", "%s", plain(w.Path))
	p.row("store", "%s", plain(w.Store))
	if r.TCP != nil {
		p.row("address", "%s:%d, password in %s", r.TCP.Host, r.TCP.Port, plain(r.TCP.PasswordFile))
	}
	if r.ConfigMade {
		p.row("config", "%s (written now)", plain(r.ConfigPath))
	} else {
		p.row("config", "%s", plain(r.ConfigPath))
	}
	if r.Review {
		p.line("")
		p.line("This .forklift.json was written. Review it: it says what every checkpoint saves.")
		p.line("")
		for _, line := range strings.Split(strings.TrimRight(r.Config, "\n"), "\n") {
			p.line("  %s", plain(line))
		}
	}
	p.warnings = append(p.warnings, r.Warnings...)
	if r.Created {
		p.line("")
		p.line("Next: %s, %s", p.paint(bold, "forklift run -- COMMAND"), p.paint(bold, "forklift capture NAME"))
	}
}

func renderTrust(p *printer, r *commands.TrustResult) {
	for _, line := range strings.Split(strings.TrimRight(r.Text, "\n"), "\n") {
		p.line("%s", plain(line))
	}
	switch {
	case r.Changed:
		p.line("\nApproved in this worktree, until the file changes.")
	case r.Trusted:
		p.line("\nApproved already in this worktree.")
	default:
		p.line("\nNot approved. To approve it: forklift trust")
	}
}

func renderTeardown(p *printer, r *commands.TeardownResult) {
	if r.Declined {
		p.line("Nothing was removed.") // the question has told the rest
		return
	}
	if r.Done {
		p.line("The worktree %s has no database any more. Removed:", p.name(r.Worktree.Name))
	} else {
		p.line("Nothing was removed. A teardown of the worktree %s removes:", p.name(r.Worktree.Name))
	}
	for _, what := range r.Removes {
		p.line("  %s", plain(what))
	}
	p.line("%s in the store.", plural(r.Checkpoints, "checkpoint stays", "checkpoints stay"))
	if r.Done && r.Checkpoints > 0 {
		p.line("To see them: forklift list --project, in any worktree of the repository that is set up;")
		p.line("forklift setup in this one makes them its own again")
	}
	if !r.Done {
		p.doPlan("teardown", r.Plan)
	}
}

func renderSeed(p *printer, r *commands.SeedResult) {
	p.line("The seed %s is ready: %s, %s more in the store.", p.name(r.Name), formatBytes(r.LogicalBytes), formatBytes(r.AddedBytes))
	if c := r.Copied; c != nil {
		renderCopied(p, c)
	}
	p.line("To start from it: forklift setup --seed %s", plain(r.Name))
}

func renderSeedRefresh(p *printer, r *commands.SeedRefreshResult) {
	p.line("The seed %s is new: %s, %s more in the store.", p.name(r.Name), formatBytes(r.LogicalBytes), formatBytes(r.AddedBytes))
	p.line("Worktrees that are set up from now on start from it; those that are there keep what they have.")
}

// renderCopied says which way a server was copied.
func renderCopied(p *printer, c *engine.Copied) {
	how := "physically copied"
	if c.Method == engine.MethodDump {
		how = "dumped"
	}
	p.row("source", "%s, PostgreSQL %s, %s (%s)", plain(c.Source), plain(c.Version), how, formatBytes(c.Bytes))
	p.row("database", "%s", plain(c.Database))
	if c.Refused != "" {
		p.warnings = append(p.warnings, "no physical copy: "+c.Refused)
	}
	p.warnings = append(p.warnings, c.Warnings...)
}

func renderSeeds(p *printer, r *commands.SeedListResult) {
	if len(r.Seeds) == 0 {
		p.line("There is no seed. To make one: forklift seed create NAME --sql FILE")
		return
	}
	var rows [][]cell
	for _, s := range r.Seeds {
		rows = append(rows, []cell{
			{text: plain(s.Name), color: bold}, text(p.ago(s.Created)), number(formatBytes(s.LogicalBytes)),
			number(formatBytes(s.AddedBytes)), text(strings.Join(s.UsedBy, ", ")),
		})
	}
	p.table([]string{"NAME", "AGE", "SIZE", "STORED", "USED BY"}, rows)
}

func renderSeedRemove(p *printer, r *commands.SeedRemoveResult) {
	switch {
	case r.Declined:
		p.line("Nothing was removed.")
		return
	case r.Done:
		p.line("The seed %s is removed.", p.name(r.Seed.Name))
	default:
		p.line("Nothing was removed. This would remove the seed %s: %s.", p.name(r.Seed.Name), formatBytes(r.Seed.LogicalBytes))
	}
	if len(r.Seed.UsedBy) > 0 {
		p.line("Worktrees that began with it keep what they have: %s.", plain(strings.Join(r.Seed.UsedBy, ", ")))
	}
	if !r.Done {
		p.doPlan("seed remove "+r.Seed.Name, r.Plan)
	}
}

func renderInstallations(p *printer, r *commands.PostgresListResult) {
	if len(r.Installations) == 0 {
		p.line("No PostgreSQL was found. To get one: forklift postgres install")
		return
	}
	for i, in := range r.Installations {
		if i > 0 {
			p.line("")
		}
		renderInstallation(p, in)
	}
	if !slices.ContainsFunc(r.Installations, func(in commands.Installation) bool { return in.Usable }) {
		p.line("")
		p.line("None of them can be used. To get one that can: forklift postgres install")
	}
}

func renderInstallation(p *printer, in commands.Installation) {
	mark := ""
	switch {
	case in.Used:
		mark = p.paint(green, "  used for new databases")
	case !in.Usable:
		mark = p.paint(red, "  cannot be used")
	}
	version := in.Version
	if version == "" {
		version = "of an unknown version"
	}
	p.line("%s%s", p.name("PostgreSQL "+version), mark)
	p.row("programs", "%s", plain(in.Bin))
	p.row("found by", "%s", plain(in.Found))
	if in.Why != "" {
		p.row("note", "%s", p.paint(yellow, plain(in.Why)))
	}
	var names []string
	for _, e := range in.Extensions {
		names = append(names, e.Name)
	}
	p.words("extensions", names)
}

func renderInstall(p *printer, r *commands.PostgresInstallResult) {
	renderInstallation(p, r.Installation)
}
