package psql

import (
	"slices"
	"strings"
)

// token reads one token of SQL that begins with c, which has been read. White
// space and comments before a statement are not part of it.
func (s *Scanner) token(c byte) error {
	next, _ := s.in.Peek(1)
	follows := func(b byte) bool { return len(next) == 1 && next[0] == b }
	switch {
	case c == '\n':
		s.broken = true
		if len(s.buf) > 0 {
			s.add(c)
		}
		s.line++
		return nil
	case isSpace(c):
		if len(s.buf) > 0 {
			s.add(c)
		}
		return nil
	case c == '-' && follows('-'):
		return s.lineComment()
	case c == '/' && follows('*'):
		return s.blockComment()
	}
	goesOn := s.escaped && s.broken
	s.escaped, s.broken = false, false
	switch {
	case c == '\'':
		s.add(c)
		return s.quoted(goesOn || !s.StandardStrings)
	case c == '"':
		s.add(c)
		return s.name()
	case c == '$':
		return s.dollar()
	case isLetter(c):
		return s.word(c)
	case c >= '0' && c <= '9':
		return s.number(c)
	}
	s.previous = ""
	switch c {
	case '(':
		s.parens++
	case ')':
		s.parens = max(0, s.parens-1)
	}
	s.add(c)
	return nil
}

// lineComment passes over "-- ..." up to the end of the line.
func (s *Scanner) lineComment() error {
	for {
		piece, err := s.in.ReadSlice('\n')
		if len(s.buf) > 0 && err == nil {
			s.add('\n') // it ends the token before it
		}
		if err == nil {
			s.line++
			s.broken = true
			return nil
		}
		if len(piece) == 0 || !isBufferFull(err) {
			return ignoreEOF(err)
		}
	}
}

// blockComment passes over a comment, and over comments in it. In its place
// the statement gets a space, and the line breaks that keep lines right.
func (s *Scanner) blockComment() error {
	begun, depth := s.line, 0
	started := len(s.buf) > 0
	size := len(s.buf)
	previous := byte('/')
	for {
		c, err := s.take("a comment", begun)
		if err != nil {
			return err
		}
		// Only the line breaks stay, so that a long comment takes no room.
		s.buf = s.buf[:len(s.buf)-1]
		if started && c == '\n' {
			s.buf = append(s.buf, c)
		}
		switch {
		case previous == '/' && c == '*':
			depth++
			previous = 0
			continue
		case previous == '*' && c == '/':
			depth--
			previous = 0
		default:
			previous = c
		}
		if depth == 0 {
			if started && len(s.buf) == size {
				s.buf = append(s.buf, ' ')
			}
			return nil
		}
	}
}

// quoted reads a string whose opening quote has been read.
func (s *Scanner) quoted(escapes bool) error {
	begun := s.line
	s.previous = ""
	for {
		c, err := s.take("a string", begun)
		switch {
		case err != nil:
			return err
		case c == '\\' && escapes:
			if _, err := s.take("a string", begun); err != nil {
				return err
			}
		case c == '\'':
			if next, _ := s.in.Peek(1); len(next) == 1 && next[0] == '\'' {
				if _, err := s.take("a string", begun); err != nil {
					return err
				}
				continue
			}
			s.escaped = escapes && s.StandardStrings
			return nil
		}
	}
}

// name reads a quoted name whose opening quote has been read. Doubled quotes
// inside look like two names side by side, which ends at the same place.
func (s *Scanner) name() error {
	begun := s.line
	s.previous = ""
	s.countWord("\"")
	for {
		c, err := s.take("a quoted name", begun)
		if err != nil {
			return err
		}
		if c == '"' {
			return nil
		}
	}
}

// maxTag bounds the tag of a dollar quote; PostgreSQL's own names are shorter.
const maxTag = 4096

// dollar reads a dollar quote, or the $ of something else.
func (s *Scanner) dollar() error {
	s.previous = ""
	s.add('$')
	tag, ok := s.dollarTag()
	if !ok {
		return nil
	}
	begun := s.line
	for range len(tag) - 1 {
		if _, err := s.take("a dollar quote", begun); err != nil {
			return err
		}
	}
	from := len(s.buf)
	for {
		c, err := s.take("the dollar quote "+tag, begun)
		if err != nil {
			return err
		}
		if c == '$' && len(s.buf)-from >= len(tag) && string(s.buf[len(s.buf)-len(tag):]) == tag {
			return nil
		}
	}
}

// dollarTag looks whether a $ that has been read opens a quote: its tag, with
// both dollars.
func (s *Scanner) dollarTag() (string, bool) {
	for n := 1; n <= maxTag; n++ {
		ahead, _ := s.in.Peek(n)
		if len(ahead) < n {
			return "", false
		}
		c := ahead[n-1]
		switch {
		case c == '$':
			return "$" + string(ahead), true
		case isLetter(c), n > 1 && c >= '0' && c <= '9':
		default:
			return "", false
		}
	}
	return "", false
}

// word reads a word, and the string that it may introduce (E'...', N'...').
func (s *Scanner) word(c byte) error {
	s.add(c)
	from := len(s.buf) - 1
	for {
		next, _ := s.in.Peek(1)
		if len(next) == 0 || !(isLetter(next[0]) || isDigit(next[0]) || next[0] == '$') {
			break
		}
		if _, err := s.take("a word", s.line); err != nil {
			return err
		}
	}
	word := string(s.buf[from:])
	if next, _ := s.in.Peek(1); len(next) == 1 && next[0] == '\'' && len(word) == 1 {
		if kind := strings.ToLower(word); strings.Contains("enbx", kind) {
			if _, err := s.take("a string", s.line); err != nil {
				return err
			}
			return s.quoted(kind == "e" || kind == "n" && !s.StandardStrings)
		}
	}
	s.countWord(word)
	return nil
}

// number reads digits and what sticks to them, so that no word begins there.
func (s *Scanner) number(c byte) error {
	s.previous = ""
	s.add(c)
	for {
		next, _ := s.in.Peek(1)
		if len(next) == 0 || !(isLetter(next[0]) || isDigit(next[0])) {
			return nil
		}
		if _, err := s.take("a number", s.line); err != nil {
			return err
		}
	}
}

// countWord looks at a word for what changes where the statement ends.
func (s *Scanner) countWord(word string) {
	if len(word) > maxKeyword {
		word = word[:maxKeyword]
	}
	word = strings.ToLower(word)
	if len(s.words) < firstWords {
		s.words = append(s.words, word)
	}
	if s.parens == 0 {
		if s.previous == "from" && word == "stdin" {
			s.copyIn = true
		}
		if s.makesFunction() {
			s.countBody(word)
		}
	}
	s.previous = word
}

// maxKeyword is longer than any keyword.
const maxKeyword = 32

// makesFunction reports CREATE [OR REPLACE] {FUNCTION | PROCEDURE}, whose body
// may be statements between BEGIN ATOMIC and END.
func (s *Scanner) makesFunction() bool {
	w := s.words
	if len(w) < 2 || w[0] != "create" {
		return false
	}
	if len(w) == firstWords && w[1] == "or" && w[2] == "replace" {
		w = w[2:]
	}
	return slices.Contains([]string{"function", "procedure"}, w[1])
}

// countBody keeps count of BEGIN and END; a CASE ends with END too.
func (s *Scanner) countBody(word string) {
	switch word {
	case "begin":
		s.begins++
	case "case":
		if s.begins > 0 {
			s.begins++
		}
	case "end":
		s.begins = max(0, s.begins-1)
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isLetter reports what can begin a name; bytes of any non-ASCII character can.
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
