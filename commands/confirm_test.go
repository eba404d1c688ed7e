package commands_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"forklift/commands"
	"forklift/commands/internal/standin"
	"forklift/storage/fault"
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
		r, err := commands.Teardown(context.Background(), env, commands.TeardownRequest{PlanRequest: commands.PlanRequest{Yes: c.yes}})
		if err != nil || r.Done != c.done || !slices.Equal(e.Calls()[1:], c.calls) {
			t.Errorf("%s: done %v, %v, %v", c.name, r.Done, err, e.Calls())
		}
		if r.Declined != (c.ask && !c.agree) {
			t.Errorf("%s: declined %v", c.name, r.Declined)
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

func TestSetupShowsTheGeneratedFile(t *testing.T) {
	for _, c := range []struct {
		name            string
		yes, ask, agree bool
		review          bool
		kind            fault.Kind
	}{
		{name: "with --yes", yes: true, ask: true},
		{name: "nobody to ask", review: true},
		{name: "agreed", ask: true, agree: true},
		{name: "refused", ask: true, kind: fault.Canceled},
	} {
		env := newEnv(t, &standin.Engine{})
		var q commands.Question
		if c.ask {
			env.Confirm = answer(c.agree, &q)
		}
		r, err := commands.Setup(context.Background(), env, commands.SetupRequest{Yes: c.yes})
		if fault.KindOf(err) != c.kind || r.Review != c.review {
			t.Errorf("%s: review %v, %v", c.name, r.Review, err)
		}
		if asked := strings.Contains(q.Text, standin.ConfigText); asked != (c.ask && !c.yes) {
			t.Errorf("%s: asked %v: %+v", c.name, asked, q)
		}
	}
}

// TestHooksAreApprovedByThoseWhoCanBeAsked: what is approved is what was
// shown, and only when somebody agreed.
func TestHooksAreApprovedByThoseWhoCanBeAsked(t *testing.T) {
	for _, c := range []struct {
		name                              string
		distrust, hooks, ask, agree, skip bool
		asked, approved                   bool
	}{
		{name: "agreed", distrust: true, hooks: true, ask: true, agree: true, asked: true, approved: true},
		{name: "refused", distrust: true, hooks: true, ask: true, asked: true},
		{name: "nobody to ask", distrust: true, hooks: true},
		{name: "with --no-hooks", distrust: true, hooks: true, ask: true, agree: true, skip: true},
		{name: "approved already", hooks: true, ask: true, agree: true},
		{name: "no hooks", distrust: true, ask: true, agree: true},
	} {
		for _, verb := range []string{"capture", "restore", "undo", "redo", "recover"} {
			e := &standin.Engine{Distrust: c.distrust, Settings: commands.Settings{Hooks: c.hooks}}
			env := newEnv(t, e)
			var q commands.Question
			if c.ask {
				env.Confirm = answer(c.agree, &q)
			}
			v := commands.Lookup(verb)
			request := v.NewRequest()
			for _, f := range v.Fields {
				text := map[string]string{"no_hooks": "true", "ref": "a"}[f.Name]
				if f.Name == "no_hooks" && !c.skip || text == "" {
					continue
				}
				if err := f.Set(request, text); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := v.Run(context.Background(), env, request); err != nil {
				t.Errorf("%s, %s: %v", c.name, verb, err)
			}
			if asked := strings.Contains(q.Text, "verify"); asked != c.asked || q.Yes {
				t.Errorf("%s, %s: asked %v: %+v", c.name, verb, asked, q)
			}
			if slices.Contains(e.Calls(), "trust") != c.approved {
				t.Errorf("%s, %s: %v", c.name, verb, e.Calls())
			}
		}
	}
	// A command of the file is refused when nobody agreed, and run when somebody did.
	e := &standin.Engine{Distrust: true, Settings: commands.Settings{Commands: map[string][]string{"verify": {"true"}}}}
	env := newEnv(t, e)
	var q commands.Question
	env.Confirm = answer(false, &q)
	_, err := commands.Run(context.Background(), env, commands.RunRequest{Name: "verify"})
	if fault.KindOf(err) != fault.Untrusted || q.Prompt == "" {
		t.Errorf("a command that is not approved: %v", err)
	}
}
