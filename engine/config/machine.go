package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"

	"forklift/storage/fault"

	"github.com/BurntSushi/toml"
)

// MachineName is the machine configuration's name in a git common directory.
const MachineName = "forklift.toml"

// Machine is the content of a forklift.toml: what belongs to this machine and
// one repository. Paths are absolute.
type Machine struct {
	Format   int    `toml:"format"`             // 1
	Store    string `toml:"store"`              // directory of the store
	Project  string `toml:"project"`            // id that the store knows the repository by
	Seed     string `toml:"seed,omitempty"`     // name of the seed that new worktrees start from; "" is an empty database
	Postgres string `toml:"postgres,omitempty"` // bin directory of the PostgreSQL installation; "" looks for one
	Limits   Limits `toml:"limits,omitempty"`   // how much the store may take
}

// ParseMachine reads the text of a forklift.toml. Unknown keys and wrong types
// are faults of kind Usage with line and column, a newer format is
// Unsupported. name is only for messages.
func ParseMachine(name string, data []byte) (*Machine, error) {
	bad := func(kind fault.Kind, items ...string) error {
		return &fault.Error{Op: "read machine configuration", Path: name, Kind: kind, Err: errors.New(strings.Join(items, "; ")), Items: items,
			Hint: "Correct the file and try again."}
	}
	if len(data) > MaxBytes {
		return nil, bad(fault.Usage, fmt.Sprintf("%s: more than %d bytes", name, MaxBytes))
	}
	raw := map[string]any{}
	if _, err := toml.Decode(string(data), &raw); err != nil {
		at, text := "", err.Error()
		var parse toml.ParseError
		if errors.As(err, &parse) {
			at, text = fmt.Sprintf(":%d:%d", parse.Position.Line, max(parse.Position.Col, 1)), strings.TrimSuffix(parse.Message, ".")
		}
		return nil, bad(fault.Usage, fmt.Sprintf("%s%s: %s", name, at, text))
	}
	if n, ok := raw["format"].(int64); ok && n > format {
		return nil, bad(fault.Unsupported, fmt.Sprintf("%s: format %d was written by a newer Forklift; this one knows %d", name, n, format))
	}
	var m Machine
	items := m.fill(name, data, raw)
	if len(items) == 0 {
		items = m.problems(name)
	}
	if len(items) > 0 {
		return nil, bad(fault.Usage, items...)
	}
	return &m, nil
}

// fill sets the fields from the decoded keys and says which keys are unknown
// or of the wrong type, in the order of their lines.
func (m *Machine) fill(name string, data []byte, raw map[string]any) []string {
	fields, known := reflect.ValueOf(m).Elem(), map[string]int{}
	for i := range fields.NumField() {
		key, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("toml"), ",")
		known[key] = i
	}
	var found []Problem
	for key, value := range raw {
		text := ""
		if i, ok := known[key]; !ok {
			text = fmt.Sprintf("unknown key %q%s", key, suggest(Near(key, slices.Collect(maps.Keys(known)))))
		} else if key == limitsKey {
			text = m.Limits.fill(value)
		} else if !set(fields.Field(i), value) {
			text = fmt.Sprintf("%s must be of type %s", key, fields.Field(i).Kind())
		}
		if text != "" {
			found = append(found, Problem{Start: keyOffset(data, key), Message: text})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Start < found[j].Start })
	var items []string
	for _, pr := range found {
		line, column := position(data, pr.Start)
		items = append(items, fmt.Sprintf("%s:%d:%d: %s", name, line, column, pr.Message))
	}
	return items
}

// problems says what is wrong with the values.
func (m *Machine) problems(name string) []string {
	var items []string
	if m.Format != format {
		items = append(items, fmt.Sprintf("%s: format must be %d", name, format))
	}
	if m.Store == "" {
		items = append(items, name+`: the key "store" is missing`)
	}
	if m.Project == "" {
		items = append(items, name+`: the key "project" is missing`)
	}
	if m.Store != "" && !strings.HasPrefix(m.Store, "/") {
		items = append(items, name+": store must be an absolute path")
	}
	if m.Postgres != "" && !strings.HasPrefix(m.Postgres, "/") {
		items = append(items, name+": postgres must be an absolute path")
	}
	return items
}

// set gives a field its value, if that has the field's type.
func set(field reflect.Value, value any) bool {
	switch v := value.(type) {
	case string:
		if field.Kind() == reflect.String {
			field.SetString(v)
			return true
		}
	case int64:
		if field.Kind() == reflect.Int {
			field.SetInt(v)
			return true
		}
	}
	return false
}

// keyOffset finds where a top-level key is set or opened: the toml package
// does not tell for a key that it could decode.
func keyOffset(data []byte, key string) int {
	offset := 0
	for _, text := range bytes.SplitAfter(data, []byte("\n")) {
		trimmed := strings.TrimLeft(string(text), " \t[\"'")
		if rest, ok := strings.CutPrefix(trimmed, key); ok && rest != "" && strings.ContainsRune(" \t=.]\"'", rune(rest[0])) {
			return offset + len(text) - len(trimmed)
		}
		offset += len(text)
	}
	return 0
}

// Encode is the text of the file, which ParseMachine reads again. Format is
// filled in.
func (m Machine) Encode() []byte {
	m.Format = format
	var b bytes.Buffer
	b.WriteString("# Forklift's settings of this repository on this machine.\n")
	_ = toml.NewEncoder(&b).Encode(m) // a struct of strings cannot fail
	return b.Bytes()
}
