package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/tailscale/hujson"
)

// parser collects the problems of one text. hujson gives the syntax tree with
// byte offsets; what it accepts beyond JSON is refused before.
type parser struct {
	name     string
	data     []byte
	problems []Problem
	newer    *Problem // the format is newer than known: nothing else counts
}

// syntax parses the text as strict JSON whose top is an object.
func (p *parser) syntax() (*hujson.Value, bool) {
	if !utf8.Valid(p.data) {
		at := firstInvalid(p.data)
		p.addAt(at, at+1, CodeSyntax, "not UTF-8 text")
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
		p.addAt(offset, min(offset+1, len(p.data)), CodeSyntax, "not JSON: %s", err)
		return nil, false
	}
	root, err := hujson.Parse(p.data)
	if err != nil {
		p.addAt(0, 0, CodeSyntax, "not JSON: %s", err)
		return nil, false
	}
	if root.Value.Kind() != '{' {
		p.add(&root, CodeType, "the file must hold an object, not %s", kindName(root))
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
func (p *parser) members(v *hujson.Value, what string, fn func(name string, at, value *hujson.Value)) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		p.add(v, CodeType, "%s must be an object, not %s", what, kindName(*v))
		return
	}
	seen := map[string]bool{}
	for i := range obj.Members {
		m := &obj.Members[i]
		name := m.Name.Value.(hujson.Literal).String()
		if seen[name] {
			p.add(&m.Name, CodeTwice, "%q is there twice", name)
			continue
		}
		seen[name] = true
		fn(name, &m.Name, &m.Value)
	}
}

// fields reads an object of known keys into f, and gives the names of those
// that were there.
func (p *parser) fields(v *hujson.Value, what string, keys []Key, open bool, f *File) map[string]bool {
	found := map[string]bool{}
	p.members(v, what, func(name string, at, value *hujson.Value) {
		for _, key := range keys {
			if key.Name == name {
				found[name] = true
				key.read(p, value, f)
				return
			}
		}
		if open {
			return
		}
		best := near(name, keys)
		p.add(at, CodeUnknown, "unknown key %q%s", name, instead(best, keys)).Near = best
	})
	return found
}

// near is the known key that was probably meant; "" when none is like it.
func near(name string, keys []Key) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Name
	}
	return Near(name, names)
}

// maxListed is how many keys are few enough to be listed for a wrong one.
const maxListed = 4

// instead asks whether a key was meant; where none is like it and there are few
// it lists them.
func instead(best string, keys []Key) string {
	if best != "" || len(keys) > maxListed || len(keys) == 0 {
		return suggest(best)
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Name
	}
	return " (there are " + strings.Join(names, ", ") + ")"
}

// suggest asks whether a name was meant; "" for none.
func suggest(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", name)
}

// Near is the name that was probably meant with a wrong one; "" when none is
// like it. Of several the first in the alphabet counts.
func Near(name string, names []string) string {
	best, distance := "", 1+max(1, len(name)/3)
	names = slices.Sorted(slices.Values(names))
	for _, one := range names {
		d := levenshtein.ComputeDistance(name, one)
		if swapped(name, one) || len(name) >= minPrefix && strings.HasPrefix(one, name) {
			d = 1
		}
		if d < distance {
			best, distance = one, d
		}
	}
	return best
}

// minPrefix is how much of a name is enough to know it by.
const minPrefix = 3

// swapped reports that two neighbouring letters of a were exchanged in b.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// text reads a string.
func (p *parser) text(v *hujson.Value, what string) (string, bool) {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		p.add(v, CodeType, "%s must be a string, not %s", what, kindName(*v))
		return "", false
	}
	return lit.String(), true
}

// placed is a string with its place.
type placed struct {
	text string
	at   *hujson.Value
}

// texts reads an array of strings.
func (p *parser) texts(v *hujson.Value, what string) []placed {
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		p.add(v, CodeType, "%s must be an array of strings, not %s", what, kindName(*v))
		return nil
	}
	var list []placed
	for i := range arr.Elements {
		e := &arr.Elements[i]
		if s, ok := p.text(e, "an element of "+what); ok {
			list = append(list, placed{s, e})
		}
	}
	return list
}
