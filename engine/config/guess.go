package config

import (
	"bytes"
	"encoding/json"
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

// Default is the text of a new .forklift.json with these sources.
func Default(source []string) []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"format\": 1,\n  \"source\": [")
	for i, s := range source {
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(quote(s))
	}
	b.WriteString("],\n  \"connection_env\": " + string(quote(DefaultConnectionEnv)) + ",\n  \"commands\": {}\n}\n")
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
