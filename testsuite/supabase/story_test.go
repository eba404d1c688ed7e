package supabase

import (
	"strings"
	"testing"

	"forklift/testsuite/internal/supaworld"
)

// The uploads of the story, before and after.
var (
	oldFile = supaworld.File{Data: "an old picture\x00\xff", ContentType: "image/x-old", CacheControl: "max-age=77"}
	newFile = supaworld.File{Data: "a new picture, and a longer one", ContentType: "image/x-new", CacheControl: "max-age=5"}
)

const (
	ada, adaWord = "ada@example.com", "correct horse"
	eve, eveWord = "eve@example.com", "battery staple"
)

// laterMigration is the one that the bad idea adds.
const laterMigration = `ALTER TABLE public.notes ADD COLUMN stars int NOT NULL DEFAULT 5;
CREATE ROLE auditor NOLOGIN;
`

// TestEverythingIsPutBack is the main story: users, files, rows, schema and
// code go back together, and undo brings all of it again.
func TestEverythingIsPutBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fixture(t, nil))
	tellStory(w)
	w.clean()
}

// tellStory is the story in a world whose project is committed.
func tellStory(w *world) {
	t := w.t
	t.Helper()
	anybody, service := w.setUp()
	user, id, err := anybody.SignUp(ada, adaWord)
	must(t, err)
	must(t, user.Insert("notes", map[string]string{"body": "first"}))
	must(t, user.Upload("files", "a/picture", oldFile))
	addresses := w.vars()
	w.forklift("capture", "good")
	before, code := w.dump(), w.files()

	must(t, service.DeleteUser(id))
	other, _, err := anybody.SignUp(eve, eveWord)
	must(t, err)
	must(t, service.Upload("files", "a/picture", newFile))
	w.Write(t, "supabase/migrations/20260201000000_stars.sql", laterMigration)
	w.Write(t, "src/app.js", "export const version = 2\n")
	w.cli("migration", "up")
	must(t, other.Insert("notes", map[string]any{"body": "second", "stars": 1}))
	after, badCode := w.dump(), w.files()

	w.forklift("restore", "good")
	w.same("the dump after restore", w.dump(), before)
	w.same("the files after restore", w.files(), code)
	w.same("addresses and keys after restore", strings.Join(values(w.vars()), "\n"), strings.Join(values(addresses), "\n"))
	user, err = anybody.LogIn(ada, adaWord)
	must(t, err)
	if _, err := anybody.LogIn(eve, eveWord); !supaworld.IsRefused(err, 400) {
		t.Errorf("the new user logs in after restore: %v", err)
	}
	w.sees(user, `[{"body":"first"}]`, oldFile)

	w.forklift("undo")
	if _, err := anybody.LogIn(ada, adaWord); !supaworld.IsRefused(err, 400) {
		t.Errorf("the deleted user logs in after undo: %v", err)
	}
	w.same("the dump after undo", w.dump(), after)
	w.same("the files after undo", w.files(), badCode)
	other, err = anybody.LogIn(eve, eveWord)
	must(t, err)
	w.sees(other, `[{"body":"second"}]`, supaworld.File{})
	if got, err := service.Download("files", "a/picture"); err != nil || got != newFile {
		t.Errorf("after undo the file is %+v, %v", got, err)
	}
	w.forklift("restore", "good", "--yes")
}

// sees checks what a user sees: notes, and the file unless it is none.
func (w *world) sees(user supaworld.Client, notes string, file supaworld.File) {
	w.t.Helper()
	if got, err := user.Select("notes?select=body"); err != nil || got != notes {
		w.t.Errorf("the notes are %s, %v; want %s", got, err, notes)
	}
	if file == (supaworld.File{}) {
		return
	}
	if got, err := user.Download("files", "a/picture"); err != nil || got != file {
		w.t.Errorf("the file is %+v, %v; want %+v", got, err, file)
	}
}
