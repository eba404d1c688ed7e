package sqlshell

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is a result as text. A nil cell is NULL.
type table struct {
	columns []string
	right   []bool // columns of numbers
	rows    [][]*string
}

// write prints the table as psql does: aligned, with a line under the head
// and a count below.
func (t *table) write(w io.Writer) error {
	widths := make([]int, len(t.columns))
	for i, name := range t.columns {
		widths[i] = utf8.RuneCountInString(printable(name))
	}
	for _, row := range t.rows {
		for i, cell := range row {
			for _, line := range cellLines(cell) {
				widths[i] = max(widths[i], utf8.RuneCountInString(line))
			}
		}
	}
	var b strings.Builder
	for i, name := range t.columns {
		space := widths[i] - utf8.RuneCountInString(printable(name))
		b.WriteString(separator(i, " | ") + strings.Repeat(" ", space/2) + printable(name) + strings.Repeat(" ", space-space/2))
	}
	b.WriteString("\n")
	for i := range t.columns {
		b.WriteString(separator(i, "-+-") + strings.Repeat("-", widths[i]))
	}
	b.WriteString("-\n")
	for _, row := range t.rows {
		t.writeRow(&b, row, widths)
	}
	fmt.Fprintf(&b, "(%d %s)\n\n", len(t.rows), map[bool]string{true: "row", false: "rows"}[len(t.rows) == 1])
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// writeRow writes one row; cells of several lines make it several lines high.
func (t *table) writeRow(b *strings.Builder, row []*string, widths []int) {
	cells, height := make([][]string, len(row)), 1
	for i, cell := range row {
		cells[i] = cellLines(cell)
		height = max(height, len(cells[i]))
	}
	for line := range height {
		for i := range row {
			text := ""
			if line < len(cells[i]) {
				text = cells[i][line]
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if t.right[i] {
				text = pad + text
			} else {
				text += pad
			}
			b.WriteString(separator(i, " | ") + text)
		}
		b.WriteString("\n")
	}
}

func separator(column int, between string) string {
	if column == 0 {
		return between[2:]
	}
	return between
}

func cellLines(cell *string) []string {
	if cell == nil {
		return []string{""}
	}
	lines := strings.Split(*cell, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return lines
}

// printable replaces what a terminal would act upon.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return utf8.RuneError
		}
		return r
	}, s)
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
