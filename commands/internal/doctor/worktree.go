package doctor

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"forklift/storage/fault"
)

func worktree(f *Facts) (Verdict, string, string) {
	switch {
	case f.RepoErr != nil && fault.KindOf(f.RepoErr) == fault.NotFound:
		return OK, "not inside a git worktree: only the machine was looked at", ""
	case f.RepoErr != nil:
		return bad(Problem, f.RepoErr, "Work in a git worktree of your own.")
	case f.OpenErr != nil:
		return bad(Problem, f.OpenErr, "Look at what is named.")
	case !f.SetUp && f.StoreErr == nil:
		return OK, f.Repo + " has no database yet (`forklift setup` makes one)", ""
	case !f.SetUp:
		return "", "", ""
	}
	return OK, f.Worktree.Name + " at " + f.Worktree.Path, ""
}

func operation(f *Facts) (Verdict, string, string) {
	switch {
	case f.Interrupted != "":
		return Problem, "a " + f.Interrupted + " of this worktree was interrupted", "Run `forklift recover`; `forklift status` says which way it will go."
	case len(f.Others) > 0:
		return Warning, "interrupted in other worktrees: " + strings.Join(f.Others, ", "), "Run `forklift recover` in each of them."
	}
	return "", "", ""
}

func server(f *Facts) (Verdict, string, string) {
	if !f.SetUp {
		return "", "", ""
	}
	if f.ServerErr != nil {
		return bad(Problem, f.ServerErr, "Look at what is named.")
	}
	switch f.Server.State {
	case "foreign":
		return Problem, fmt.Sprintf("a server that Forklift did not start has the database open (process %d)", f.Server.PID), "Stop that server; Forklift never signals a process that is not its own."
	case "unclean":
		return Warning, "the server was not stopped cleanly", "Nothing has to be done: its next start recovers what was committed."
	case "running":
		return OK, fmt.Sprintf("the server runs (process %d)", f.Server.PID), ""
	}
	return OK, "the server is " + f.Server.State, ""
}

func tcp(f *Facts) (Verdict, string, string) {
	switch {
	case f.TCPErr != nil:
		return bad(Problem, f.TCPErr, "Choose another port with `forklift setup --tcp --port N`.")
	case f.TCP == nil:
		return "", "", ""
	}
	return OK, fmt.Sprintf("the server's port is %d on %s", f.TCP.Port, f.TCP.Host), ""
}

func limits(f *Facts) (Verdict, string, string) {
	if len(f.Limits) == 0 {
		return "", "", ""
	}
	return Warning, strings.Join(f.Limits, "; "), "Make room, or change [limits] in forklift.toml of the git directory."
}

func configuration(f *Facts) (Verdict, string, string) {
	if !f.SetUp {
		return "", "", ""
	}
	if f.ConfigErr != nil {
		verdict, found, do := bad(Problem, f.ConfigErr, "Correct .forklift.json.")
		if all := fault.ItemsOf(f.ConfigErr); len(all) > 0 {
			found = strings.Join(all, "; ")
		}
		return verdict, found, do
	}
	if f.Config == nil {
		return "", "", ""
	}
	if len(f.Missing) > 0 {
		return Warning, ".forklift.json names what does not exist: " + strings.Join(f.Missing, " "),
			"Checkpoints save nothing of it. Correct `source` in the file, or make the path."
	}
	found := "checkpoints save " + strings.Join(f.Config.Source, " ")
	if len(f.Unsaved) > 0 {
		found += "; git also tracks " + strings.Join(f.Unsaved, " ")
	}
	return OK, found, ""
}

func trusted(f *Facts) (Verdict, string, string) {
	if !f.SetUp || f.Config == nil || !f.Config.Runs() {
		return "", "", ""
	}
	if !f.Trusted {
		return Warning, "what .forklift.json would run is not approved in this worktree", "Read it with `forklift trust --show`, then approve it with `forklift trust`."
	}
	return OK, "what .forklift.json would run is approved", ""
}

// dotEnv compares the files that programs load variables from with what
// `forklift run` gives: a program that is started without it, or that prefers
// the file, would use another database.
func dotEnv(f *Facts) (Verdict, string, string) {
	if f.Config == nil || len(f.Env) == 0 {
		return "", "", ""
	}
	name, want := f.Config.ConnectionEnv, ""
	for _, v := range f.Env {
		if v.Name == name {
			want = v.Value
		}
	}
	lines := Assignments(f.DotEnv, name)
	var elsewhere []string
	for _, line := range lines {
		if line.Value != want {
			elsewhere = append(elsewhere, fmt.Sprintf("%s:%d points %s to %s", line.File, line.Number, name, Target(line.Value)))
		}
	}
	if len(elsewhere) > 0 {
		return Warning, strings.Join(elsewhere, "; "), Elsewhere
	}
	if len(lines) > 0 {
		return OK, name + " in the worktree's files of variables is this worktree's database", ""
	}
	return "", "", ""
}

// Elsewhere says what it means when a file of variables leads to another
// database, and what to do.
const Elsewhere = "Programs that are started without `forklift run`, or that prefer the file, use that database. " +
	"Take the line out, or put in what `forklift env --format dotenv` prints. To begin with the data of that database, see `forklift seed create --help`."

// Line is a line of a file of variables that sets one.
type Line struct {
	File   string
	Number int    // from 1
	Text   string // the whole line
	Value  string
}

// Assignments are the lines of files that set a variable, in the order of the
// files' names.
func Assignments(files map[string][]byte, name string) []Line {
	var list []Line
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for i, line := range strings.Split(string(files[file]), "\n") {
			if value, ok := assignment(line, name); ok {
				list = append(list, Line{file, i + 1, line, value})
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
	if err != nil || u.Host == "" {
		return "another database"
	}
	return "the database " + strings.TrimPrefix(u.Path, "/") + " on " + u.Host
}

func orphans(f *Facts) (Verdict, string, string) {
	if f.RecordErr != nil {
		return bad(Problem, f.RecordErr, "Look at what is named.")
	}
	if len(f.Orphans) == 0 {
		return "", "", ""
	}
	return Warning, "gone, but with a database: " + strings.Join(f.Orphans, ", "), "`forklift adopt NAME` takes one over in a new worktree; `forklift worktree prune` removes their databases."
}

func unfinished(f *Facts) (Verdict, string, string) {
	if len(f.Unfinished) == 0 {
		return "", "", ""
	}
	return Warning, fmt.Sprintf("%d setups or teardowns did not end", len(f.Unfinished)), "Nothing has to be done: unless one is under way, the next `forklift setup` removes what is left."
}
