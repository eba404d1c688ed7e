package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// safeWord matches what no POSIX shell takes apart.
var safeWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord makes one word of any text for every POSIX shell, that can be
// printed on a terminal: bytes that could control it are written in octal.
func shellWord(s string) string {
	if safeWord.MatchString(s) {
		return s
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\%03o`, s[i])
	}
	text := b.String()
	if end := strings.TrimRight(s, "\n"); end != s {
		// A substitution drops newlines at its end, so they stand behind it.
		return `"$(printf '` + text[:4*len(end)] + "')" + s[len(end):] + `"`
	}
	return `"$(printf '` + text + `')"`
}

// doPlan tells the command that does exactly the plan that was shown: what the
// user typed, so that it means the same where he stands, and the plan's id.
// verb is it where nobody typed anything.
func (p *printer) doPlan(verb, id string) {
	args := p.args
	if args == nil {
		args = strings.Fields(verb)
	}
	words, behind := []string{"forklift"}, []string{}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			for _, rest := range args[i:] {
				behind = append(behind, shellWord(rest))
			}
			i = len(args)
		case arg == "--yes" || arg == "-y" || strings.HasPrefix(arg, "--plan="):
		case arg == "--plan":
			if i+1 < len(args) && planID.MatchString(args[i+1]) {
				i++
			}
		default:
			words = append(words, shellWord(arg))
		}
	}
	words = append(append(words, "--yes", "--plan", shellWord(id)), behind...)
	p.line("To do exactly this: %s", strings.Join(words, " "))
}
