package doctor

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"forklift/engine"
)

// dotEnv compares the files that programs load variables from with what
// `forklift run` gives: a program that is started without it, or that prefers
// the file, would use another database.
func dotEnv(f *Facts) (Verdict, string, string) {
	if f.Config == nil {
		return "", "", ""
	}
	wrong, right := Misled(f.DotEnv, f.Env, f.Config.ConnectionEnv)
	if len(wrong) > 0 {
		var elsewhere []string
		for _, line := range wrong {
			elsewhere = append(elsewhere, fmt.Sprintf("%s:%d points %s to %s", line.File, line.Number, line.Name, Target(line.Value)))
		}
		return Warning, strings.Join(elsewhere, "; "), Elsewhere
	}
	switch len(right) {
	case 0:
		return "", "", ""
	case 1:
		return OK, right[0] + " in the worktree's files of variables is this worktree's database", ""
	}
	return OK, strings.Join(right, ", ") + " in the worktree's files of variables are this worktree's", ""
}

// Elsewhere says what it means when a file of variables leads to another
// database, and what to do.
const Elsewhere = "Programs that are started without `forklift run`, or that prefer the file, use that database. " +
	"Take the line out, or put in what `forklift env --format dotenv` prints. To begin with the data of that database, see `forklift seed create --help`."

// Line is a line of a file of variables that sets one.
type Line struct {
	File   string
	Number int // from 1
	Name   string
	Text   string // the whole line
	Value  string
}

// Misled compares files of variables, by name, with what a worktree's commands
// are given: its variable for the database, called connection, and whatever else
// is the address of a service, as a Supabase stack has it. wrong are the lines
// that lead elsewhere, in the order of the variables and the files' names; right
// are the variables that are set as they should be.
func Misled(files map[string][]byte, env []engine.EnvVar, connection string) (wrong []Line, right []string) {
	for _, v := range env {
		if v.Value == "" || v.Name != connection && !isAddress(v.Value) {
			continue
		}
		for _, line := range assignments(files, v.Name) {
			switch {
			case address(line.Value) != address(v.Value):
				wrong = append(wrong, line)
			case !slices.Contains(right, v.Name):
				right = append(right, v.Name)
			}
		}
	}
	return wrong, right
}

// isAddress reports the URL of a service.
func isAddress(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Host != "" && slices.Contains([]string{"http", "https", "postgres", "postgresql"}, u.Scheme)
}

// address is a value as it is compared: what clients of a web service take for
// the same is the same.
func address(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return value
	}
	if u.Hostname() == "localhost" {
		u.Host = strings.Replace(u.Host, "localhost", "127.0.0.1", 1)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u.String()
}

// assignments are the lines of files that set a variable, in the order of the
// files' names.
func assignments(files map[string][]byte, name string) []Line {
	var list []Line
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for i, line := range strings.Split(string(files[file]), "\n") {
			if value, ok := assignment(line, name); ok {
				list = append(list, Line{file, i + 1, name, line, value})
			}
		}
	}
	return list
}

// assignment reads a line NAME=value of a file of variables.
func assignment(line, name string) (string, bool) {
	line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
	key, value, ok := strings.Cut(line, "=")
	if !ok || strings.TrimSpace(key) != name {
		return "", false
	}
	value = strings.TrimSpace(value)
	for _, quote := range []string{`"`, `'`} {
		if rest, ok := strings.CutPrefix(value, quote); ok {
			value, _, _ = strings.Cut(rest, quote)
			return value, true
		}
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value), true
}

// Target says where a URL leads, without anything that may be a secret.
func Target(value string) string {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "":
		return "another database"
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Scheme + "://" + u.Host
	}
	return "the database " + strings.TrimPrefix(u.Path, "/") + " on " + u.Host
}
