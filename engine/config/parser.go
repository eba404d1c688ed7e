package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"unicode/utf8"

	"forklift/storage/fault"

	"github.com/agnivade/levenshtein"
	"github.com/tailscale/hujson"
)

// maxProblems limits how many problems are reported; a file with more is not
// one of ours.
const maxProblems = 100

// parser collects the problems of one text. hujson gives the syntax tree with
// byte offsets; what it accepts beyond JSON is refused before.
type parser struct {
	name     string
	data     []byte
	problems []problem
	newer    *problem // the format is newer than known: nothing else counts
}

type problem struct {
	offset int
	text   string
}

// add records a problem at a byte offset.
func (p *parser) add(offset int, format string, args ...any) {
	p.problems = append(p.problems, problem{offset, fmt.Sprintf(format, args...)})
}

// position is the place of a byte offset: line and column from 1, columns in
// characters.
func position(data []byte, offset int) (line, column int) {
	offset = min(max(offset, 0), len(data))
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	return 1 + bytes.Count(data[:start], []byte("\n")), 1 + utf8.RuneCount(data[start:offset])
}

// err makes one error of all problems, or nil.
func (p *parser) err() error {
	if len(p.problems) == 0 {
		return nil
	}
	sort.SliceStable(p.problems, func(i, j int) bool { return p.problems[i].offset < p.problems[j].offset })
	var items []string
	for i, pr := range p.problems {
		if i == maxProblems {
			items = append(items, fmt.Sprintf("%s: and %d more", p.name, len(p.problems)-i))
			break
		}
		line, column := position(p.data, pr.offset)
		items = append(items, fmt.Sprintf("%s:%d:%d: %s", p.name, line, column, pr.text))
	}
	e := &fault.Error{Op: "read configuration", Path: p.name, Kind: fault.Usage, Err: errors.New(items[0]), Items: items,
		Hint: "Correct the file and try again."}
	if len(items) > 1 {
		e.Err = fmt.Errorf("%s (and %d more)", items[0], len(p.problems)-1)
	}
	if p.newer != nil {
		e.Kind, e.Hint = fault.Unsupported, "Use a newer version of forklift."
	}
	return e
}

// syntax parses the text as strict JSON whose top is an object.
func (p *parser) syntax() (*hujson.Value, bool) {
	if !utf8.Valid(p.data) {
		p.add(firstInvalid(p.data), "not UTF-8 text")
		return nil, false
	}
	var any json.RawMessage
	if err := json.Unmarshal(p.data, &any); err != nil {
		offset := len(p.data)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && int(syntax.Offset) < len(p.data)+1 {
			offset = max(int(syntax.Offset)-1, 0) // the offset is behind the character
			if syntax.Error() == "unexpected end of JSON input" {
				offset = len(p.data)
			}
		}
		p.add(offset, "not JSON: %s", err)
		return nil, false
	}
	root, err := hujson.Parse(p.data)
	if err != nil {
		p.add(0, "not JSON: %s", err)
		return nil, false
	}
	if root.Value.Kind() != '{' {
		p.add(root.StartOffset, "the file must hold an object, not %s", kindName(root))
		return nil, false
	}
	return &root, true
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// kindName is what a value is, with its article.
func kindName(v hujson.Value) string {
	switch v.Value.Kind() {
	case 'n':
		return "null"
	case 'f', 't':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	}
	return "an array"
}

// members calls fn with each member of an object; a value of another type
// and a doubled name are problems.
func (p *parser) members(v *hujson.Value, what string, fn func(name string, at int, value *hujson.Value)) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		p.add(v.StartOffset, "%s must be an object, not %s", what, kindName(*v))
		return
	}
	seen := map[string]bool{}
	for i := range obj.Members {
		m := &obj.Members[i]
		name := m.Name.Value.(hujson.Literal).String()
		if seen[name] {
			p.add(m.Name.StartOffset, "%q is there twice", name)
			continue
		}
		seen[name] = true
		fn(name, m.Name.StartOffset, &m.Value)
	}
}

// fields reads an object of known keys: each is given to its function.
func (p *parser) fields(v *hujson.Value, what string, known map[string]func(*hujson.Value)) map[string]bool {
	found := map[string]bool{}
	p.members(v, what, func(name string, at int, value *hujson.Value) {
		read, ok := known[name]
		if !ok {
			p.add(at, "unknown key %q%s", name, near(name, known))
			return
		}
		found[name] = true
		read(value)
	})
	return found
}

// near suggests the known key that was probably meant.
func near[V any](name string, known map[string]V) string {
	best, distance := "", 1+max(1, len(name)/3)
	keys := make([]string, 0, len(known))
	for key := range known {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		if d := levenshtein.ComputeDistance(name, key); d < distance {
			best, distance = key, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// text reads a string.
func (p *parser) text(v *hujson.Value, what string) (string, bool) {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		p.add(v.StartOffset, "%s must be a string, not %s", what, kindName(*v))
		return "", false
	}
	return lit.String(), true
}

// placed is a string with its offset.
type placed struct {
	text string
	at   int
}

// texts reads an array of strings.
func (p *parser) texts(v *hujson.Value, what string) []placed {
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		p.add(v.StartOffset, "%s must be an array of strings, not %s", what, kindName(*v))
		return nil
	}
	var list []placed
	for i := range arr.Elements {
		e := &arr.Elements[i]
		if s, ok := p.text(e, "an element of "+what); ok {
			list = append(list, placed{s, e.StartOffset})
		}
	}
	return list
}
