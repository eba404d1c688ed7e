package main

import (
	"errors"
	"fmt"
	"strings"

	"forklift/commands"
)

var errDirAndVerb = errors.New("--dir and the name of a verb do not go together")

// manAbout is what the head of a page tells.
type manAbout struct {
	version, date string
}

// pageName is the name of a verb's page.
func pageName(v *commands.Verb) string {
	return "forklift-" + strings.ReplaceAll(v.Name, " ", "-")
}

// page writes a manual page with the macros of man(7).
type page struct{ b strings.Builder }

func newPage(name, short string, about manAbout) *page {
	p := &page{}
	p.b.WriteString(`.\" Made by "forklift man".` + "\n")
	// A date with escaped hyphens is none to mandoc.
	fmt.Fprintf(&p.b, ".TH \"%s\" \"1\" \"%s\" \"%s\" \"Forklift Manual\"\n", roff(strings.ToUpper(name)), about.date, roff("forklift "+about.version))
	p.section("NAME")
	p.text(name + ` \- ` + roff(short))
	return p
}

// macro writes a request with its arguments, quoted.
func (p *page) macro(name string, args ...string) {
	p.b.WriteString("." + name)
	for _, arg := range args {
		p.b.WriteString(` "` + strings.ReplaceAll(roff(arg), `"`, `\(dq`) + `"`)
	}
	p.b.WriteString("\n")
}

func (p *page) section(title string) { p.macro("SH", title) }

// text writes a line that is roff already.
func (p *page) text(line string) {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	p.b.WriteString(line + "\n")
}

// prose writes paragraphs. Lines that are indented stay as they are.
func (p *page) prose(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			p.b.WriteString(".PP\n")
		}
		literal := false
		for _, line := range strings.Split(paragraph, "\n") {
			if indented := strings.HasPrefix(line, "  "); indented != literal {
				literal = indented
				p.literal(literal)
			}
			p.text(roff(strings.TrimSpace(line)))
		}
		if literal {
			p.literal(false)
		}
	}
}

// literal begins or ends lines that are not filled.
func (p *page) literal(on bool) {
	p.b.WriteString(map[bool]string{true: ".RS 2\n.nf\n", false: ".fi\n.RE\n"}[on])
}

// item writes a term and what it means.
func (p *page) item(term, meaning string) {
	p.b.WriteString(".TP\n")
	p.text(term)
	if meaning != "" {
		p.text(roff(meaning))
	}
}

// roff escapes text: what a backslash would begin, and hyphens, so that
// options can be copied.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// bolded is a term in bold.
func bolded(s string) string { return `\fB` + roff(s) + `\fR` }

// verbPage is the manual page of a verb.
func verbPage(v *commands.Verb, about manAbout) string {
	p := newPage(pageName(v), v.Short, about)
	p.section("SYNOPSIS")
	for i, line := range strings.Split(usageLine(v), "\n") {
		if i > 0 {
			p.b.WriteString(".br\n")
		}
		line = strings.TrimPrefix(strings.TrimSpace(line), "forklift "+v.Name)
		p.text(bolded("forklift "+v.Name) + roff(line))
	}
	p.section("DESCRIPTION")
	long := v.Long
	if long == "" {
		long = v.Short + "."
	}
	p.prose(long)
	p.section("OPTIONS")
	for _, f := range v.Fields {
		term, text := strings.Trim(f.Arg, "[]"), f.Help
		if f.Arg == "" {
			term = strings.TrimSpace(flagNames(f))
			if f.Default != "" {
				text += " (default: " + f.Default + ")"
			}
		}
		p.item(bolded(term), text)
	}
	p.globalFlags()
	if len(v.Examples) > 0 {
		p.section("EXAMPLES")
		for _, e := range v.Examples {
			p.item(bolded(e.Line), e.What)
		}
	}
	p.exits(v.Exits)
	p.section("SEE ALSO")
	p.text(`\fBforklift\fR(1)`)
	return p.b.String()
}

// rootPage is the page about the program.
func (a *app) rootPage(about manAbout) string {
	p := newPage("forklift", "give every git worktree a PostgreSQL database of its own, and save both together", about)
	p.section("SYNOPSIS")
	p.text(bolded("forklift") + " " + roff("VERB [ARGUMENT...] [FLAG...]"))
	p.section("DESCRIPTION")
	p.prose(rootHelp)
	for _, group := range commands.Groups {
		p.macro("SS", string(group))
		for _, v := range a.verbs() {
			if v.Group == group {
				p.item(bolded(v.Name), v.Short+".")
			}
		}
	}
	p.section("OPTIONS")
	p.globalFlags()
	p.item(bolded("-v, --version"), "print the version")
	p.section("EXAMPLES")
	p.literal(true)
	for _, line := range strings.Split(strings.TrimSpace(rootExamples), "\n")[1:] {
		p.text(roff(strings.TrimSpace(line)))
	}
	p.literal(false)
	p.exits(nil)
	p.section("ENVIRONMENT")
	for _, line := range strings.Split(strings.TrimSpace(rootEnvironment), "\n")[1:] {
		name, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		p.item(bolded(name), strings.TrimSpace(meaning))
	}
	p.section("SEE ALSO")
	var others []string
	for _, v := range a.verbs() {
		others = append(others, bolded(pageName(v))+"(1)")
	}
	p.text(strings.Join(others, ",\n"))
	return p.b.String()
}

// globalFlags are the flags that every verb has.
func (p *page) globalFlags() {
	for _, flag := range globalFlags {
		p.item(bolded(strings.TrimSpace(flag[0])), flag[1])
	}
}

func (p *page) exits(codes []commands.Exit) {
	if codes == nil {
		codes = commands.ExitCodes
	}
	p.section("EXIT STATUS")
	for _, e := range codes {
		p.item(bolded(fmt.Sprint(e.Code)), e.What)
	}
}

func renderMan(p *printer, r *ManResult) {
	if r.Dir == "" {
		p.text.WriteString(r.Page)
		return
	}
	p.line("Wrote %s to %s", plural(len(r.Files), "page", "pages"), plain(r.Dir))
}
