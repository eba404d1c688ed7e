package main

import (
	"forklift/commands"
)

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
