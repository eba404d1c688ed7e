package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"forklift/commands/internal/doctor"
	"forklift/engine"
	"forklift/engine/config"
	"forklift/engine/postgres"
	"forklift/storage/vfs"
	"forklift/supabase"
)

// DoctorRequest asks what keeps Forklift from working well here.
type DoctorRequest struct{}

// DoctorCheck is the outcome of one check.
type DoctorCheck = doctor.Check

// DoctorResult is what was found.
type DoctorResult struct {
	Checks   []DoctorCheck `json:"checks"`
	Problems int           `json:"problems"`
	Warnings int           `json:"warnings"`
}

// ExitStatus is 1 with problems; warnings are no failure.
func (r *DoctorResult) ExitStatus() int {
	if r.Problems > 0 {
		return 1
	}
	return 0
}

var doctorVerb = NewVerb(Verb{
	Name: "doctor", Group: GroupMachine, ReadOnly: true, Near: []string{"check-health", "diagnose", "health"},
	Short: "Look for what keeps Forklift from working well here",
	Long: `Looks at the machine (PostgreSQL, git, sockets, locks), the store (place, space,
permissions) and, inside a worktree, at its database, its .forklift.json and at
files such as .env that point programs to another database. It runs nothing of
the repository and changes nothing. The exit code is 1 when there is a problem;
warnings alone are no failure.`,
	Examples: []Example{
		{"forklift doctor", "for people"},
		{"forklift doctor --json", "for programs, and for a bug report"},
	},
	Exits: []Exit{{0, "no problem; there may be warnings"}, {1, "there is a problem, or looking failed"}, {2, "wrong arguments"}, {130, "interrupted by the user"}},
}, Doctor)

// Doctor looks at everything. What cannot be found out is a finding, not an
// error.
func Doctor(ctx context.Context, env Env, _ DoctorRequest) (DoctorResult, error) {
	f := &doctor.Facts{Version: Version, System: system(), Used: -1, Socket: env.Postgres.Socket()}
	found, err := env.Postgres.Find(ctx)
	f.PostgresErr = err
	for i, in := range found {
		f.Postgres = append(f.Postgres, in.Installation)
		if in.Used {
			f.Used = i
		}
	}
	f.Examination = *env.Engine.Examine(ctx, env.Dir)
	if f.Repo != "" {
		f.Supabase = supabase.Examine(ctx, supabase.Deps{FS: vfs.OS(), Clock: env.Clock, Environ: env.Environ}, f.Repo, settingsOf(f.Config))
		beside(f)
	}
	if err := ctx.Err(); err != nil {
		return DoctorResult{}, err
	}
	r := DoctorResult{Checks: doctor.Examine(f)}
	for _, c := range r.Checks {
		switch c.Verdict {
		case doctor.Problem:
			r.Problems++
		case doctor.Warning:
			r.Warnings++
		}
	}
	return r, nil
}

// beside adds the files of variables of a Supabase project that is not at the
// top of the worktree, as in a monorepo: the app that reads them is there.
func beside(f *doctor.Facts) {
	if f.Supabase == nil || f.DotEnv == nil || f.Supabase.ProjectErr != nil {
		return
	}
	below, ok := strings.CutPrefix(f.Supabase.Project, f.Repo+"/")
	if !ok {
		return
	}
	for name, data := range engine.VariableFiles(vfs.OS(), f.Supabase.Project) {
		f.DotEnv[path.Join(below, name)] = data
	}
}

// settingsOf is the object database of a .forklift.json, nil without one.
func settingsOf(cfg *config.File) json.RawMessage {
	if cfg == nil {
		return nil
	}
	return cfg.Database.Settings
}

// system names the operating system, its kernel and the processor.
func system() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return runtime.GOOS + " on " + runtime.GOARCH
	}
	return fmt.Sprintf("%s %s on %s", unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]), runtime.GOARCH)
}

// Socket tells where sockets would be.
func (l localPostgres) Socket() postgres.SocketPlace { return postgres.Socket(l.opt) }
