package supabase

import (
	"path/filepath"
	"strings"
	"testing"

	"forklift/testsuite/internal/supaworld"
)

// TestTwoWorktreesAtOnce runs two stacks side by side: each has addresses,
// users and rows of its own, a restore of one is not felt in the other, and
// what one captured can be the start of a third.
func TestTwoWorktreesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fixture(t, nil))
	anybody, _ := w.setUp()
	user, _, err := anybody.SignUp(ada, adaWord)
	must(t, err)
	must(t, user.Insert("notes", map[string]string{"body": "first"}))
	must(t, user.Upload("files", "a/picture", oldFile))
	w.forklift("capture", "good")

	dir := filepath.Join(filepath.Dir(w.Repo), "feature")
	w.git("worktree", "add", "-q", dir)
	f := w.at(dir)
	anyFeature, _ := f.setUp()
	if anyFeature.URL == anybody.URL {
		t.Fatalf("both worktrees have the address %s", anybody.URL)
	}
	if _, err := anyFeature.LogIn(ada, adaWord); !supaworld.IsRefused(err, 400) {
		t.Errorf("the user of one worktree logs in to the other: %v", err)
	}
	other, _, err := anyFeature.SignUp(eve, eveWord)
	must(t, err)
	must(t, other.Insert("notes", map[string]string{"body": "of the feature"}))
	w.forklift("restore", "good")
	user, err = anybody.LogIn(ada, adaWord)
	must(t, err)
	w.sees(user, `[{"body":"first"}]`, oldFile)
	w.sees(other, `[{"body":"of the feature"}]`, supaworld.File{})
	w.clean()
	f.clean()
	f.forklift("teardown", "--yes")

	third := w.at(filepath.Join(filepath.Dir(w.Repo), "third"))
	w.forklift("worktree", "add", third.Repo, "--from", "good")
	t.Cleanup(func() { third.run("teardown", "--yes") })
	anyThird, _ := third.start()
	if anyThird.URL == anybody.URL {
		t.Errorf("a worktree made from a checkpoint has the address of its origin: %s", anyThird.URL)
	}
	again, err := anyThird.LogIn(ada, adaWord)
	must(t, err)
	third.sees(again, `[{"body":"first"}]`, oldFile)
	third.clean()
}

// TestTheUsersOwnCLI calls supabase under forklift run: it reaches the
// worktree's stack, with another git branch checked out, too.
func TestTheUsersOwnCLI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fixture(t, nil))
	anybody, _ := w.setUp()
	if got := supaworld.Variables(w.cli("status", "--env", "--output-format", "text"))["API_URL"]; got != anybody.URL {
		t.Errorf("supabase status says %s, commands are given %s", got, anybody.URL)
	}
	_, _, err := anybody.SignUp(ada, adaWord)
	must(t, err)
	w.forklift("capture", "start")

	w.git("checkout", "-q", "-b", "stars")
	w.Write(t, "supabase/migrations/20260201000000_stars.sql", laterMigration)
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "stars")
	w.cli("migration", "up")
	if got := w.query(`SELECT count(*) FROM supabase_migrations.schema_migrations`); got != "3" {
		t.Errorf("%s migrations are recorded, want 3", got)
	}
	if got := w.cli("migration", "list"); !strings.Contains(got, "20260201000000") {
		t.Errorf("supabase migration list: %s", got)
	}
	if got := w.cli("gen", "types", "--lang", "typescript", "--local"); !strings.Contains(got, "stars") {
		t.Errorf("supabase gen types knows no column stars: %.400s", got)
	}
	w.forklift("db", "stop")
	if again, _ := w.start(); again.URL != anybody.URL {
		t.Errorf("on another git branch the stack is another one: %s, it was %s", again.URL, anybody.URL)
	}
	_, err = anybody.LogIn(ada, adaWord)
	must(t, err)

	w.cli("db", "reset", "--yes")
	if got := w.query(`SELECT (SELECT count(*) FROM auth.users), (SELECT count(*) FROM topics), (SELECT count(*) FROM supabase_migrations.schema_migrations)`); got != "0|2|3" {
		t.Errorf("after db reset: users, topics and migrations are %s, want 0|2|3", got)
	}
	w.clean()
	w.git("checkout", "-q", "main")
	w.forklift("restore", "start")
	_, err = anybody.LogIn(ada, adaWord)
	must(t, err)
	if got := w.query(`SELECT count(*) FROM supabase_migrations.schema_migrations`); got != "2" {
		t.Errorf("%s migrations are recorded after restore, want 2", got)
	}
	w.clean()
}
