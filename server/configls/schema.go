package configls

import (
	"encoding/json"
	"regexp"

	"forklift/engine/config"
)

//go:generate go test -run TestTheSchemaIsCurrent -update

// Schema is a JSON schema (draft 7) of .forklift.json, for editors that know
// such. It says less than Diagnose: that one also looks at the worktree.
func Schema(kinds []config.Kind) []byte {
	s := object(config.Keys(), false, kinds)
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "Forklift's configuration of a repository"
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("configls: encode the schema: " + err.Error()) // maps, lists and texts
	}
	return append(data, '\n')
}

// object is the schema of an object with keys.
func object(keys []config.Key, open bool, kinds []config.Kind) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range keys {
		properties[keys[i].Name] = value(&keys[i], kinds)
		if keys[i].Required {
			required = append(required, keys[i].Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if !open {
		s["additionalProperties"] = false
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// value is the schema of a key's value.
func value(key *config.Key, kinds []config.Kind) map[string]any {
	var s map[string]any
	argv := map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "minItems": 1}
	switch key.Type {
	case config.Number:
		s = map[string]any{"type": "integer", "minimum": key.Min, "maximum": key.Max}
	case config.Text:
		s = map[string]any{"type": "string"}
		if key.Pattern != "" {
			s["pattern"] = key.Pattern
		}
		if len(key.Values) > 0 {
			s["enum"] = key.Values
		}
	case config.Texts:
		items := map[string]any{"type": "string", "minLength": 1}
		if len(key.Values) > 0 {
			items = map[string]any{"type": "string", "enum": key.Values}
		}
		s = map[string]any{"type": "array", "items": items}
	case config.Paths:
		s = map[string]any{"type": "array", "items": map[string]any{"type": "string", "minLength": 1}, "minItems": 1, "uniqueItems": true}
	case config.Argv:
		s = argv
	case config.Commands:
		s = map[string]any{"type": "object", "propertyNames": map[string]any{"pattern": key.Pattern}, "additionalProperties": argv}
	case config.Names:
		s = map[string]any{"type": "object", "propertyNames": map[string]any{"pattern": key.Pattern}, "additionalProperties": map[string]any{"type": "string"}}
	case config.Object:
		keys := keysIn(key, kinds)
		s = object(keys, key.Open && len(keys) == len(key.Keys), kinds)
	}
	s["description"] = plainText(key.Doc)
	s["markdownDescription"] = key.Doc
	if key.Default != "" {
		s["default"] = json.RawMessage(key.Default)
	}
	return s
}

var backquotes = regexp.MustCompile("`([^`]*)`")

// plainText is Markdown of ours without its marks.
func plainText(doc string) string { return backquotes.ReplaceAllString(doc, "$1") }
