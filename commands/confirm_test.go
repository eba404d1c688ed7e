package commands_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"forklift/commands"
	"forklift/commands/internal/standin"
)

// answer makes a Confirm that gives one answer and remembers the question.
func answer(yes bool, asked *commands.Question) func(context.Context, commands.Question) (bool, error) {
	return func(_ context.Context, q commands.Question) (bool, error) {
		*asked = q
		return yes, nil
	}
}

func TestTeardownAsks(t *testing.T) {
	for _, c := range []struct {
		name            string
		yes, ask, agree bool
		done            bool
		calls           []string
	}{
		{name: "with --yes", yes: true, done: true, calls: []string{"teardown true"}},
		{name: "nobody to ask", calls: []string{"teardown false"}},
		{name: "agreed", ask: true, agree: true, done: true, calls: []string{"teardown false", "teardown true"}},
		{name: "refused", ask: true, calls: []string{"teardown false"}},
	} {
		e := &standin.Engine{}
		env := newEnv(t, e)
		var q commands.Question
		if c.ask {
			env.Confirm = answer(c.agree, &q)
		}
		r, err := commands.Teardown(context.Background(), env, commands.TeardownRequest{Yes: c.yes})
		if err != nil || r.Done != c.done || !slices.Equal(e.Calls()[1:], c.calls) {
			t.Errorf("%s: done %v, %v, %v", c.name, r.Done, err, e.Calls())
		}
		if len(r.Removes) == 0 {
			t.Errorf("%s: the result does not say what goes", c.name)
		}
		if c.ask && (!strings.Contains(q.Text, "the database branch 01jb") || q.Yes) {
			t.Errorf("%s: asked %+v", c.name, q)
		}
	}
}

func TestTrust(t *testing.T) {
	for _, c := range []struct {
		name             string
		distrust, show   bool
		trusted, changed bool
	}{
		{name: "approve", distrust: true, trusted: true, changed: true},
		{name: "only show", distrust: true, show: true},
		{name: "approved already", trusted: true},
	} {
		e := &standin.Engine{Distrust: c.distrust}
		r, err := commands.Trust(context.Background(), newEnv(t, e), commands.TrustRequest{Show: c.show})
		if err != nil || r.Trusted != c.trusted || r.Changed != c.changed || !strings.Contains(r.Text, "verify") {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		if slices.Contains(e.Calls(), "trust") != c.changed {
			t.Errorf("%s: %v", c.name, e.Calls())
		}
	}
}
