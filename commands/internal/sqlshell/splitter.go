package sqlshell

import (
	"strings"
)

// Splitter cuts lines of SQL into statements.
type Splitter struct {
	text   strings.Builder // of the statement that has not ended
	parens int
	block  int    // depth of /* */
	quote  string // what ends the quoted text that is open: ', ", or $tag$
	escape bool   // that text knows backslash escapes (E'...')
	atomic int    // depth of BEGIN ATOMIC ... END, with the CASE ... END in it
	word   string // the last word, in upper case
}

// Pending reports that a statement has begun and not ended.
func (s *Splitter) Pending() bool {
	return s.quote != "" || s.block > 0 || strings.TrimSpace(s.text.String()) != ""
}

// Reset forgets the statement that has begun.
func (s *Splitter) Reset() { *s = Splitter{} }

// Rest ends the input: what is pending, or "".
func (s *Splitter) Rest() string {
	rest := strings.TrimSpace(s.text.String())
	s.Reset()
	return rest
}

// Add takes a line without its end and gives the statements that it ends,
// with their semicolons.
func (s *Splitter) Add(line string) []string {
	var done []string
	for i := 0; i < len(line); {
		n := s.step(line[i:])
		s.text.WriteString(line[i : i+n])
		ended := n == 1 && line[i] == ';' && s.quote == "" && s.block == 0 && s.parens <= 0 && s.atomic == 0
		i += n
		if ended {
			if text := strings.TrimSpace(s.text.String()); text != ";" {
				done = append(done, text)
			}
			s.Reset()
		} else if s.comment(line[i:]) {
			s.text.WriteString(line[i:])
			break
		}
	}
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
	return done
}

// comment reports that rest begins a comment up to the end of the line.
func (s *Splitter) comment(rest string) bool {
	return s.quote == "" && s.block == 0 && strings.HasPrefix(rest, "--")
}

// step looks at the start of rest, which is not empty, and tells how many
// bytes belong together.
func (s *Splitter) step(rest string) int {
	switch {
	case s.block > 0:
		return s.stepBlock(rest)
	case s.quote != "":
		return s.stepQuoted(rest)
	case s.comment(rest):
		return len(rest)
	case strings.HasPrefix(rest, "/*"):
		s.block++
		return 2
	}
	switch c := rest[0]; {
	case c == '\'' || c == '"':
		s.quote, s.escape = string(c), c == '\'' && s.word == "E"
		s.word = ""
		return 1
	case c == '$':
		if tag := dollarTag(rest); tag != "" {
			s.quote, s.escape = tag, false
			return len(tag)
		}
	case c == '(':
		s.parens++
	case c == ')':
		s.parens--
	case isWord(c):
		n := 1
		for n < len(rest) && (isWord(rest[n]) || rest[n] == '$') {
			n++
		}
		s.seeWord(strings.ToUpper(rest[:n]))
		return n
	}
	if rest[0] != ' ' && rest[0] != '\t' {
		s.word = ""
	}
	return 1
}

// seeWord follows the bodies of SQL-standard functions, whose semicolons do
// not end the statement.
func (s *Splitter) seeWord(word string) {
	switch {
	case word == "ATOMIC" && s.word == "BEGIN":
		s.atomic++
	case word == "CASE" && s.atomic > 0:
		s.atomic++
	case word == "END" && s.atomic > 0:
		s.atomic--
	}
	s.word = word
}

func (s *Splitter) stepBlock(rest string) int {
	switch {
	case strings.HasPrefix(rest, "/*"):
		s.block++
		return 2
	case strings.HasPrefix(rest, "*/"):
		s.block--
		return 2
	}
	return 1
}

func (s *Splitter) stepQuoted(rest string) int {
	if s.escape && rest[0] == '\\' {
		return min(2, len(rest))
	}
	// A doubled quote ends the text and begins it again: the same thing.
	if strings.HasPrefix(rest, s.quote) {
		n := len(s.quote)
		s.quote = ""
		return n
	}
	return 1
}

// dollarTag is the $tag$ that text begins with, or "".
func dollarTag(text string) string {
	for i := 1; i < len(text); i++ {
		if text[i] == '$' {
			return text[:i+1]
		}
		if !isWord(text[i]) || (i == 1 && text[i] >= '0' && text[i] <= '9') {
			return ""
		}
	}
	return ""
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}
