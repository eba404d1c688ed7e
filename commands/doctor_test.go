package commands_test

import (
	"context"
	"errors"
	"testing"

	"forklift/commands"
	"forklift/commands/internal/standin"
)

func TestDoctorCountsAndItsExitCode(t *testing.T) {
	for _, c := range []struct {
		fail             error
		problems, status int
	}{{nil, 0, 0}, {errors.New("it is broken"), 1, 1}} {
		e := &standin.Engine{Fail: map[string]error{"examine": c.fail}}
		r, err := commands.Doctor(context.Background(), newEnv(t, e), commands.DoctorRequest{})
		if err != nil || r.Problems != c.problems || r.Warnings < 1 || r.ExitStatus() != c.status {
			t.Errorf("%+v, %v", r, err)
		}
		seen := map[string]bool{}
		for _, check := range r.Checks {
			seen[check.ID] = true
		}
		for _, id := range []string{"versions", "git", "postgres", "jit", "socket", "store", "worktree", "orphans"} {
			if !seen[id] {
				t.Errorf("the check %s is missing in %+v", id, r.Checks)
			}
		}
	}
}
