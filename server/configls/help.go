package configls

import (
	"fmt"
	"strconv"
	"strings"

	"forklift/engine/config"
	"forklift/server/lsp"

	"go.lsp.dev/protocol"
)

// describe finds the key that a path of names leads to; nil for none.
func describe(keys []string, kinds []config.Kind) *config.Key {
	list := config.Keys()
	var found *config.Key
	for _, name := range keys {
		if found != nil && found.Type == config.Commands {
			return &config.Key{Name: name, Type: config.Argv, Doc: "What `forklift run " + name + "` starts: a program and its arguments, without a shell, in the worktree."}
		}
		if found != nil {
			list = keysIn(found, kinds)
		}
		found = nil
		for i := range list {
			if list[i].Name == name {
				found = &list[i]
			}
		}
		if found == nil {
			return nil
		}
	}
	return found
}

// keysIn are the keys of an object; nil means the file itself.
func keysIn(object *config.Key, kinds []config.Kind) []config.Key {
	switch {
	case object == nil:
		return config.Keys()
	case object.Name != "database":
		if kind := kindOf(kinds, object.Name); kind != nil && kind.Own != nil {
			return kind.Own
		}
		return object.Keys
	}
	list := append([]config.Key(nil), object.Keys...)
	for i := range list {
		for _, kind := range kinds {
			if list[i].Name == "kind" {
				list[i].Values = append(list[i].Values, kind.Name)
			}
		}
	}
	for _, kind := range kinds {
		list = append(list, kind.Keys...)
	}
	return list
}

func kindOf(kinds []config.Kind, name string) *config.Kind {
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return nil
}

// firstKind is the kind of a file that names none; nil when there is none.
func firstKind(kinds []config.Kind) *config.Kind {
	if len(kinds) == 0 {
		return nil
	}
	return &kinds[0]
}

// Hover tells what the key at a position means, whether that is in its name
// or in its value; nil where there is none.
func Hover(text string, at protocol.Position, place Place) *protocol.Hover {
	s := look(text, lsp.Offset(text, at))
	if s.start == s.end {
		return nil
	}
	keys := s.keys
	if s.name {
		keys = append(append([]string(nil), keys...), s.word)
	}
	key := describe(keys, place.Kinds)
	if key == nil {
		return nil
	}
	r := lsp.RangeOf(text, s.start, s.end)
	return &protocol.Hover{Contents: &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: "**" + key.Name + "**: " + shape(key) + "\n\n" + key.Doc}, Range: &r}
}

// shape says in words what the value of a key is.
func shape(key *config.Key) string {
	var text string
	switch key.Type {
	case config.Number:
		if text = fmt.Sprintf("a number from %d to %d", key.Min, key.Max); key.Min == key.Max {
			text = fmt.Sprintf("the number %d", key.Min)
		}
	case config.Text:
		text = "a string"
		if len(key.Values) > 0 {
			text = strings.Join(quoted(key.Values), " or ")
		}
	case config.Texts:
		text = "a list of strings"
	case config.Paths:
		text = "a list of paths"
	case config.Argv:
		text = "a program and its arguments"
	case config.Commands:
		text = "programs by name"
	case config.Names:
		text = "names by name"
	case config.Object:
		text = "an object"
	}
	if key.Required {
		text += ", required"
	}
	if key.Default != "" {
		text += ", usually `" + key.Default + "`"
	}
	return text
}

func quoted(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, "`"+strconv.Quote(s)+"`")
	}
	return out
}
