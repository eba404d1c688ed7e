package doctor

import (
	"errors"
	"fmt"
	"strings"
)

// supabaseCLI is about the program that the worktree's stack is driven with.
func supabaseCLI(f *Facts) (Verdict, string, string) {
	x := f.Supabase
	switch {
	case x == nil:
		return "", "", ""
	case x.ProgramErr != nil:
		return bad(Problem, x.ProgramErr, "Install the Supabase CLI.")
	case x.AccountErr != nil:
		return bad(Problem, x.AccountErr, "Run Forklift as an ordinary user.")
	}
	found := fmt.Sprintf("Supabase CLI %s in %s, %s runtime", x.Version, x.Program, x.Runtime())
	if x.Untested != "" {
		return Warning, found, x.Untested + "."
	}
	return OK, found, ""
}

// supabaseConfig is about the settings of the worktree's stack.
func supabaseConfig(f *Facts) (Verdict, string, string) {
	x := f.Supabase
	switch {
	case x == nil:
		return "", "", ""
	case x.ProjectErr != nil:
		return bad(Problem, x.ProjectErr, "Correct `directory` in .forklift.json.")
	case x.ConfigErr != nil:
		return bad(Problem, x.ConfigErr, "Correct supabase/config.toml.")
	case len(x.Refused) > 0:
		return bad(Problem, errors.New("stacks of the CLI refuse settings of "+x.Project+"/supabase/config.toml: "+strings.Join(x.Refused, "; ")),
			"Take them out; the CLI's documentation of `supabase stack` says what can be used instead.")
	}
	return OK, "a stack can be made of " + x.Project + "/supabase/config.toml", ""
}
