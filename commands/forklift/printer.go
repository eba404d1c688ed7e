package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"forklift/storage/clock"
)

// The colours, as terminals know them.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func paint(on bool, code, text string) string {
	if !on || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// printer collects what a renderer prints.
type printer struct {
	text     strings.Builder
	warnings []string
	color    bool
	now      time.Time
	args     []string // that the user typed; nil in a rendering without
}

// line prints a line. Arguments that are not constants go through plain
// first.
func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(&p.text, format+"\n", args...)
}

// labelWidth is the width of the labels of rows.
const labelWidth = 10

// row prints a label and a value, aligned with the other rows.
func (p *printer) row(label, format string, args ...any) {
	p.line("  %s %s", p.paint(dim, fmt.Sprintf("%-*s", labelWidth, label)), fmt.Sprintf(format, args...))
}

// words prints a label and many words, in as many rows as they need.
func (p *printer) words(label string, words []string) {
	line := ""
	for i, word := range words {
		word = plain(word)
		if line != "" && len(line)+1+len(word) > textWidth-labelWidth {
			p.row(label, "%s", line)
			label, line = "", ""
		}
		if line != "" {
			line += " "
		}
		line += word
		if i == len(words)-1 {
			p.row(label, "%s", line)
		}
	}
}

func (p *printer) paint(code, text string) string { return paint(p.color, code, text) }

// name is a name in bold, made plain.
func (p *printer) name(s string) string { return p.paint(bold, plain(s)) }

// ago is how long ago something was.
func (p *printer) ago(t time.Time) string { return clock.Ago(p.now, t) }

// span is how long something has lasted.
func (p *printer) span(since time.Time) string { return formatSpan(p.now, since) }

// cell is a text of a table with the colour it gets.
type cell struct {
	text  string
	color string
	right bool
}

func text(s string) cell { return cell{text: plain(s)} }

func number(s string) cell { return cell{text: s, right: true} }

// table prints rows with aligned columns under a head. Columns in which no
// row has anything are left out.
func (p *printer) table(head []string, rows [][]cell) {
	widths := make([]int, len(head))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	all := append([][]cell{headRow(head, rows)}, rows...)
	for i, title := range head {
		if widths[i] > 0 {
			widths[i] = max(widths[i], len(title))
		}
	}
	for _, row := range all {
		p.line("%s", p.tableRow(row, widths))
	}
}

// tableRow pads the cells of a row, but not behind its last word.
func (p *printer) tableRow(row []cell, widths []int) string {
	var b strings.Builder
	gap, between := "", ""
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
		gap += between
		between = "  "
		switch {
		case c.text == "":
			gap += space
		case c.right:
			b.WriteString(gap + space + p.paint(c.color, c.text))
			gap = ""
		default:
			b.WriteString(gap + p.paint(c.color, c.text))
			gap = space
		}
	}
	return b.String()
}

// headRow aligns the titles as their columns are.
func headRow(head []string, rows [][]cell) []cell {
	out := make([]cell, len(head))
	for i, title := range head {
		out[i] = cell{text: title, color: dim, right: len(rows) > 0 && rows[0][i].right}
	}
	return out
}
