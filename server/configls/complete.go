package configls

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"forklift/engine/config"
	"forklift/server/lsp"
	"forklift/storage/vfs"

	"go.lsp.dev/protocol"
)

// maxPaths bounds the paths that one completion offers.
const maxPaths = 500

// Complete offers what can stand at a position: the keys that are not there
// yet, the values that a key can have, and paths of the worktree.
func Complete(text string, at protocol.Position, place Place) *protocol.CompletionList {
	offset := lsp.Offset(text, at)
	s := look(text, offset)
	c := &completion{text: text, spot: s, list: &protocol.CompletionList{Items: []protocol.CompletionItem{}}}
	switch {
	case s.in.outside:
	case s.name:
		var object *config.Key
		if len(s.keys) > 0 {
			if object = describe(s.keys, place.Kinds); object == nil || object.Type != config.Object {
				break
			}
		}
		c.keys(keysIn(object, place.Kinds))
	default:
		if key := describe(s.keys, place.Kinds); key != nil {
			c.values(key, place, offset)
		}
	}
	return c.list
}

// completion collects the items for one place.
type completion struct {
	text string
	spot spot
	list *protocol.CompletionList
}

// add offers a text in place of the word.
func (c *completion) add(label, text, detail, doc string, kind protocol.CompletionItemKind) {
	item := protocol.CompletionItem{
		Label: label, Kind: kind, SortText: protocol.NewOptional(fmt.Sprintf("%04d", len(c.list.Items))), FilterText: protocol.NewOptional(filter(text)),
		TextEdit: &protocol.TextEdit{Range: lsp.RangeOf(c.text, c.spot.start, c.spot.end), NewText: text},
	}
	if detail != "" {
		item.Detail = protocol.NewOptional(detail)
	}
	if doc != "" {
		item.Documentation = &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: doc}
	}
	c.list.Items = append(c.list.Items, item)
}

// filter is what the word that is typed is compared with: it begins as the
// inserted text does, with the quote if there is one.
func filter(text string) string {
	if strings.HasPrefix(text, `"`) {
		if end := strings.Index(text[1:], `"`); end >= 0 {
			return text[:end+2]
		}
	}
	return text
}

// keys offers the names that the object has not.
func (c *completion) keys(list []config.Key) {
	for _, key := range list {
		if key.Name != c.spot.word && slices.Contains(c.spot.in.words, key.Name) {
			continue
		}
		text := strconv.Quote(key.Name)
		if !c.spot.colon {
			text += ": " + begin(&key)
		}
		c.add(key.Name, text, strings.ReplaceAll(shape(&key), "`", ""), key.Doc, protocol.CompletionItemKindProperty)
	}
}

// begin is a value to begin with.
func begin(key *config.Key) string {
	switch {
	case key.Example != "":
		return key.Example
	case key.Default != "":
		return key.Default
	case len(key.Values) > 0:
		return strconv.Quote(key.Values[0])
	}
	return `""`
}

// values offers what the value of a key can be.
func (c *completion) values(key *config.Key, place Place, offset int) {
	switch {
	case c.spot.list && key.Type == config.Paths:
		c.paths(place.Root, offset)
	case c.spot.list && key.Type != config.Texts:
	case len(key.Values) > 0:
		for _, v := range key.Values {
			if c.spot.list && v != c.spot.word && slices.Contains(c.spot.in.words, v) {
				continue
			}
			c.add(v, strconv.Quote(v), "", key.Doc, protocol.CompletionItemKindEnumMember)
		}
	case c.spot.list:
	default:
		v := begin(key)
		if v != `""` {
			c.add(v, v, "", key.Doc, protocol.CompletionItemKindValue)
		}
	}
}

// paths offers what is in the directory that the word names so far.
func (c *completion) paths(root string, offset int) {
	typed := c.spot.word
	if c.spot.quoted && offset > c.spot.start && offset < c.spot.end {
		typed = unquote(c.text[c.spot.start:offset], true) // what is behind the cursor is replaced
	}
	dir, _ := path.Split(typed)
	if strings.HasPrefix(dir, "/") {
		return
	}
	dir = path.Clean(dir)
	for _, name := range entries(root, dir) {
		full := path.Join(dir, name)
		if full != c.spot.word && slices.Contains(c.spot.in.words, full) {
			continue
		}
		c.add(full, strconv.Quote(full), "", "", protocol.CompletionItemKindFile)
		if len(c.list.Items) == maxPaths {
			c.list.IsIncomplete = true
			return
		}
	}
}

// entries are the names in a directory of the worktree that can be a source:
// no link leads out of it.
func entries(root, dir string) []string {
	top, err := vfs.OS().OpenRoot(root)
	if err != nil {
		return nil
	}
	defer func() { _ = top.Close() }()
	list, err := top.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range list {
		name := e.Name
		if paths, err := config.CleanSource([]string{path.Join(dir, name)}); err == nil && path.Base(paths[0]) == name {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}
