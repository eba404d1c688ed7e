package doctor

import (
	"fmt"
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
