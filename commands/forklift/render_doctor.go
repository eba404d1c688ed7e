package main

import (
	"fmt"

	"forklift/commands"
)

func renderDoctor(p *printer, r *commands.DoctorResult) {
	width := 0
	for _, c := range r.Checks {
		width = max(width, len(c.ID))
	}
	colors := map[string]string{"ok": green, "warning": yellow, "problem": red}
	for _, c := range r.Checks {
		verdict := string(c.Verdict)
		p.line("%s  %s  %s", p.paint(colors[verdict], fmt.Sprintf("%-7s", verdict)), fmt.Sprintf("%-*s", width, c.ID), plain(c.Found))
		if c.Do != "" {
			p.line("%*s  %s", 7+2+width, "", plain(c.Do))
		}
	}
	p.line("")
	switch {
	case r.Problems > 0:
		p.line("%s, %s.", p.paint(red, plural(r.Problems, "problem", "problems")), plural(r.Warnings, "warning", "warnings"))
	case r.Warnings > 0:
		p.line("No problem, %s.", p.paint(yellow, plural(r.Warnings, "warning", "warnings")))
	default:
		p.line("%s", p.paint(green, "Everything is well."))
	}
}
