package psql

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Kind says what an item is.
type Kind uint8

// The kinds of items.
const (
	SQL  Kind = iota // a statement without data
	Copy             // COPY ... FROM STDIN; Data is what follows
	Meta             // a backslash command; Text is the rest of its line
)

// Item is one thing to do.
type Item struct {
	Kind Kind
	Text string    // of a statement: from its first word to its semicolon
	Line int       // where Text begins, counted from 1
	Data io.Reader // of Copy; it must be read to its end before the next item
	// DataLine is the line where Data begins.
	DataLine int
}

// readBytes is how much of a file is in memory besides the statement.
const readBytes = 64 << 10

// Scanner cuts SQL text into items.
type Scanner struct {
	// StandardStrings is the server's standard_conforming_strings: whether a
	// backslash in an ordinary string is an ordinary character. It holds for
	// the items that have not been read yet.
	StandardStrings bool

	in       *bufio.Reader
	line     int
	limit    int // bytes of a statement
	data     *copyData
	begun    bool // something of the file was read
	atEnd    bool
	buf      []byte
	bufLine  int
	parens   int
	begins   int      // depth of BEGIN ATOMIC bodies
	words    []string // the first ones of the statement, in lower case
	previous string   // the last word
	copyIn   bool     // FROM STDIN stands outside of parentheses
	// An E'...' string goes on in the next string when only white space with a
	// line break is between them.
	escaped, broken bool
}

// firstWords is how many words of a statement are remembered: CREATE OR
// REPLACE FUNCTION.
const firstWords = 4

// NewScanner reads SQL from r. A statement of more than limit bytes is an
// error.
func NewScanner(r io.Reader, limit int) *Scanner {
	return &Scanner{StandardStrings: true, in: bufio.NewReaderSize(r, readBytes), line: 1, limit: limit}
}

// Line is where the scanner is.
func (s *Scanner) Line() int { return s.line }

// Next gives the next item; io.EOF behind the last one.
func (s *Scanner) Next() (Item, error) {
	if s.data != nil {
		if _, err := io.Copy(io.Discard, s.data); err != nil {
			return Item{}, err
		}
		s.data = nil
	}
	if !s.begun {
		s.begun = true
		if mark, _ := s.in.Peek(3); bytes.Equal(mark, []byte("\xEF\xBB\xBF")) {
			_, _ = s.in.Discard(3) // a byte order mark, as psql does
		}
	}
	for {
		c, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) {
			if len(s.buf) > 0 {
				return s.statement() // the last semicolon may be missing
			}
			return Item{}, io.EOF
		}
		if err != nil {
			return Item{}, err
		}
		switch {
		case c == '\\' && s.escapedColon():
			continue
		case c == '\\':
			return s.meta()
		case c == ';' && s.parens == 0 && s.begins == 0:
			if len(s.buf) == 0 {
				continue // an empty statement
			}
			s.buf = append(s.buf, c)
			return s.statement()
		}
		if err := s.token(c); err != nil {
			return Item{}, err
		}
		if len(s.buf) > s.limit {
			return Item{}, fmt.Errorf("the statement that begins in line %d has more than %d bytes", s.bufLine, s.limit)
		}
	}
}

// statement gives what was gathered.
func (s *Scanner) statement() (Item, error) {
	item := Item{Kind: SQL, Text: string(s.buf), Line: s.bufLine}
	if len(s.words) > 0 && s.words[0] == "copy" && s.copyIn {
		if err := s.restOfLine(); err != nil {
			return Item{}, err
		}
		item.Kind, item.DataLine = Copy, s.line
		s.data = &copyData{s: s, start: true}
		item.Data = s.data
	}
	s.reset()
	return item, nil
}

func (s *Scanner) reset() {
	s.buf, s.words, s.previous = s.buf[:0], s.words[:0], ""
	s.parens, s.begins, s.copyIn, s.escaped, s.broken = 0, 0, false, false, false
	const keep = 1 << 20
	if cap(s.buf) > keep {
		s.buf = nil
	}
}

// restOfLine passes over the end of the line of a COPY statement: its data
// begins with the next one.
func (s *Scanner) restOfLine() error {
	rest, err := s.readLine()
	if text := strings.TrimSpace(rest); text != "" && !strings.HasPrefix(text, "--") {
		return fmt.Errorf("%q stands between COPY and its data", text)
	}
	return err
}

// maxLine bounds the lines that are read whole: those of backslash commands.
const maxLine = 64 << 10

// readLine reads to the end of the line, which is not part of what it gives.
func (s *Scanner) readLine() (string, error) {
	text, err := s.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(text) > maxLine:
		return "", fmt.Errorf("a line of more than %d bytes", maxLine)
	case errors.Is(err, io.EOF):
		return strings.TrimRight(string(text), "\r"), nil
	case err != nil:
		return "", err
	}
	s.line++
	return strings.TrimRight(string(text), "\r\n"), nil
}

// escapedColon reads the colon behind a backslash: text, not the start of a
// variable.
func (s *Scanner) escapedColon() bool {
	next, _ := s.in.Peek(1)
	if len(next) == 0 || next[0] != ':' {
		return false
	}
	_, _ = s.in.Discard(1)
	s.add(':')
	return true
}

// meta gives a backslash command. What was gathered of a statement stays: a
// command may stand in the middle of one.
func (s *Scanner) meta() (Item, error) {
	line := s.line
	text, err := s.readLine()
	return Item{Kind: Meta, Text: text, Line: line}, err
}

// Pending reports that part of a statement has been read.
func (s *Scanner) Pending() bool { return len(s.buf) > 0 }

// add appends a byte of a statement.
func (s *Scanner) add(c byte) {
	if len(s.buf) == 0 {
		s.bufLine = s.line
	}
	s.buf = append(s.buf, c)
}

// take reads the next byte into the statement. what is being read, for the
// error when the file ends.
func (s *Scanner) take(what string, begun int) (byte, error) {
	c, err := s.in.ReadByte()
	if errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("the file ends in %s that begins in line %d", what, begun)
	}
	if err != nil {
		return 0, err
	}
	s.add(c)
	if c == '\n' {
		s.line++
	}
	if len(s.buf) > s.limit {
		return 0, fmt.Errorf("the statement that begins in line %d has more than %d bytes", s.bufLine, s.limit)
	}
	return c, nil
}

// copyData is the data behind a COPY statement, up to the line "\.".
type copyData struct {
	s     *Scanner
	start bool // at the start of a line
	done  bool
	rest  []byte // read and not given yet; valid until the next read of s.in
}

// Read gives the next bytes; io.EOF at the end of the data, not of the file.
func (d *copyData) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.done {
			return 0, io.EOF
		}
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// fill reads the next line, or a piece of a long one.
func (d *copyData) fill() error {
	piece, err := d.s.in.ReadSlice('\n')
	whole := err == nil
	switch {
	case errors.Is(err, io.EOF):
		d.done = true
	case err != nil && !errors.Is(err, bufio.ErrBufferFull):
		return err
	}
	if whole {
		d.s.line++
	}
	if d.start && (whole || d.done) && string(bytes.TrimRight(piece, "\r\n")) == `\.` {
		d.done = true
		return nil
	}
	d.start = whole
	d.rest = piece
	return nil
}
