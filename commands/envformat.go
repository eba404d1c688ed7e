package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"forklift/storage/fault"
)

// variableName is a name that every shell can export. Anything else could be
// read as a command.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// bare is a value that needs no quotes in a dotenv file, not even when a shell
// reads it.
var bare = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]*$`)

// direnvWatch tells direnv which files change the variables: the worktree's
// configuration and its link, which setup and teardown make and remove.
const direnvWatch = "watch_file .forklift.json \"$(git rev-parse --absolute-git-dir)/forklift.json\"\n"

// FormatEnv writes variables as text: "shell" (POSIX export lines), "dotenv",
// "direnv" (export lines and what to watch) or "json" (one object). The first
// and the third also take away those of unset.
func FormatEnv(vars []Variable, unset []string, format string) (string, error) {
	var b strings.Builder
	if format == "direnv" {
		b.WriteString(direnvWatch)
	}
	for _, v := range vars {
		if !variableName.MatchString(v.Name) || strings.ContainsRune(v.Value, 0) {
			return "", &fault.Error{Op: "print variable", Path: v.Name, Kind: fault.Usage, Err: errors.New("it cannot be written as a variable of a shell")}
		}
		switch format {
		case "shell", "direnv":
			fmt.Fprintf(&b, "export %s=%s\n", v.Name, quoteShell(v.Value))
		case "dotenv":
			fmt.Fprintf(&b, "%s=%s\n", v.Name, quoteDotenv(v.Value))
		}
	}
	if len(unset) > 0 && (format == "shell" || format == "direnv") {
		fmt.Fprintf(&b, "unset %s\n", strings.Join(unset, " "))
	}
	if format == "json" {
		return jsonObject(vars)
	}
	return b.String(), nil
}

// quoteShell makes one word of any text for every POSIX shell.
func quoteShell(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoteDotenv quotes as the common readers agree on: bare if nothing is
// special, single quotes for literal text, else double quotes with escapes.
func quoteDotenv(s string) string {
	if bare.MatchString(s) {
		return s
	}
	if !strings.ContainsAny(s, "'\n\r\\") {
		return "'" + s + "'"
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`", "\n", `\n`, "\r", `\r`)
	return `"` + escape.Replace(s) + `"`
}

// jsonObject keeps the order of the variables.
func jsonObject(vars []Variable) (string, error) {
	var b bytes.Buffer
	b.WriteString("{")
	for i, v := range vars {
		if i > 0 {
			b.WriteString(",")
		}
		for j, text := range []string{v.Name, v.Value} {
			var word bytes.Buffer
			enc := json.NewEncoder(&word)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(text); err != nil {
				return "", err
			}
			b.WriteString([]string{"\n  ", ": "}[j])
			b.Write(bytes.TrimSpace(word.Bytes()))
		}
	}
	if len(vars) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return b.String(), nil
}
