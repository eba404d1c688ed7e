package configls

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"forklift/engine/config"

	"github.com/tailscale/hujson"
	"go.lsp.dev/protocol"
)

// problem records what the parser says, with what mends it.
func (d *diagnosis) problem(p config.Problem) {
	d.add(p.Start, p.End, protocol.DiagnosticSeverityError, string(p.Code), sentence(p.Message), d.mend(p)...)
}

// sentence begins a message with a capital letter.
func sentence(text string) string {
	if text != "" && 'a' <= text[0] && text[0] <= 'z' {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// mend are the fixes of a problem of the text.
func (d *diagnosis) mend(p config.Problem) []Fix {
	if d.root == nil {
		return nil
	}
	var fixes []Fix
	switch p.Code {
	case config.CodeUnknown:
		if p.Near != "" {
			fixes = append(fixes, d.replace(fmt.Sprintf("Change it to %q", p.Near), p.Start, p.End, strconv.Quote(p.Near)))
		}
		fixes = append(fixes, d.remove(p.Start, "Remove the key")...)
	case config.CodeTwice, config.CodeOverlap:
		fixes = d.remove(p.Start, "Remove it")
	case config.CodeOutside:
		fixes = append(d.relative(p), d.remove(p.Start, "Remove it")...)
	case config.CodeMissing:
		fixes = d.insertMissing()
	case config.CodeType, config.CodeValue:
		fixes = d.mendValue(p)
	}
	return fixes
}

// relative makes an absolute path in the worktree one that may be a source.
func (d *diagnosis) relative(p config.Problem) []Fix {
	s, err := strconv.Unquote(d.text[p.Start:p.End])
	if err != nil || !filepath.IsAbs(s) {
		return nil
	}
	rel, err := filepath.Rel(d.place.Root, s)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	return []Fix{d.replace(fmt.Sprintf("Change it to %q", rel), p.Start, p.End, strconv.Quote(filepath.ToSlash(rel)))}
}

// insertMissing adds all keys that must be there and are not.
func (d *diagnosis) insertMissing() []Fix {
	obj, ok := d.root.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var missing []string
	for _, key := range config.Keys() {
		if key.Required && member(obj, key.Name) == nil {
			missing = append(missing, strconv.Quote(key.Name)+": "+key.Example)
		}
	}
	at, text := d.root.StartOffset+1, "\n  "+strings.Join(missing, ",\n  ")
	if len(obj.Members) > 0 {
		text += ","
	} else {
		text += "\n"
	}
	return []Fix{d.replace("Add "+strings.Join(missing, " and "), at, at, text)}
}

// mendValue replaces a value by one that can be.
func (d *diagnosis) mendValue(p config.Problem) []Fix {
	key, inList := d.keyOf(p.Start)
	if key == nil {
		return nil
	}
	was := d.text[p.Start:p.End]
	var list []string
	switch {
	case inList:
	case key.Type == config.Number && strings.HasPrefix(was, `"`):
		n, err := strconv.Atoi(strings.Trim(was, `" `))
		if err == nil && n >= key.Min && n <= key.Max {
			list = []string{strconv.Itoa(n)}
		}
	case key.Type == config.Number:
		list = []string{strconv.Itoa(key.Min)}
		if key.Default != "" {
			list = []string{key.Default}
		}
	case len(key.Values) > 0:
		for _, v := range key.Values {
			list = append(list, strconv.Quote(v))
		}
	case slices.Contains([]config.Type{config.Texts, config.Paths, config.Argv}, key.Type) && strings.HasPrefix(was, `"`):
		list = []string{"[" + was + "]"}
	case key.Name == "source" && was == "[]":
		list = []string{`["."]`}
	}
	var fixes []Fix
	for _, v := range list {
		fixes = append(fixes, d.replace("Change it to "+v, p.Start, p.End, v))
	}
	return fixes
}

// keyOf is the key whose value, or an element of it, begins at an offset.
func (d *diagnosis) keyOf(offset int) (key *config.Key, inList bool) {
	spot := look(d.text, offset)
	if spot.name {
		return nil, false
	}
	return describe(spot.keys, d.place.Kinds), spot.list
}

// remove takes away the member or the element that begins at an offset.
func (d *diagnosis) remove(offset int, title string) []Fix {
	var fix []Fix
	visit(d.root, func(v *hujson.Value) {
		var spans [][2]int
		found := -1
		switch c := v.Value.(type) {
		case *hujson.Object:
			for i, m := range c.Members {
				spans = append(spans, [2]int{m.Name.StartOffset, m.Value.EndOffset})
				if m.Name.StartOffset == offset {
					found = i
				}
			}
		case *hujson.Array:
			for i, e := range c.Elements {
				spans = append(spans, [2]int{e.StartOffset, e.EndOffset})
				if e.StartOffset == offset {
					found = i
				}
			}
		}
		if found < 0 {
			return
		}
		start, end := spans[found][0], spans[found][1]
		switch {
		case found+1 < len(spans):
			end = spans[found+1][0]
		case found > 0:
			start = spans[found-1][1]
		}
		fix = []Fix{d.replace(title, start, end, "")}
	})
	return fix
}

// visit calls f with every value of a tree, the names aside.
func visit(v *hujson.Value, f func(*hujson.Value)) {
	f(v)
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			visit(&c.Members[i].Value, f)
		}
	case *hujson.Array:
		for i := range c.Elements {
			visit(&c.Elements[i], f)
		}
	}
}

// member is the first member of an object with a name; nil for none.
func member(obj *hujson.Object, name string) *hujson.ObjectMember {
	for i := range obj.Members {
		if lit, ok := obj.Members[i].Name.Value.(hujson.Literal); ok && lit.String() == name {
			return &obj.Members[i]
		}
	}
	return nil
}
