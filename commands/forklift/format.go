package main

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// plain makes any text fit for one line of a terminal: what is not printable
// is written as an escape, as are bytes that are not UTF-8.
func plain(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case (r == utf8.RuneError && n == 1) || unprintable(r):
			for _, c := range []byte(s[:n]) {
				b.WriteString(`\x` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
			}
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// formatBytes is a size for people: "1.2 MiB".
func formatBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// formatCount is a number with commas.
func formatCount(n int) string { return humanize.Comma(int64(n)) }

// formatSpan is how long something has lasted: "3 minutes".
func formatSpan(now, since time.Time) string {
	if since.Before(now) {
		if span := humanize.RelTime(since, now, "", ""); span != "now" {
			return strings.TrimSpace(span)
		}
	}
	return "less than a second"
}

// formatMs is a time span in seconds.
func formatMs(ms int64) string {
	return humanize.FtoaWithDigits(float64(ms)/1000, 2) + " s"
}

// plural is a count with its word.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return formatCount(n) + " " + many
}
