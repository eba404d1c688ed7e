package trust

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"forklift/engine/config"
)

// Text shows everything that the file could run, one line each, or says that
// there is nothing. Arguments are quoted where a shell would need it, and
// everything that a terminal could act on or not show is escaped, so that what
// is read is what runs.
func Text(cfg *config.File) string {
	var b strings.Builder
	if cfg.Hooks.Stop != nil {
		fmt.Fprintf(&b, "before the database is stopped:  %s\n", argvText(cfg.Hooks.Stop))
	}
	if cfg.Hooks.Start != nil {
		fmt.Fprintf(&b, "after the database is started:   %s\n", argvText(cfg.Hooks.Start))
	}
	names := make([]string, 0, len(cfg.Commands))
	for name := range cfg.Commands {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(&b, "forklift run %s:  %s\n", argText(name), argvText(cfg.Commands[name]))
	}
	if b.Len() == 0 {
		return "nothing would run\n"
	}
	return b.String()
}

func argvText(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = argText(a)
	}
	return strings.Join(words, " ")
}

// argText shows one argument: as it is when it is plain, in single quotes
// when a shell would split it, and as $'...' when it holds what a terminal
// does not show.
func argText(s string) string {
	plain, visible := s != "", true
	for _, r := range s {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar || (unicode.IsSpace(r) && r != ' ') {
			visible = false
		}
		if r > 127 || !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_@%+=:,./-", r)) {
			plain = false
		}
	}
	switch {
	case !visible:
		inner := strconv.QuoteToASCII(s)
		inner = strings.ReplaceAll(inner[1:len(inner)-1], `\"`, `"`)
		return "$'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
	case plain:
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
