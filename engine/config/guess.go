package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// maxGuessed is the number of names above which a list is no longer easier
// to review than the whole worktree.
const maxGuessed = 40

// notSource begins the names of files that describe a project and are not
// what runs, in lower case.
var notSource = []string{"readme", "license", "licence", "copying", "changelog", "changes", "contributing", "code_of_conduct", "security.md", "authors", "notice", "maintainers", "codeowners"}

// Guess chooses the sources of a new file from the top-level names that git
// tracks: all but dot files and files that only describe the project. When
// nothing is left of them it takes all, and when there are none, or too many to
// list, the whole worktree. The result is never empty.
func Guess(tracked []string) []string {
	pick := func(keep func(string) bool) []string {
		var list []string
		for _, name := range tracked {
			clean, problem, _ := cleanSource(name)
			if problem == "" && clean == name && name != Name && utf8.ValidString(name) && keep(name) {
				list = append(list, name)
			}
		}
		sort.Strings(list)
		return list
	}
	list := pick(isSource)
	if len(list) == 0 {
		list = pick(func(string) bool { return true })
	}
	if len(list) == 0 || len(list) > maxGuessed {
		return []string{"."}
	}
	return list
}

// Unsaved gives the top-level names that Guess would save and of which the
// list source saves nothing: directories that were made after the list was.
// tracked are the top-level names that git tracks.
func Unsaved(tracked, source []string) []string {
	return slices.DeleteFunc(Guess(tracked), func(name string) bool {
		return name == "." || slices.ContainsFunc(source, func(s string) bool {
			return s == "." || s == name || strings.HasPrefix(s, name+"/")
		})
	})
}

func isSource(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	lower := strings.ToLower(name)
	for _, prefix := range notSource {
		if rest, ok := strings.CutPrefix(lower, prefix); ok && (rest == "" || rest[0] == '.') {
			return false
		}
	}
	return true
}

// Detected is the kind of database that the files of a worktree ask for.
type Detected struct {
	Database json.RawMessage // the object `database` of a new file, kind included
	Kind     string          // its kind
	Options  json.RawMessage // the object of the kind's own name; nil for none
}

// Default is the text of a new .forklift.json with these sources and, unless
// found is nil, with the kind of database that was found.
func Default(source []string, found *Detected) []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"format\": 1,\n  \"source\": [")
	for i, s := range source {
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(quote(s))
	}
	b.WriteString("],\n  \"connection_env\": " + string(quote(DefaultConnectionEnv)) + ",\n  \"commands\": {}")
	if found != nil {
		b.WriteString(",\n  \"database\": " + string(found.Database))
		if found.Options != nil {
			b.WriteString(",\n  " + string(quote(found.Kind)) + ": " + string(found.Options))
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}

// quote is s as JSON, without the escapes that only HTML needs.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail
	return bytes.TrimRight(b.Bytes(), "\n")
}
