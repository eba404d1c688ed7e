package main

import (
	"fmt"

	"forklift/commands"
)

// renderer prints a result for people.
type renderer func(p *printer, result any) error

// render makes a renderer of a function on the verb's own Result type.
func render[R any](f func(*printer, *R)) renderer {
	return func(p *printer, result any) error {
		r, ok := result.(*R)
		if !ok {
			return fmt.Errorf("print result: it is a %T", result)
		}
		f(p, r)
		return nil
	}
}

// renderers are the renderers by verb.
var renderers = map[string]renderer{
	"setup":            render(renderSetup),
	"trust":            render(renderTrust),
	"run":              render(func(p *printer, r *commands.RunResult) { p.warnings = append(p.warnings, r.Warnings...) }),
	"teardown":         render(renderTeardown),
	"adopt":            render(renderAdopt),
	"doctor":           render(renderDoctor),
	"worktree add":     render(renderWorktreeAdd),
	"worktree list":    render(renderWorktrees),
	"worktree prune":   render(renderWorktreePrune),
	"seed create":      render(renderSeed),
	"seed refresh":     render(renderSeedRefresh),
	"seed list":        render(renderSeeds),
	"seed remove":      render(renderSeedRemove),
	"capture":          render(renderCapture),
	"restore":          render(renderRestore),
	"undo":             render(renderRestore),
	"redo":             render(renderRestore),
	"recover":          render(renderRecover),
	"list":             render(renderList),
	"show":             render(renderShow),
	"cat":              render(renderCat),
	"diff":             render(renderDiff),
	"status":           render(renderStatus),
	"log":              render(renderLog),
	"rename":           render(renderRename),
	"note":             render(renderNote),
	"protect":          render(renderProtect),
	"unprotect":        render(renderProtect),
	"forget":           render(renderForget),
	"du":               render(renderDu),
	"prune":            render(renderPrune),
	"check":            render(renderCheck),
	"repair":           render(renderRepair),
	"env":              renderEnv,
	"db start":         render(renderServer),
	"db stop":          render(func(p *printer, _ *commands.DBStopResult) { p.line("The server is stopped.") }),
	"db url":           render(func(p *printer, r *commands.DBURLResult) { p.line("%s", r.URL) }),
	"db shell":         render(func(p *printer, r *commands.DBShellResult) { p.warnings = append(p.warnings, r.Warnings...) }),
	"postgres list":    render(renderInstallations),
	"postgres install": render(renderInstall),
	"version":          render(renderVersion),
	"man":              render(renderMan),
	"lsp":              render(func(*printer, *LSPResult) {}),
	"daemon":           render(func(*printer, *DaemonResult) {}),
	"daemon status":    render(renderDaemonStatus),
	"daemon stop":      render(renderDaemonStop),
	"daemon logs":      render(renderDaemonLogs),
	"completion":       render(func(p *printer, r *CompletionResult) { p.text.WriteString(r.Script) }),
}

func renderEnv(p *printer, result any) error {
	r, ok := result.(*commands.EnvResult)
	if !ok {
		return fmt.Errorf("print result: it is a %T", result)
	}
	text, err := commands.FormatEnv(r.Variables, r.Unset, r.Format)
	p.text.WriteString(text)
	return err
}

func renderVersion(p *printer, r *commands.VersionResult) {
	commit := ""
	if r.Commit != "" {
		commit = ", commit " + r.Commit[:min(len(r.Commit), 12)]
		if r.Dirty {
			commit += " with changes"
		}
	}
	p.line("forklift %s (%s, %s/%s%s)", r.Version, r.Go, r.OS, r.Arch, commit)
}
