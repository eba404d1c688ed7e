package lsp

import (
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

// Offset is the byte of a position in a text: its character counts UTF-16 code
// units. A position behind the end of a line is at its end, one behind the
// last line at the end of the text.
func Offset(text string, p protocol.Position) int {
	at := 0
	for range p.Line {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	units := 0
	for units < int(p.Character) && at < len(text) && text[at] != '\n' {
		r, size := utf8.DecodeRuneInString(text[at:])
		units += unitsOf(r)
		at += size
	}
	return at
}

// PositionOf is the position of a byte of a text; bytes behind its end are at
// its end.
func PositionOf(text string, offset int) protocol.Position {
	offset = min(max(offset, 0), len(text))
	start := strings.LastIndexByte(text[:offset], '\n') + 1
	p := protocol.Position{Line: uint32(strings.Count(text[:start], "\n"))}
	for _, r := range text[start:offset] {
		p.Character += uint32(unitsOf(r))
	}
	return p
}

// RangeOf is the range of some bytes of a text.
func RangeOf(text string, start, end int) protocol.Range {
	return protocol.Range{Start: PositionOf(text, start), End: PositionOf(text, end)}
}

// unitsOf is how many UTF-16 code units a character has.
func unitsOf(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
