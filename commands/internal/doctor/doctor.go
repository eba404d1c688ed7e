// Package doctor judges what keeps Forklift from working well on a machine
// and in a worktree.
//
// Looking is done by others: a [Facts] holds what they found. Each check is a
// function of these facts that gives one verdict, with what was found and
// what to do about it, so that each can be tested with facts that no machine
// at hand has.
package doctor

import (
	"forklift/engine"
	"forklift/engine/postgres"
	"forklift/storage/fault"
	"forklift/supabase"
)

// Verdict says how bad it is.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning" // works, but not as well as it could, or not for long
	Problem Verdict = "problem" // something does not work
)

// Check is the outcome of one check.
type Check struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`        // what there is
	Do      string  `json:"do,omitempty"` // what the user can do; "" for ok
}

// Facts are what the checks look at.
type Facts struct {
	Version string // of forklift
	System  string // operating system, kernel, processor

	Postgres    []postgres.Installation
	Used        int // index of the one that new databases use, -1 for none
	PostgresErr error
	Socket      postgres.SocketPlace

	Supabase *supabase.Examination // nil where there is no such project

	engine.Examination
}

// checks are all checks, in the order in which they are shown.
var checks = []struct {
	id    string
	check func(*Facts) (Verdict, string, string)
}{
	{"versions", versions}, {"git", git}, {"postgres", installation}, {"jit", jit}, {"socket", socket},
	{"store", store}, {"store-permissions", permissions}, {"file-system", fileSystem}, {"clones", clones}, {"locks", locks}, {"space", space},
	{"worktree", worktree}, {"operation", operation}, {"server", server}, {"tcp", tcp}, {"limits", limits}, {"config", configuration}, {"supabase-cli", supabaseCLI}, {"supabase-config", supabaseConfig}, {"trust", trusted}, {"dotenv", dotEnv},
	{"orphans", orphans}, {"unfinished", unfinished},
}

// Examine runs all checks. Those that have nothing to look at are left out.
func Examine(f *Facts) []Check {
	list := []Check{}
	for _, c := range checks {
		if verdict, found, do := c.check(f); verdict != "" {
			list = append(list, Check{ID: c.id, Verdict: verdict, Found: found, Do: do})
		}
	}
	return list
}

// bad makes a check of an error: its text and its hint.
func bad(verdict Verdict, err error, do string) (Verdict, string, string) {
	if hint := fault.HintOf(err); hint != "" {
		do = hint
	}
	return verdict, err.Error(), do
}
