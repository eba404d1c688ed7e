package configls

import (
	"encoding/json"
	"strings"
)

// spot is what a text has at a place, whatever state the text is in.
type spot struct {
	keys       []string // that lead to the object or the list
	list       bool     // it is in a list, an element
	name       bool     // it is a name in an object, or where one can be; else a value
	start, end int      // bytes of the word there; equal where there is none
	word       string   // a string's text so far, or a bare word
	quoted     bool
	colon      bool // behind the word comes a colon
	in         *frame
}

// frame is an object or a list that is open.
type frame struct {
	list    bool
	keys    []string
	name    string   // of the value that comes or came last
	words   []string // the names of an object, the strings of a list
	outside bool     // it is none: what is around the text's value
	value   bool     // in an object: a value is expected or just came
}

// word is a token of a text.
type word struct {
	start, end int
	kind       byte // one of {}[]:, or '"' for a string and 'a' for anything else
	text       string
	open       bool // a string without its end
}

// next is the token at or behind an offset; ok is false at the end.
func next(text string, at int) (w word, ok bool) {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	if at == len(text) {
		return word{}, false
	}
	w = word{start: at, end: at + 1, kind: text[at]}
	switch {
	case strings.IndexByte("{}[]:,", w.kind) >= 0:
	case w.kind == '"':
		w.open = true
		for w.end < len(text) && text[w.end] != '\n' {
			c := text[w.end]
			w.end++
			if c == '"' {
				w.open = false
				break
			}
			if c == '\\' && w.end < len(text) && text[w.end] != '\n' {
				w.end++
			}
		}
		w.text = unquote(text[w.start:w.end], w.open)
	default:
		w.kind = 'a'
		for w.end < len(text) && strings.IndexByte(" \t\r\n{}[]:,\"", text[w.end]) < 0 {
			w.end++
		}
		w.text = text[w.start:w.end]
	}
	return w, true
}

// unquote reads a string that may have no end.
func unquote(s string, open bool) string {
	if open {
		s = strings.TrimRight(s, "\r") + `"`
	}
	var out string
	if json.Unmarshal([]byte(s), &out) != nil {
		return strings.Trim(s, `"`)
	}
	return out
}

// look finds what is at an offset.
func look(text string, at int) spot {
	s := &scanner{at: at, stack: []*frame{{outside: true}}}
	for pos := 0; ; {
		w, ok := next(text, pos)
		if !ok {
			break
		}
		s.take(w)
		pos = w.end
	}
	s.gap(len(text) + 1)
	return *s.found
}

// scanner follows the tokens.
type scanner struct {
	at    int
	stack []*frame
	found *spot // nil until the place was passed
	last  *spot // of the last word, until what is behind it is known
}

func (s *scanner) top() *frame { return s.stack[len(s.stack)-1] }

// gap notes the place when it is before an offset and was not passed yet.
func (s *scanner) gap(before int) {
	if s.found == nil && s.at < before {
		s.found = s.here(s.at, s.at, "", false)
	}
}

// here is the spot of a word in the present frame.
func (s *scanner) here(start, end int, text string, quoted bool) *spot {
	f := s.top()
	keys := f.keys
	if !f.list && f.value {
		keys = append(append([]string(nil), keys...), f.name)
	}
	return &spot{keys: keys, list: f.list, name: !f.list && !f.value, start: start, end: end, word: text, quoted: quoted, in: f}
}

// take goes over a token.
func (s *scanner) take(w word) {
	isWord := w.kind == '"' || w.kind == 'a'
	if s.last != nil {
		s.last.colon = w.kind == ':'
		s.last = nil
	}
	inside := s.at >= w.start && (s.at < w.end || s.at == w.end && (w.open || w.kind == 'a'))
	if s.found == nil && isWord && inside {
		s.found = s.here(w.start, w.end, w.text, w.kind == '"')
		s.last = s.found
	}
	if !isWord && s.found == nil && s.at == w.start && (w.kind == '{' || w.kind == '[') {
		s.found = s.here(w.start, w.end, "", false) // where a container begins
	}
	s.gap(w.start + 1)
	f := s.top()
	switch w.kind {
	case '{', '[':
		keys := f.keys
		if !f.list && f.name != "" {
			keys = append(append([]string(nil), keys...), f.name)
		}
		s.stack = append(s.stack, &frame{list: w.kind == '[', keys: keys})
	case '}', ']':
		if len(s.stack) > 1 {
			s.stack = s.stack[:len(s.stack)-1]
		}
	case ':':
		f.value = true
	case ',':
		f.value = false
		if !f.list {
			f.name = ""
		}
	default:
		switch {
		case f.list:
			f.words = append(f.words, w.text)
		case !f.value:
			f.name = w.text
			f.words = append(f.words, w.text)
		}
	}
}
