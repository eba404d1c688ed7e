package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
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
	var m Machine
	meta, err := toml.Decode(string(data), &m)
	if err != nil {
		at, text := "", err.Error()
		var parse toml.ParseError
		if errors.As(err, &parse) {
			at, text = fmt.Sprintf(":%d:%d", parse.Position.Line, max(parse.Position.Col, 1)), strings.TrimSuffix(parse.Message, ".")
		}
		return nil, bad(fault.Usage, fmt.Sprintf("%s%s: %s", name, at, text))
	}
	if m.Format > format {
		return nil, bad(fault.Unsupported, fmt.Sprintf("%s: format %d was written by a newer Forklift; this one knows %d", name, m.Format, format))
	}
	var items []string
	known := machineKeys()
	for _, key := range meta.Undecoded() {
		line, column := keyPosition(data, key[0])
		items = append(items, fmt.Sprintf("%s:%d:%d: unknown key %q%s", name, line, column, key, near(key[0], known)))
	}
	items = append(items, m.problems(name)...)
	if len(items) > 0 {
		return nil, bad(fault.Usage, items...)
	}
	return &m, nil
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

func machineKeys() map[string]bool {
	known := map[string]bool{}
	for t, i := reflect.TypeFor[Machine](), 0; i < t.NumField(); i++ {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("toml"), ",")
		known[key] = true
	}
	return known
}

// keyPosition finds the line that sets or opens a top-level key: the toml
// package does not say where an unknown key is.
func keyPosition(data []byte, key string) (line, column int) {
	for i, text := range bytes.Split(data, []byte("\n")) {
		trimmed := strings.TrimLeft(string(text), " \t[\"'")
		if rest, ok := strings.CutPrefix(trimmed, key); ok && (rest == "" || strings.ContainsRune(" \t=.]\"'", rune(rest[0]))) {
			return i + 1, len(text) - len(trimmed) + 1
		}
	}
	return 1, 1
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
