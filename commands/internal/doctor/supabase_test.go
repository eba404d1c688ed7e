package doctor

import (
	"errors"
	"strings"
	"testing"

	"forklift/storage/fault"
	"forklift/supabase"
)

func TestSupabaseProjects(t *testing.T) {
	failed := &fault.Error{Op: "look", Err: errors.New("it is broken"), Hint: "Mend it."}
	for _, c := range []struct {
		id      string
		verdict Verdict
		found   string
		do      string
		x       supabase.Examination
	}{
		{"supabase-cli", OK, "Supabase CLI 3.1.0 in /bin/supabase, native runtime", "", supabase.Examination{Program: "/bin/supabase", Version: "3.1.0"}},
		{"supabase-cli", Warning, "Supabase CLI 9.0.0", "was not tested", supabase.Examination{Version: "9.0.0", Untested: "it was not tested"}},
		{"supabase-cli", Problem, "it is broken", "Mend it.", supabase.Examination{ProgramErr: failed}},
		{"supabase-cli", Problem, "it is broken", "Mend it.", supabase.Examination{AccountErr: failed}},
		{"supabase-config", OK, "/repo/supabase/config.toml", "", supabase.Examination{Project: "/repo"}},
		{"supabase-config", Problem, "api.tls: no; db.x: no", "Take them out", supabase.Examination{Refused: []string{"api.tls: no", "db.x: no"}}},
		{"supabase-config", Problem, "it is broken", "Mend it.", supabase.Examination{ProjectErr: failed}},
		{"supabase-config", Problem, "it is broken", "Mend it.", supabase.Examination{ConfigErr: failed}},
	} {
		f := healthy()
		f.Supabase = &c.x
		var got Check
		for _, check := range Examine(f) {
			if check.ID == c.id {
				got = check
			}
		}
		if got.Verdict != c.verdict || !strings.Contains(got.Found, c.found) || !strings.Contains(got.Do, c.do) || (c.do == "") != (got.Do == "") {
			t.Errorf("%s: %+v, want %s, %q, %q", c.id, got, c.verdict, c.found, c.do)
		}
	}
}
